"""What takes space in a log's folder, by what it is there for."""

from pathlib import Path

from ..sql import proof, read_model, search
from ..workspace import Workspace
from .kept_text import entry_of

COPIES = ((read_model.NAME, read_model.LOCK), (search.SEARCH, search.LOCK))
"""The copies of the log that questions are asked of; each is made again when asked."""
OTHERS = "others"
_WORDS = {
    "database pages": "events and saved states",
    "read model": "query copy",
    "search index": "query copy",
    "kept edits": "kept edits",
    "files of finished sprints": "files of finished sprints",
    "snapshots": "snapshots",
    "displaced files": "snapshots",
    "damaged packs": "snapshots",
    "names of known files": "snapshots",
    "kept reports": "kept reports",
    "transcripts": "transcripts",
    "events that wait": "events that wait",
    "lines not understood": "lines not understood",
}


def sizes(folder: Path) -> dict[str, int]:
    """Return how many bytes everything in a log's folder takes, the largest first."""
    found: dict[str, int] = {}
    for path in folder.rglob("*"):
        try:
            status = path.lstat()
        except OSError:
            # Gone since: what a database has beside it comes and goes.
            continue
        if path.is_dir() and not path.is_symlink():
            continue
        entry = entry_of(path.relative_to(folder).as_posix())
        word = _WORDS.get(entry.name, OTHERS) if entry else OTHERS
        found[word] = found.get(word, 0) + status.st_size
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def old_copies(folder: Path, *, before_seconds: float) -> dict[str, int]:
    """Return the copies that nobody asked since a moment, and how long they are."""
    found = {}
    for name, _ in COPIES:
        path = folder / name
        if path.is_file() and path.lstat().st_mtime < before_seconds:
            found[name] = path.lstat().st_size
    return found


def remove_copies(workspace: Workspace, names: dict[str, int]) -> None:
    """Throw copies away; the next question makes them again."""
    for name, lock in COPIES:
        if name in names:
            with workspace.log.locks.hold(lock):
                proof.remove(workspace.location.folder / name)


def in_units(count: int) -> str:
    """Return a number of bytes as people read it: `312 bytes`, `4.2 MiB`."""
    if count < 1024:
        return f"{count} bytes"
    if count < 1024**2:
        return f"{count / 1024:.1f} KiB"
    if count < 1024**3:
        return f"{count / 1024**2:.1f} MiB"
    return f"{count / 1024**3:.1f} GiB"
