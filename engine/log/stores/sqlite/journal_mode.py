"""The safe journal mode (write-ahead log or rollback journal) for a log's file system."""

import re
import sqlite3
import sys
from pathlib import Path
from typing import Final

import msgspec

from ....errors import RESCUE, UnreadableError

WAL_BYTES_MAX = 4 * 1024 * 1024
"""The size from which a write-ahead log is checkpointed."""

POSITIONS_PER_TURN = 400
"""The number of small appends that fill the write-ahead log."""
_WAL_BYTES_LEAST = WAL_BYTES_MAX * 3 // 4
_APPEND_BYTES, _EVENT_BYTES = 2 * 4120, 440
"""The bytes written by an append, and by each event in addition to its payload."""

# WAL needs memory shared by all who have the log open; on a network file system, or
# one that a virtual machine shares with its host, it corrupts silently.
LOCAL: Final = frozenset(
    {
        *("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "nilfs2"),
        *("overlay", "ramfs", "reiserfs", "tmpfs", "xfs", "zfs"),
    }
)
MOUNTS = Path("/proc/self/mountinfo")
_ESCAPE = r"\\([0-7]{3})"


class JournalMode(msgspec.Struct, frozen=True):
    """A log's journal mode, and the reason for it."""

    wal: bool
    reason: str


def choose_journal_mode(folder: Path) -> JournalMode:
    """Return the journal mode: WAL if the folder's file system is known to be local."""
    try:
        mounts = MOUNTS.read_text("utf-8", "surrogateescape")
    except OSError:
        return JournalMode(False, "the kind of file system is not known on this system")
    kind = file_system(folder.resolve(), mounts)
    if kind in LOCAL:
        return JournalMode(True, f"{kind} is a local file system")
    return JournalMode(False, f"{kind or 'this'} is not known as a local file system")


def file_system(path: Path, mounts: str) -> str | None:
    """Return the type of a path's file system, from the contents of mountinfo."""
    best, kind, text = -1, None, f"{path}/"
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        parts = fields.split(" ")
        if len(parts) < 5 or not rest:
            continue
        point = parts[4]
        if "\\" in point:
            point = re.sub(_ESCAPE, lambda found: chr(int(found[1], 8)), point)
        # A later mount hides an earlier one at the same mount point.
        if len(point) >= best and text.startswith(f"{point.rstrip('/')}/"):
            best, kind = len(point), rest.split(" ")[0]
    return kind


def has_wal_reset_bug(version: tuple[int, ...]) -> bool:
    """Return whether automatic checkpoints in this SQLite version can damage a database.

    Damage can occur if two processes checkpoint at the same time; three release series have
    a fix.
    """
    mended = ((3, 44, 6), (3, 50, 7), (3, 51, 3))
    return not any(
        version >= release and (version[:2] == release[:2] or release == mended[-1])
        for release in mended
    )


def set_journal_mode(connection: sqlite3.Connection, mode: JournalMode) -> None:
    """Set the database's journal mode, with the highest durability for that mode."""
    wanted = "wal" if mode.wal else "delete"
    (current,) = connection.execute("PRAGMA journal_mode").fetchone()
    if current != wanted:
        try:
            connection.execute(f"PRAGMA journal_mode={wanted}")
            current = wanted
        except sqlite3.OperationalError:
            # Other processes have the log open. A rollback journal is safe on any file
            # system and may stay; a write-ahead log on an unsuitable one may not.
            if current == "wal":
                raise
    # Without EXTRA, the folder is not synced after the journal's deletion, so a power
    # failure could restore the journal and undo an acknowledged event.
    connection.execute(f"PRAGMA synchronous={'FULL' if current == 'wal' else 'EXTRA'}")
    if sys.platform == "darwin":
        # On macOS, a sync does not flush the disk's cache without this setting.
        connection.execute("PRAGMA fullfsync=1")
        connection.execute("PRAGMA checkpoint_fullfsync=1")
    # See has_wal_reset_bug; RESTART and TRUNCATE take the writer's lock.
    connection.execute("PRAGMA wal_autocheckpoint=0")


class Growth:
    """Estimates the write-ahead log's growth, to decide which process checkpoints it.

    The file's size does not show the growth. A writer adds up the sizes of its appends and
    assumes that those of other writers are small. If all writers' appends are small, the
    writer that reaches a certain position checkpoints the log.
    """

    def __init__(self) -> None:
        self._own = self._all = self._position = 0

    def is_due(self, first: int, last: int, payload_bytes: int) -> bool:
        """Count an append's size; return whether this writer should checkpoint the log."""
        own = _APPEND_BYTES + (last - first + 1) * _EVENT_BYTES + payload_bytes
        others = first - 1 - self._position if self._position else 0
        self._position = last
        self._own += own
        self._all += own + others * _APPEND_BYTES
        # The total includes this writer's bytes, so the first test is enough for most
        # appends.
        return self._all >= _WAL_BYTES_LEAST and (
            self._own >= WAL_BYTES_MAX
            or last // POSITIONS_PER_TURN > (first - 1) // POSITIONS_PER_TURN
        )

    def carried_over(self, *, is_all: bool) -> None:
        """Restart the count after a checkpoint.

        `is_all` indicates whether the checkpoint copied the complete log.
        """
        self._own = 0
        if is_all:
            self._all = 0


def checkpoint_if_large(connection: sqlite3.Connection, wal: Path) -> None:
    """Checkpoint and empty a large write-ahead log, unless another process prevents it."""
    try:
        if wal.stat().st_size < WAL_BYTES_MAX:
            return
    except FileNotFoundError:
        return
    checkpoint(connection, "TRUNCATE")


def checkpoint(connection: sqlite3.Connection, way: str = "RESTART") -> bool:
    """Copy the write-ahead log into the database; return whether it was copied completely.

    With `RESTART`, the file keeps its size and is overwritten from the start: an append
    that extends a file waits twice as long for the disk.
    """
    try:
        busy, pages, carried = connection.execute(
            f"PRAGMA wal_checkpoint({way})"
        ).fetchone()
    except sqlite3.OperationalError:
        # Another process is checkpointing.
        return False
    if carried > pages:
        raise UnreadableError(
            "SQLite copied more pages than its write-ahead log contained, so the file is "
            "damaged",
            hint=f"{RESCUE}; and use SQLite 3.51.3 or newer",
        )
    return not busy
