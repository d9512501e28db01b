"""The single connection of a SQLite store, with bounded waits and explained errors.

Each statement waits for other processes up to a limit; SQLite's errors are translated
into those of this package.
"""

import errno
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from ....errors import RESCUE, RefusedError, SprintlogError, UnreadableError
from ...port import Entropy, Wait
from ..locks import Waiting, held, why_no_lock
from .schema import check_schema

# The primary codes; sqlite3 in Python 3.11 names them, but not all of older SQLite.
_PERM, _BUSY, _LOCKED, _READONLY, _IOERR = 3, 5, 6, 8, 10
_READONLY_DISK = -1
_ROOM_BYTES = 64 * 1024
"""The free space that SQLite needs to open a log."""
_CORRUPT, _FULL, _CANTOPEN, _PROTOCOL, _FORMAT, _NOTADB = 11, 13, 14, 15, 24, 26

JITTER_SECONDS = 0.032
LOCK_LOOK_SECONDS = 0.25
WAIT_MILLISECONDS = 8
"""How long SQLite itself waits, in steps of 1, 2 and 5 ms; later steps would grow to 100.

An append holds the database for less than 1 ms. With long steps the database would be
idle most of the time, and the longest waiter would retry least often.
"""
_TRIGGERS: Final = getattr(sqlite3, "SQLITE_DBCONFIG_ENABLE_TRIGGER", None)

_CACHE_KIB, _WALKING_KIB = 2000, 64
"""The page cache: SQLite's default, and the size sufficient for a sequential scan."""


class Connection:
    """A connection to a log's database, private to the store."""

    steps: Callable[[], str] | None = None
    """Migrates an older schema to the current one, which the first write requires."""

    def __init__(
        self, path: Path, raw: sqlite3.Connection, *, entropy: Entropy, wait: Wait
    ) -> None:
        self.path = path
        self.raw = raw
        self.wait = wait
        self._entropy = entropy
        self._doubted = False
        self._look = LockLook(path)

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement and return its rows, waiting for other processes.

        Raise `BusyError` if they hold the database beyond the wait.
        """
        if self._doubted and (failure := self._look.failure()):
            # SQLite alone waits ten seconds for a failing lock.
            raise failure
        patience: Patience | None = None
        while True:
            try:
                found = self.raw.execute(sql, parameters).fetchall()
            except sqlite3.Error as error:
                self._doubted = True
                patience = patience or Patience(
                    self.wait, entropy=self._entropy, path=self.path, look=self._look
                )
                patience.after(error)
            else:
                self._doubted = False
                return found

    def begin_to_write(self) -> None:
        """Migrate an older schema before the first write; reads never migrate."""
        if self.steps is not None:
            try:
                done = self.steps()
            except sqlite3.Error as error:
                raise explained(error, self.path) from error
            self.steps = None
            self.wait.say(f"{self.path}: {done}")

    def doubt(self) -> None:
        """Check the locks before the next statement, because one has failed."""
        self._doubted = True

    @contextmanager
    def walking(self) -> Iterator[None]:
        """Use a small page cache: a sequential scan reads each page only once."""
        self.raw.execute(f"PRAGMA cache_size = -{_WALKING_KIB}")
        try:
            yield
        finally:
            # The caller may have abandoned the scan and closed the log since.
            with suppress(sqlite3.ProgrammingError):
                self.raw.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Block other writers until the context exits; commit unless an error occurs.

        It is immediate: SQLite rejects a transaction that reads first and writes later as
        soon as another process wrote in between, regardless of the wait. With a rollback
        journal, readers can delay the commit, which can be repeated.
        """
        self.rows("BEGIN IMMEDIATE")
        try:
            yield
            self.commit()
        except BaseException as error:
            if self.raw.in_transaction:
                self.raw.rollback()
            if isinstance(error, sqlite3.Error):
                raise explained(error, self.path) from error
            raise

    @contextmanager
    def triggers_off(self) -> Iterator[None]:
        """Disable the log's triggers in this connection, if Python supports it.

        Use it only inside a transaction that has checked the end of the log. Other
        connections are not affected, and the triggers are enabled again afterwards.
        """
        switch = getattr(self.raw, "setconfig", None)
        if switch is None or _TRIGGERS is None:
            # Before Python 3.12.
            yield
            return
        switch(_TRIGGERS, False)
        try:
            yield
        finally:
            switch(_TRIGGERS, True)

    def commit(self) -> None:
        """Commit the transaction."""
        self.rows("COMMIT")


class LockLook:
    """Checks occasionally whether the disk of a database grants locks at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next = 0.0

    def failure(self) -> SprintlogError | None:
        """Return the error if it grants none; None if it does or was checked recently."""
        now = time.monotonic()
        if now < self._next:
            return None
        self._next = now + LOCK_LOOK_SECONDS
        return no_locks(self._path)


class Patience:
    """A bounded wait with jitter for a database that other processes hold."""

    def __init__(
        self, wait: Wait, *, entropy: Entropy, path: Path, look: LockLook | None = None
    ) -> None:
        self._waiting = Waiting(wait, path)
        self._entropy = entropy
        self._path = path
        self._look = look or LockLook(path)

    def after(self, error: sqlite3.Error) -> None:
        """Wait a moment; raise if the time is up or waiting would not help."""
        if not is_busy(error) or self._waiting.is_over() or self._look.failure():
            raise explained(error, self._path) from error
        # All waiters retry equally often, so that none of them starves.
        time.sleep(JITTER_SECONDS * self._entropy(1)[0] / 256)


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether the error only means that another process holds the database."""
    return _code(error) in (_BUSY, _LOCKED)


def explained(error: sqlite3.Error, path: Path) -> SprintlogError:
    """Return the error of this package for an error of SQLite, with one line of text."""
    code, text = _code(error), " ".join(str(error).split())
    if code in (_IOERR, _CANTOPEN, _READONLY, _PERM):
        # SQLite names the file, but the cause is the disk.
        code = _code_of_disk(path) or code
    if code in (_BUSY, _LOCKED, _PROTOCOL):
        # Looked up only after the wait.
        return no_locks(path) or held(path, "nothing recorded: ")
    if code == _FULL:
        return RefusedError(
            f"nothing recorded: the disk of {path} is full",
            hint="free some space and repeat the command",
        )
    if code == _READONLY_DISK:
        return RefusedError(
            f"nothing recorded: {path} is on a read-only file system",
            hint="make it writable, or `sprintlog init --here` where one may write",
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
            f"the disk of {path} failed ({text}): an event being recorded may be in the "
            "log or not",
            hint="repeat the command with the same key: it answers what was recorded",
        )
    # Checked last: it takes as long as reading the whole log.
    if code in (_CORRUPT, _NOTADB) and was_not_read(path):
        return not_read(path)
    damaged = "decode to UTF-8" in text or "unsupported file format" in text
    if code in (_CORRUPT, _FORMAT, _NOTADB) or damaged:
        return UnreadableError(f"{path} is damaged or not a log ({text})", hint=RESCUE)
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in text:
        return RefusedError("the log is closed")
    return SprintlogError(f"SQLite failed on {path} ({text})")


def not_read(path: Path) -> SprintlogError:
    """Return the error if the disk failed to read a log that may be intact."""
    return SprintlogError(
        f"reading {path} failed with an input/output error: nothing shows that it is "
        "damaged",
        hint="check the disk, and repeat the command",
    )


def no_locks(path: Path) -> SprintlogError | None:
    """Return the error if the disk of a database grants no locks; None if it does.

    On such a disk no process holds a lock, and waiting for one is pointless.
    """
    if reason := why_no_lock(path):
        return SprintlogError(
            f"nothing recorded: the disk of {path} gives no locks ({reason})",
            hint="check the disk; a network file system must be mounted with locks",
            path=str(path),
        )
    return None


def _code_of_disk(path: Path) -> int | None:
    """Return the code of a problem with the disk, or None."""
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
_CANNOT_READ = (10, 14)
"""SQLite's primary codes for an input or output that failed and a file not opened."""


def was_not_read(path: Path) -> bool:
    """Return whether reading failed and nothing shows any damage."""
    return _fails(path) or not _is_malformed(path)


def _fails(path: Path) -> bool:
    """Return whether the disk fails to read one of the log's files.

    The files are read through the descriptors of SQLite: opening and closing them here
    would release every lock that this process holds on them.
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
    """Return whether SQLite finds damage, after a check of every page and index.

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
        return getattr(error, "sqlite_errorcode", 0) & 0xFF not in _CANNOT_READ
