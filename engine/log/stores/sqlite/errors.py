"""Translates SQLite errors into this package's errors, and detects disk errors."""

import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from ....errors import RESCUE, RefusedError, SprintlogError, UnreadableError
from ..descriptors import NO_LOCKS, held, why_no_lock
from .schema import check_schema

# The primary codes; sqlite3 in Python 3.11 names them, but not all of older SQLite.
_PERM, _BUSY, _LOCKED, _READONLY, _IOERR = 3, 5, 6, 8, 10
_READONLY_DISK = -1
_ROOM_BYTES = 64 * 1024
"""The free disk space that SQLite requires to open a log."""
_CORRUPT, _FULL, _CANTOPEN, _PROTOCOL, _FORMAT, _NOTADB = 11, 13, 14, 15, 24, 26


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether the error only means that another process has locked the database."""
    return _code(error) in (_BUSY, _LOCKED)


def explained(error: sqlite3.Error, path: Path) -> SprintlogError:
    """Return this package's error for a SQLite error, with one line of text."""
    code, text = _code(error), " ".join(str(error).split())
    if code in (_IOERR, _CANTOPEN, _READONLY, _PERM):
        # SQLite names the file, but the cause is the disk.
        code = _code_of_disk(path) or code
    if code in (_BUSY, _LOCKED, _PROTOCOL):
        # Checked only after the wait.
        return no_locks(path) or held(path, "nothing recorded: ")
    if code == _FULL:
        return RefusedError(
            f"nothing recorded: the disk of {path} is full",
            hint="free some space and repeat the command",
        )
    if code == _READONLY_DISK:
        return RefusedError(
            f"nothing recorded: {path} is on a read-only file system",
            hint="make it writable, or run `sprintlog init --here` in a writable folder",
        )
    if code in (_READONLY, _PERM):
        return RefusedError(
            f"nothing recorded: {path} cannot be written ({text})",
            hint="check the permissions of the log's folder and files",
        )
    if code == _CANTOPEN:
        return RefusedError(
            f"{path} cannot be opened ({text})",
            hint="check the permissions of the log's folder and files, and the disk",
        )
    if code == _IOERR:
        return SprintlogError(
            f"the disk of {path} failed ({text}): an event being recorded may or may not "
            "be in the log",
            hint="repeat the command with the same key to get the recorded answer",
        )
    # Checked last, because it takes as long as reading the complete log.
    if code in (_CORRUPT, _NOTADB) and was_not_read(path):
        return not_read(path)
    damaged = "decode to UTF-8" in text or "unsupported file format" in text
    if code in (_CORRUPT, _FORMAT, _NOTADB) or damaged:
        return UnreadableError(f"{path} is damaged or not a log ({text})", hint=RESCUE)
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in text:
        return RefusedError("the log is closed")
    return SprintlogError(f"SQLite failed on {path} ({text})")


def not_read(path: Path) -> SprintlogError:
    """Return the error for a log that may be intact but could not be read from the disk."""
    return SprintlogError(
        f"reading {path} failed with an input/output error, which does not mean that it "
        "is damaged",
        hint="check the disk, and repeat the command",
    )


def no_locks(path: Path) -> SprintlogError | None:
    """Return the error if a database's disk does not support locks; None if it does.

    On such a disk, no process can hold a lock, so waiting for one is pointless.
    """
    if reason := why_no_lock(path):
        return SprintlogError(
            f"nothing recorded: the disk of {path} does not support locks ({reason})",
            hint=NO_LOCKS,
            path=str(path),
        )
    return None


def _code_of_disk(path: Path) -> int | None:
    """Return the error code of a disk problem, or None."""
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return None
    if disk.f_flag & os.ST_RDONLY:
        return _READONLY_DISK
    return _FULL if disk.f_bavail * disk.f_frsize < _ROOM_BYTES else None


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


_CHUNK = 1 << 20


def was_not_read(path: Path) -> bool:
    """Return whether a read failed without any sign of damage to the log."""
    return _fails(path) or not _is_malformed(path)


def _fails(path: Path) -> bool:
    """Return whether the disk fails to read one of the log's files.

    The files are read through SQLite's descriptors: opening and closing them here would
    release all locks that this process holds on them.
    """
    try:
        names = (path, path.with_name(f"{path.name}-wal"))
        wanted = [_identity(name.stat()) for name in names if name.exists()]
        descriptors = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        return False
    return any(_breaks_off(descriptor, wanted) for descriptor in descriptors)


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _breaks_off(descriptor: int, wanted: list[tuple[int, int]]) -> bool:
    at = 0
    try:
        if _identity(os.fstat(descriptor)) in wanted:
            while chunk := os.pread(descriptor, _CHUNK, at):
                at += len(chunk)
    except OSError as error:
        # The descriptor used to list the folder is closed by now.
        return error.errno == errno.EIO
    return False


def _is_malformed(path: Path) -> bool:
    """Return whether SQLite finds damage in a check of every page and index.

    The database is opened read-only: the last connection to close would otherwise
    checkpoint the write-ahead log.
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
        return _code(error) not in (_IOERR, _CANTOPEN)
