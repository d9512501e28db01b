"""Whether the files under the log's names are still the ones that were opened.

A file replaced, removed or restored under a running process swallows what that process
writes: SQLite goes on writing into a file that has no name any more.
"""

import os
from pathlib import Path

from ....errors import RefusedError, UnreadableError
from .database import wal_path

SETTLED_NANOSECONDS = 1_000_000_000
"""The coarsest clock of a file system on which we keep a write-ahead log."""


class Identity:
    """The database file and its write-ahead log as they were when we met them."""

    def __init__(self, path: Path) -> None:
        self._path, self._wal = os.fspath(path), os.fspath(wal_path(path))
        self._folder = os.fspath(path.absolute().parent)
        self._settled: tuple[int, int, int] | None = None
        """The folder as it was when its names were looked at and it had come to rest."""
        found = os.stat(self._path)
        self._known = found.st_dev, found.st_ino
        self._known_wal: tuple[int, int] | None = None
        if found.st_nlink > 1:
            raise RefusedError(
                f"{path} has a second name (a hard link): two names would be locked apart",
                hint="`sprintlog doctor` says how to find the other one; remove that",
                path=self._path,
            )

    def check(self, *, wal: bool) -> None:
        """Raise `UnreadableError` when a file is gone or another one has its name.

        `wal` says that something of ours was just written to the write-ahead log.
        """
        # No name comes, goes or gets another file without a new change time of its
        # folder. Looking at the folder alone saves a third of an append: once somebody
        # looked at a file, Linux gives its next write an exact time, which is dear.
        folder = _met(self._folder) if wal else None
        if (
            folder is not None
            and (folder.st_dev, folder.st_ino, folder.st_ctime_ns) == self._settled
        ):
            return
        if _file(_met(self._path)) != self._known:
            raise self._lost(self._path)
        if not wal:
            return
        met = _met(self._wal)
        if self._known_wal is None:
            self._known_wal = _file(met)
        elif _file(met) != self._known_wal:
            raise self._lost(self._wal)
        # What changes later than now must not get the same time.
        if met and folder and met.st_mtime_ns - folder.st_ctime_ns > SETTLED_NANOSECONDS:
            self._settled = folder.st_dev, folder.st_ino, folder.st_ctime_ns

    def _lost(self, name: str) -> UnreadableError:
        return UnreadableError(
            f"{name} was removed or replaced while it was open: what was recorded last "
            "may be lost",
            hint="end every sprintlog process, then `sprintlog verify`",
        )


def _met(name: str) -> os.stat_result | None:
    try:
        return os.stat(name)
    except FileNotFoundError:
        return None


def _file(met: os.stat_result | None) -> tuple[int, int] | None:
    return met and (met.st_dev, met.st_ino)
