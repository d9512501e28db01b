"""Whether a copy beside the log is, byte for byte, what we wrote.

It is written without waiting for the disk, any tool can open it, and bits flip: SQLite
notices little of that and answers all the same. So a digest of the file lies beside it, and
a copy without one, or with another one, is made anew.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import file_digest
from io import BufferedReader
from pathlib import Path
from stat import S_ISREG

from sprintlog.engine.log.stores.descriptors import held_open
from sprintlog.engine.log.stores.sqlite.row_search import rows_holding, tables_of

BUSY_SECONDS = 0.25
"""Whoever reads a copy for longer keeps what he has, and we make a new one."""
_PROOF_BYTES = 64


def is_proven(copy: Path) -> bool:
    """Tell whether a copy is as it was when it was proven; False where there is none."""
    try:
        with plain_file(_proof(copy)) as proof:
            return proof.read(_PROOF_BYTES + 1) == _digest(copy)
    except OSError:
        return False


def prove(copy: Path) -> None:
    """Keep the digest of a copy that is complete."""
    flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW
    with held_open(_proof(copy), flags) as descriptor:
        # Torn by a power cut it proves nothing, which is as it should be.
        os.write(descriptor, _digest(copy))


def remove(copy: Path) -> None:
    """Throw a copy away, with its digest and whatever SQLite has beside it."""
    for path in (_proof(copy), *map(copy.with_name, _names(copy))):
        path.unlink(missing_ok=True)


def rows_with(copy: Path, forms: Sequence[bytes]) -> list[str]:
    """Return the rows of a copy that hold some bytes; none of one that is damaged."""
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


def _digest(copy: Path) -> bytes:
    with plain_file(copy) as file:
        return file_digest(file, "sha256").hexdigest().encode()


@contextmanager
def plain_file(path: Path) -> Iterator[BufferedReader]:
    """Give a file of ours: no link, and nothing that opening it could wait for."""
    with held_open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as descriptor:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            raise FileNotFoundError(path)
        with open(descriptor, "rb", closefd=False) as file:
            yield file
