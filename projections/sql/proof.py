"""Verification that a copy stored next to the log is byte for byte as sprintlog wrote it.

Copies are written without fsync, any tool can open them, and bits can flip; SQLite detects
few of these changes. The digests of a copy's blocks are stored in a second file, and a copy
without matching digests is rebuilt. An update recomputes only the digests of changed
blocks.
"""

import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from io import BufferedReader
from pathlib import Path

from sprintlog.engine.adapters.folders import opened_plain
from sprintlog.engine.log.stores.descriptors import held_open, write_whole
from sprintlog.engine.log.stores.sqlite.schema import rows_holding, tables_of

BUSY_SECONDS = 0.25
"""A process that reads a copy keeps its open file, and a new copy is created."""
BLOCK_BYTES = 64 * 1024

Digests = list[bytes]
"""The digests of a copy's blocks, in order."""


def proven(copy: Path) -> Digests | None:
    """Return the digests of a verified copy, or None if the copy fails verification."""
    with suppress(OSError), plain_file(_proof(copy)) as proof, plain_file(copy) as file:
        size = os.fstat(file.fileno()).st_size
        kept = proof.read(_blocks(size) * sha256().digest_size + 1)
        found = list(map(digest_of, _read(file, range(_blocks(size)))))
        return found if found and b"".join(found) == kept else None
    return None


def prove(copy: Path, known: Digests | None = None, changed: Collection[int] = ()) -> None:
    """Store the digests of a complete copy.

    The `known` digests are reused, except those of new blocks and of blocks in `changed`.
    """
    with plain_file(copy) as file:
        count = _blocks(os.fstat(file.fileno()).st_size)
        digests = [*(known or ())[:count]]
        again = [n for n in range(count) if n >= len(digests) or n in changed]
        digests += [b""] * (count - len(digests))
        for number, block in zip(again, _read(file, again), strict=True):
            digests[number] = digest_of(block)
    flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW
    with held_open(_proof(copy), flags) as descriptor:
        # After a power failure, an incomplete file proves nothing, which is correct.
        write_whole(descriptor, b"".join(digests))


def remove(copy: Path) -> None:
    """Delete a copy, its digests and SQLite's auxiliary files."""
    for path in (_proof(copy), *map(copy.with_name, _names(copy))):
        path.unlink(missing_ok=True)


def rows_with(copy: Path, forms: Sequence[bytes]) -> list[str]:
    """Return the copy's rows that contain one of `forms`; empty if the copy is damaged."""
    if not copy.is_file():
        return []
    uri = f"{copy.absolute().as_uri()}?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True)) as connection:
        ask = connection.execute
        return [*rows_holding(ask, forms, tables_of(ask))]
    return []


def _names(copy: Path) -> list[str]:
    return [f"{copy.name}{suffix}" for suffix in ("", "-journal", "-wal", "-shm")]


def _proof(copy: Path) -> Path:
    return copy.with_name(f"{copy.name}-sha256")


def _blocks(size: int) -> int:
    return -(-size // BLOCK_BYTES)


def _read(file: BufferedReader, blocks: Iterable[int]) -> Iterator[bytes]:
    for number in blocks:
        file.seek(number * BLOCK_BYTES)
        yield file.read(BLOCK_BYTES)


def digest_of(block: bytes) -> bytes:
    """Return the digest of a block."""
    return sha256(block).digest()


@contextmanager
def plain_file(path: Path) -> Iterator[BufferedReader]:
    """Open one of sprintlog's own files; reject links and files that block on opening."""
    with opened_plain(path) as descriptor, open(descriptor, "rb", closefd=False) as file:
        yield file
