"""The second head: position and hash of the last event, in a separate small file.

Neither a hash chain nor SQLite detects a lost end, but a head file ahead of the log does.
It is written after each commit without waiting for the disk, so it may be older than the
log. It has 48 bytes: `slh1`, the position as eight big-endian bytes, the hash, and the
CRC-32 of these as four bytes.
"""

import os
from binascii import crc32
from collections.abc import Callable
from os import pwrite
from pathlib import Path

from ...errors import RESCUE, UnreadableError
from ..envelope import Head
from .descriptors import give_back, read_whole

_MARK = b"slh1"
_BYTES = 48


class HeadFile:
    """The head file of one log."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def write(self, head: Head) -> None:
        """Replace the head in one write; a failure is borne, the event is durable."""
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
        """Return the head it holds; None when it is absent, torn or damaged."""
        try:
            record = read_whole(self.path, at_most=_BYTES + 1)
        except OSError:
            # Absent, or on a disk that fails: the log itself will say so.
            return None
        if len(record) != _BYTES or crc32(record[:44]) != int.from_bytes(record[44:]):
            return None
        if not record.startswith(_MARK):
            return None
        return Head(int.from_bytes(record[4:12]), record[12:44])

    def close(self) -> None:
        """Give back the descriptor."""
        if self._descriptor is not None:
            give_back(self._descriptor)
            self._descriptor = None


def check_head(known: Head | None, hash_at: Callable[[int], bytes | None]) -> None:
    """Raise `UnreadableError` when the log does not hold the head once written down.

    `known` must have been read before the log: else every append in between would look
    like damage.
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
        hint=f"{RESCUE}; if the log was set back on purpose, remove its head file",
    )
