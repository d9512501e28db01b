"""A log's files as they are now, and copies of them that SQLite may do with as it likes.

Even for reading SQLite recovers a write-ahead log and makes files beside the database.
Whoever may not change anything looks at a copy.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ..database import head_path
from .page_images import SUFFIXES

Stamp = tuple[int, int, int] | None


def files_now(path: Path) -> list[Stamp]:
    """Return of each file of a log which one it is, its size, and when it changed."""
    found: list[Stamp] = []
    for name in _files(path):
        try:
            file = name.stat()
            found.append((file.st_ino, file.st_size, file.st_mtime_ns))
        except FileNotFoundError:
            found.append(None)
    return found


@contextmanager
def private_copy(path: Path) -> Iterator[Path]:
    """Give a copy of a log in a folder that goes afterwards; raise `OSError`.

    Somebody who writes meanwhile can spoil it: `files_now` tells. Not for a process
    that has the log open: closing a file it read would give up SQLite's locks on it.
    """
    with TemporaryDirectory(prefix="sprintlog-doctor-") as folder:
        copy = Path(folder).resolve() / path.name
        # The head first: one that is older than the log is no alarm.
        names = [(head_path(path), head_path(copy))]
        for source, target in [*names, *zip(_files(path), _files(copy), strict=True)]:
            if source.exists():
                shutil.copyfile(source, target)
        yield copy


def _files(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in SUFFIXES]
