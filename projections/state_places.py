"""Where a state file may be: asked whenever a place is used, for a log may be anybody's."""

from sprintlog.engine.outside.folders import may_take_files

PROGRESS = "PROGRESS.yaml"
NAMES = (PROGRESS, "progress.json")
"""What state files are called, wherever they are: no other program carries them out."""
LOOPS = ".aiwg/ralph"
"""Where the files of loops are, below the work tree."""


def wrong_place(path: str) -> str | None:
    """Return why a state file may not be at a path of the work tree, if it may not."""
    *folders, name = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in (*folders, name)):
        return "is no path from the work tree's root"
    if not may_take_files(path):
        return "lies in a folder of git's or of a log"
    if name not in NAMES and not path.startswith(f"{LOOPS}/"):
        return f"no state file has that name: only {' and '.join(NAMES)}"
    return None
