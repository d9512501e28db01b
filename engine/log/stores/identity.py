"""Whether the files under the log's names are still the ones that were opened.

A file replaced, removed or restored under a running process swallows what that process
writes: SQLite goes on writing into a file that has no name any more.
"""

import os
from pathlib import Path

from ...errors import RefusedError, UnreadableError
from .database import wal_path


class Identity:
    """The database file and its write-ahead log as they were when we met them."""

    def __init__(self, path: Path) -> None:
        self._path, self._wal = os.fspath(path), os.fspath(wal_path(path))
        found = os.stat(self._path)
        self._known = found.st_dev, found.st_ino
        self._known_wal: tuple[int, int] | None = None
        if found.st_nlink > 1:
            raise RefusedError(
                f"{path} has a second name (a hard link): two names would be locked apart",
                hint="copy it with `sprintlog backup` and remove one of the names",
                path=self._path,
            )

    def check(self, *, wal: bool) -> None:
        """Raise `UnreadableError` when a file is gone or another one has its name.

        `wal` says that something of ours is in the write-ahead log.
        """
        if _met(self._path) != self._known:
            raise self._lost(self._path)
        if not wal:
            return
        met = _met(self._wal)
        if self._known_wal is None:
            self._known_wal = met
        elif met != self._known_wal:
            raise self._lost(self._wal)

    def _lost(self, name: str) -> UnreadableError:
        return UnreadableError(
            f"{name} was removed or replaced while it was open: what was recorded last "
            "may be lost",
            hint="end every sprintlog process, then `sprintlog verify`",
        )


def _met(name: str) -> tuple[int, int] | None:
    try:
        found = os.stat(name)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
