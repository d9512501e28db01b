"""The user's own lists, outside every work tree: safe folders and trusted files.

A digest covers a repository and the values in its settings file that require trust.
Changing other values, or using another work tree of the repository, requires no new
consent.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from sprintlog.engine.adapters.git.repositories import common_directory, linked_directory
from sprintlog.engine.adapters.replace import replace_file
from sprintlog.engine.log.stores.descriptors import read_whole
from sprintlog.engine.service.place.trust import home, safe_list

_LIST_BYTES_MAX = 1 << 20
EVERYWHERE = "*"


def tree_of(folder: Path) -> str:
    """Return a path that all work trees of a repository share, or else the folder."""
    git = folder / ".git"
    if git.is_file() and (directory := linked_directory(git)) is not None:
        return os.path.dirname(os.path.realpath(common_directory(directory)))
    return os.path.realpath(folder)


def is_trusted(folder: Path, digest: str) -> bool:
    """Return whether a digest is trusted, or its folder is on the list of safe folders."""
    if any(line.split(" ", 1)[0] == digest for line in _lines(home() / "trusted")):
        return True
    safe = {*_lines(safe_list())}
    return EVERYWHERE in safe or bool(
        safe.intersection((os.path.realpath(folder), tree_of(folder)))
    )


def trust(folder: Path, digest: str) -> Path:
    """Replace a repository's digests on the list with a new one; return the list's path."""
    return _write([*_without(folder), f"{digest} {tree_of(folder)}"])


def forget(folder: Path) -> int:
    """Remove a repository's digests from the list; return how many were removed."""
    stay, before = [*_without(folder)], len([*_lines(home() / "trusted")])
    if len(stay) < before and stay:
        _write(stay)
    elif len(stay) < before:
        (home() / "trusted").unlink()
    return before - len(stay)


def trusted_for(folder: Path) -> int:
    """Return how many of the list's digests belong to a repository."""
    return len([*_lines(home() / "trusted")]) - len([*_without(folder)])


def _without(folder: Path) -> Iterator[str]:
    tree = tree_of(folder)
    return (x for x in _lines(home() / "trusted") if x.partition(" ")[2] != tree)


def _write(lines: list[str]) -> Path:
    path = home() / "trusted"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    content = "".join(f"{line}\n" for line in lines)
    replace_file(path, content.encode(errors="surrogateescape"), mode=0o600)
    return path


def _lines(path: Path) -> Iterator[str]:
    try:
        content = read_whole(path, at_most=_LIST_BYTES_MAX)
    except OSError:
        return
    text = content.decode(errors="surrogateescape")
    yield from filter(None, map(str.strip, text.splitlines()))
