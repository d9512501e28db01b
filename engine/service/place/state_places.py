"""Every state file there is: its name, and where it may be.

That is asked whenever a place is used, for a log may be anybody's.
"""

import re
from functools import lru_cache

from ...adapters.folders import may_take_files

PROGRESS = "PROGRESS.yaml"
JOURNALS = ("progress.json", "journal.json")
"""What a journal's file may be called; other tools have a progress.json of their own."""
NAMES = (PROGRESS, *JOURNALS)
"""What state files are called, wherever they are: no other program carries them out."""
LOOPS = ".aiwg/ralph"
"""Where the files of loops are, below the work tree, each in the folder of its loop."""
TRACKER = "best-iteration.yaml"
"""What the files of a loop are called in its folder, and so the four others."""
BASELINE = "progress/iteration-000-baseline.json"
METRICS = "iterations/iteration-{:03d}/metrics.json"
EVIDENCE = "iterations/iteration-{:03d}/reports/"
"""Where the reports that an iteration was measured by are, each by its name."""
REPORT = "reports/iteration-{:03d}.md"
SELECTION = "reports/output-selection.md"
CHECKSUM_SUFFIX = ".checksum"
"""What the name of the file with the digest of a state file ends in."""


def artifacts_path(loop_id: str, number: int) -> str:
    """Return where the files of an iteration are kept, below the work tree."""
    return f"{LOOPS}/{loop_id}/{METRICS.format(number).removesuffix('metrics.json')}"


@lru_cache(maxsize=256)
def wrong_place(path: str) -> str | None:
    """Return why a state file may not be at a path of the work tree, if it may not."""
    *folders, name = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in (*folders, name)):
        return "is no path from the work tree's root"
    if not may_take_files(path):
        return "is in a folder of git's or of a log"
    if name not in NAMES and not _of_loop(path):
        return f"no state file has that name: only {', '.join(NAMES)}"
    return None


def wrong_journal(path: str) -> str | None:
    """Return why the file of a journal may not be at a path, if it may not."""
    if path.rpartition("/")[2] not in JOURNALS:
        return f"a journal's file is called {' or '.join(JOURNALS)}"
    return wrong_place(path)


def _of_loop(path: str) -> bool:
    """Tell whether a path is that of a file of some loop."""
    loop, _, name = path.removeprefix(f"{LOOPS}/").partition("/")
    said = re.sub(r"iteration-[0-9]{3,18}(?=[/.])", "iteration-{:03d}", name)
    is_one = name in (TRACKER, BASELINE, SELECTION)
    is_report = re.fullmatch(re.escape(EVIDENCE) + r"[\w-][\w.-]{0,127}", said, re.ASCII)
    is_one_of_many = said != name and (said in (METRICS, REPORT) or is_report is not None)
    return path == f"{LOOPS}/{loop}/{name}" and (is_one or is_one_of_many)
