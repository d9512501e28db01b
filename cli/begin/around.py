"""What is found around a new log: names in the work tree and programs, by looking alone.

Nothing found is run, no link is followed, and of a file only its beginning is read.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from sprintlog.engine.adapters.folders import opened, opened_below, read_plain

TEXT_BYTES_MAX = 64 * 1024
ENTRIES_MAX = 200
"""How many entries of a folder of sprints are looked at."""
SPRINTS_MAX = 5
"""How many of its sprints are named."""
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
"""A name that can be typed and printed as it is."""


class Surroundings(NamedTuple):
    """What is there, of what was looked for."""

    files: frozenset[str]
    folders: frozenset[str]
    texts: dict[str, str]
    """The beginnings of the files that are read."""
    sprints: tuple[str, ...]
    """Folders that each hold the files of one sprint."""
    programs: frozenset[str]


class Wanted(NamedTuple):
    """What is looked for, as paths below the root."""

    names: frozenset[str]
    read: frozenset[str]
    sprints_in: tuple[str, ...]
    sprint_files: tuple[str, ...]
    programs: frozenset[str]


def look(root: Path, wanted: Wanted, *, path: str) -> Surroundings:
    """Return what of the wanted is below a folder, and on a PATH outside of it."""
    with opened(root) as top:
        sprints = [s for folder in wanted.sprints_in for s in _sprints(top, folder, wanted)]
        inside = {f"{s}/{name}" for s in sprints for name in wanted.sprint_files}
        kinds = {name: _kind(top, name) for name in sorted(wanted.names | inside)}
        files = frozenset(name for name, kind in kinds.items() if kind == stat.S_IFREG)
        folders = frozenset(name for name, kind in kinds.items() if kind == stat.S_IFDIR)
        texts = {name: _beginning(top, name) for name in sorted(files & wanted.read)}
    programs = frozenset(_programs(wanted.programs, path, root=root))
    return Surroundings(files, folders, texts, tuple(sprints), programs)


def _kind(top: int, path: str) -> int | None:
    """Return what a path names, where no link is on the way; None for nothing."""
    folder, _, name = path.rpartition("/")
    with suppress(OSError), opened_below(top, folder) as held:
        return stat.S_IFMT(os.stat(name, dir_fd=held, follow_symlinks=False).st_mode)
    return None


def _beginning(top: int, path: str) -> str:
    folder, _, name = path.rpartition("/")
    with (
        suppress(OSError),
        opened_below(top, folder) as held,
    ):
        content = read_plain(name, at_most=TEXT_BYTES_MAX, folder=held)
        return content.decode(errors="replace")
    return ""


def _sprints(top: int, folder: str, wanted: Wanted) -> Iterator[str]:
    """Yield the folders below one that hold a sprint's file, those with plain names."""
    names: list[str] = []
    with suppress(OSError), opened_below(top, folder) as held, os.scandir(held) as entries:
        names = [entry.name for entry in islice(entries, ENTRIES_MAX)]
    plain = sorted(name for name in names if _PLAIN.fullmatch(name))
    found = (f"{folder}/{name}" for name in plain)
    holding = (s for s in found if any(_is_file(top, s, f) for f in wanted.sprint_files))
    yield from islice(holding, SPRINTS_MAX)


def _is_file(top: int, folder: str, name: str) -> bool:
    return _kind(top, f"{folder}/{name}") == stat.S_IFREG


def _programs(names: Iterable[str], path: str, *, root: Path) -> Iterator[str]:
    """Yield the programs on a PATH; what the tree brings along is none that is meant."""
    tree = root.resolve()
    folders = [Path(one) for one in path.split(os.pathsep) if os.path.isabs(one)]
    for name in names:
        for folder in folders:
            program = folder / name
            if not (os.path.isfile(program) and os.access(program, os.X_OK)):
                continue
            if not program.resolve().is_relative_to(tree):
                yield name
                break
