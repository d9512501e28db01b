"""Which blocks of a SQLite file change: while they do, its write-ahead log names them."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .proof import BLOCK_BYTES, plain_file

_HEADER, _FRAME_HEADER = 32, 24


@contextmanager
def noted_changes(connection: sqlite3.Connection, copy: Path) -> Iterator[set[int]]:
    """Give a set that holds, at the end, the blocks that were changed in between.

    The database is in this mode only here: any tool opens it afterwards as before.
    """
    changed: set[int] = set()
    # Nobody else needs to see the log, so there is no shared memory beside it.
    connection.execute("PRAGMA locking_mode=EXCLUSIVE")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA wal_autocheckpoint=0")
    yield changed
    changed |= _blocks_of(copy.with_name(f"{copy.name}-wal"))
    connection.execute("PRAGMA journal_mode=DELETE")
    # What mode it is in stands on the first page.
    changed.add(0)


def _blocks_of(log: Path) -> set[int]:
    """Return the blocks of all pages in a write-ahead log.

    The format is that of https://www.sqlite.org/fileformat2.html#the_write_ahead_log.
    """
    blocks: set[int] = set()
    with plain_file(log) as file:
        descriptor, size = file.fileno(), os.fstat(file.fileno()).st_size
        page_bytes = int.from_bytes(os.pread(descriptor, 4, 8))
        for frame in range(_HEADER, size, _FRAME_HEADER + page_bytes):
            number = int.from_bytes(os.pread(descriptor, 4, frame))
            first = (number - 1) * page_bytes
            blocks |= {first // BLOCK_BYTES, (first + page_bytes - 1) // BLOCK_BYTES}
    return blocks
