"""A second look at a log that SQLite calls malformed.

Is it damaged, or was it not read? SQLite says the same of a page that makes no sense and
of one that the disk did not give.
"""

import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from ....errors import UnreadableError
from .schema import check_schema

_CHUNK = 1 << 20
_CANNOT_READ = (10, 14)
"""SQLite's primary codes for an input or output that failed and a file not opened."""


def was_not_read(path: Path) -> bool:
    """Return whether reading failed and nothing shows any damage."""
    return _fails(path) or not _is_malformed(path)


def _fails(path: Path) -> bool:
    """Tell whether the disk does not give all of the log's files.

    They are read through the descriptors that SQLite has: to open and close them here
    would give up every lock that this process holds on them.
    """
    try:
        wanted = [_identity(os.stat(name)) for name in _files(path)]
        descriptors = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        return False
    return any(_breaks_off(descriptor, wanted) for descriptor in descriptors)


def _files(path: Path) -> list[Path]:
    names = (path, path.with_name(f"{path.name}-wal"))
    return [name for name in names if name.exists()]


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _breaks_off(descriptor: int, wanted: list[tuple[int, int]]) -> bool:
    at = 0
    try:
        if _identity(os.fstat(descriptor)) in wanted:
            while chunk := os.pread(descriptor, _CHUNK, at):
                at += len(chunk)
    except OSError as error:
        # The one with which the folder of descriptors was listed is closed by now.
        return error.errno == errno.EIO
    return False


def _is_malformed(path: Path) -> bool:
    """Tell whether SQLite, asked anew about every page and index, finds damage.

    Read only: the last to close would else carry over what may be wanted as it is.
    """
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=0.25)) as connection:
            connection.execute("PRAGMA trusted_schema=OFF")
            check_schema(connection)
            answer = connection.execute("PRAGMA integrity_check(1)").fetchone()
            return bool(answer != ("ok",))
    except (UnreadableError, UnicodeDecodeError):
        return True
    except sqlite3.Error as error:
        return getattr(error, "sqlite_errorcode", 0) & 0xFF not in _CANNOT_READ
