"""Detection of truncated logs and of replaced database files.

Neither a hash chain nor SQLite detects that the end of a log is missing, but a head file
that is ahead of the log does. The head file contains the last event's position and hash. It
is written after each commit without waiting for the disk, so it may be older than the log.
It consists of 48 bytes: `slh1`, the position as eight big-endian bytes, the hash, and a
four-byte CRC-32 of the preceding bytes.

If a database file is replaced, removed or restored while a process has it open, SQLite
continues to write to the unlinked file, and those writes are lost; `Identity` detects this.
"""

import os
from binascii import crc32
from collections.abc import Callable
from os import pwrite, stat
from pathlib import Path

from ...errors import RESCUE, LostLogError, RefusedError, UnreadableError
from ..envelope import Head
from .descriptors import give_back, read_whole

_MARK = b"slh1"
_BYTES = 48


class HeadFile:
    """The head file of a log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def write(self, head: Head) -> None:
        """Replace the stored head in one write; ignore errors: the event is durable."""
        record = _MARK + head.position.to_bytes(8) + head.hash
        try:
            if self._descriptor is None:
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
                self._descriptor = os.open(self.path, flags, 0o600)
                os.fchmod(self._descriptor, 0o600)
                os.ftruncate(self._descriptor, _BYTES)
            pwrite(self._descriptor, record + crc32(record).to_bytes(4), 0)
        except OSError:
            # A head file behind the log is harmless, and refusing now would deny an
            # event that is already in the log.
            return

    def read(self) -> Head | None:
        """Return the stored head; None if the file is missing, incomplete or damaged."""
        try:
            record = read_whole(self.path, at_most=_BYTES + 1)
        except OSError:
            # Missing, or on a failing disk, which the log itself will report.
            return None
        is_whole = len(record) == _BYTES and record.startswith(_MARK)
        if not is_whole or crc32(record[:44]) != int.from_bytes(record[44:]):
            return None
        return Head(int.from_bytes(record[4:12]), record[12:44])

    def close(self) -> None:
        """Close the descriptor."""
        if self._descriptor is not None:
            give_back(self._descriptor)
            self._descriptor = None


def check_head(known: Head | None, hash_at: Callable[[int], bytes | None]) -> None:
    """Raise `UnreadableError` if the log does not contain the previously stored head.

    `known` must be read before the log: otherwise an append in between would look like
    damage.
    """
    if known is None or known.position == 0:
        return
    found = hash_at(known.position)
    if found == known.hash:
        return
    problem = (
        f"the log ends before position {known.position}, which was acknowledged: "
        "its end is lost"
        if found is None
        else "the event is not the one that was acknowledged here"
    )
    raise UnreadableError(
        problem,
        position=known.position,
        hint=f"{RESCUE}; if you reset the log deliberately, remove its head file",
    )


class Identity:
    """The identity of the database file and its write-ahead log when they were opened."""

    def __init__(self, path: Path) -> None:
        self._path = os.fspath(path)
        self._wal = f"{self._path}-wal"
        self._folder = os.fspath(path.absolute().parent)
        self._settled: os.stat_result | None = None
        """The folder's stat when its entries were last verified.

        It is only saved after the clock has advanced, so that later changes have a later
        time.
        """
        found = stat(self._path)
        self._known = found.st_dev, found.st_ino
        self._known_wal: tuple[int, int] | None = None
        if found.st_nlink > 1:
            raise RefusedError(
                f"{path} has a second name (a hard link) and could be locked twice",
                hint="run `sprintlog doctor` to see how to find the other name, and "
                "remove it",
                path=self._path,
            )

    def check(self, *, wal: bool) -> None:
        """Raise `LostLogError` if the database or write-ahead log was replaced or removed.

        If `wal` is true, this process has just written to the write-ahead log.
        """
        # Adding, removing or replacing a name changes the time of its folder. Checking
        # only the folder saves a third of an append: after a stat of a file, Linux gives
        # its next write an exact time, which is expensive.
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
        """Check the identity of each file, and then the folder's change time."""
        self._settled = None
        # First: later writes get the time of our last write or a later one.
        met = _met(self._wal) if wal else None
        if _file(_met(self._path)) != self._known:
            raise self._lost(self._path)
        if not wal:
            return
        if self._known_wal is None:
            self._known_wal = _file(met)
        elif _file(met) != self._known_wal:
            raise self._lost(self._wal)
        # Last: a folder whose change time precedes that write has not changed since, so
        # the names checked above are valid, and its next change has a later time.
        folder = _met(self._folder)
        if met and folder and folder.st_ctime_ns < met.st_ctime_ns:
            self._settled = folder

    def _lost(self, name: str) -> LostLogError:
        return LostLogError(
            f"{name} was removed or replaced while it was open: the latest events may be "
            "lost",
            hint="end every sprintlog process, then run `sprintlog verify`",
        )


def _met(name: str) -> os.stat_result | None:
    try:
        return stat(name)
    except FileNotFoundError:
        return None


def _file(met: os.stat_result | None) -> tuple[int, int] | None:
    return met and (met.st_dev, met.st_ino)
