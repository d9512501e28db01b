"""Whether the files under the log's names are still the ones that were opened.

A file replaced, removed or restored under a running process swallows what that process
writes: SQLite goes on writing into a file that has no name any more.
"""

import os
from os import stat
from pathlib import Path

from ....errors import LostLogError, RefusedError
from .database import wal_path


class Identity:
    """The database file and its write-ahead log as they were when we met them."""

    def __init__(self, path: Path) -> None:
        self._path, self._wal = os.fspath(path), os.fspath(wal_path(path))
        self._folder = os.fspath(path.absolute().parent)
        self._settled: os.stat_result | None = None
        """The folder as it was when its names were the right ones.

        Kept only once the clock has gone on, so that no later change has the same time.
        """
        found = stat(self._path)
        self._known = found.st_dev, found.st_ino
        self._known_wal: tuple[int, int] | None = None
        if found.st_nlink > 1:
            raise RefusedError(
                f"{path} has a second name (a hard link): two names, two locks",
                hint="`sprintlog doctor` says how to find the other one; remove that",
                path=self._path,
            )

    def check(self, *, wal: bool) -> None:
        """Raise `LostLogError` when a file is gone or another one has its name.

        `wal` says that something of ours was just written to the write-ahead log.
        """
        # No name comes, goes or gets another file without a new change time of its
        # folder. Looking at the folder alone saves a third of an append: once somebody
        # looked at a file, Linux gives its next write an exact time, which is dear.
        if (
            (settled := self._settled)
            and (folder := _met(self._folder))
            and folder.st_ctime_ns == settled.st_ctime_ns
            and folder.st_ino == settled.st_ino
            and folder.st_dev == settled.st_dev
        ):
            return
        self._look(wal=wal)

    def _look(self, *, wal: bool) -> None:
        """Look at each file, and at the folder last."""
        self._settled = None
        # First: what is written from here on gets the time of our last write, or a later.
        met = _met(self._wal) if wal else None
        if _file(_met(self._path)) != self._known:
            raise self._lost(self._path)
        if not wal:
            return
        if self._known_wal is None:
            self._known_wal = _file(met)
        elif _file(met) != self._known_wal:
            raise self._lost(self._wal)
        # Last: a folder that changed before that write has not changed since, so the
        # names above were its names, and its next change cannot have the same time.
        folder = _met(self._folder)
        if met and folder and folder.st_ctime_ns < met.st_ctime_ns:
            self._settled = folder

    def _lost(self, name: str) -> LostLogError:
        return LostLogError(
            f"{name} was removed or replaced while it was open: what was recorded last "
            "may be lost",
            hint="end every sprintlog process, then `sprintlog verify`",
        )


def _met(name: str) -> os.stat_result | None:
    try:
        return stat(name)
    except FileNotFoundError:
        return None


def _file(met: os.stat_result | None) -> tuple[int, int] | None:
    return met and (met.st_dev, met.st_ino)
