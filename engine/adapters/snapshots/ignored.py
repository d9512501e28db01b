"""What git would not see of a work tree: asked of git, without the tree's repository.

Git reads the tree's `.gitignore` files and the list of tracked files, with our git
directory in the place of theirs, so that no setting of the tree's repository is read.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from ..git.command import PERSONS_OWN, Git, GitError
from ..git.repositories import repository_around

NO_LIST = "the list of tracked files could not be read: ignored ones are missing"
SECONDS_MAX = 60.0
"""How long git may look for them: a list that is a pipe would hold it for ever."""
_SEGMENT = {"*": "[^/]*", "?": "[^/]"}


def unseen(git: Git, root: Path) -> tuple[frozenset[str], str | None]:
    """Return what git ignores below a root (folders end with a slash), and a problem.

    A tracked file is never ignored. Where the list of tracked files cannot be read, the
    problem says so.
    """
    top, index, exclude, objects = _repository(root)
    call = ["ls-files", "-z", "--others", "--ignored", "--directory", "--exclude-standard"]
    call += [f"--exclude-from={exclude}"] if exclude is not None else []

    def ignored(tracked: Path, **more: str) -> frozenset[str]:
        # What the person and the machine ignore everywhere is in their settings.
        places = {"GIT_WORK_TREE": str(top), "GIT_INDEX_FILE": str(tracked), **more}
        listed = git.run_in(
            root,
            *call,
            settings=["core.bare=false"],
            variables={**PERSONS_OWN, **places},
            seconds=SECONDS_MAX,
        )
        return frozenset(map(os.fsdecode, filter(None, listed.split(b"\0"))))

    none = git.folder / "none"
    try:
        return ignored(index or none), None
    except GitError:
        if index is None:
            raise
    try:
        # A sparse one names folders; git finds their files in the objects.
        return ignored(index, GIT_ALTERNATE_OBJECT_DIRECTORIES=str(objects)), None
    except GitError:
        # A split one, or one of another format: git needs more than it.
        return ignored(none), f"{NO_LIST} ({index})"


def matcher(patterns: Iterable[str]) -> re.Pattern[str] | None:
    """Return what matches the paths that patterns name; None without patterns.

    A pattern is a path from the root; `*` and `?` stay within one name, `**` stands for
    any folders, and a folder's own name for all that is in it.
    """
    made = "|".join(f"(?:{_translated(pattern)}(?:/.*)?)" for pattern in patterns)
    return re.compile(made, re.DOTALL) if made else None


def may_lead_to(patterns: Iterable[str], folder: str) -> bool:
    """Tell whether something in a folder can match one of the patterns."""
    depth = folder.count("/") + 1
    for pattern in patterns:
        parts = pattern.strip("/").split("/")
        open_end = "**" in parts[:depth]
        begin = "/".join(parts[: parts.index("**")] if open_end else parts[:depth])
        begins = _translated(begin) + "(?:/.*)?"
        if not begin or re.fullmatch(begins, folder, re.DOTALL):
            return True
    return False


def _translated(pattern: str) -> str:
    made = ""
    for part in re.split(r"(\*\*/|\*\*|\*|\?)", pattern.strip("/")):
        if part == "**/":
            made += "(?:[^/]+/)*"
        elif part == "**":
            made += ".*"
        else:
            made += _SEGMENT.get(part) or re.escape(part)
    return made


def _repository(root: Path) -> tuple[Path, Path | None, Path | None, Path | None]:
    """Return the top of the tree around a root, its index, list of ignored and objects."""
    found = repository_around(root)
    if found is None:
        return root, None, None, None
    index, exclude = found.directory / "index", found.common / "info" / "exclude"
    return (
        found.top,
        index if index.is_file() else None,
        exclude if exclude.is_file() else None,
        found.common / "objects",
    )
