"""The one connection of a store: each statement waits for others, within bounds."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from ....errors import RESCUE, RefusedError, SprintlogError, UnreadableError
from ...port import Entropy, Wait

# The primary codes; 3.11's sqlite3 has names for them, older SQLite has not all.
_PERM, _BUSY, _LOCKED, _READONLY, _IOERR = 3, 5, 6, 8, 10
_READONLY_DISK = -1
_ROOM_BYTES = 64 * 1024
"""SQLite needs this much to open a log at all."""
_CORRUPT, _FULL, _CANTOPEN, _PROTOCOL, _FORMAT, _NOTADB = 11, 13, 14, 15, 24, 26


JITTER_SECONDS = 0.032
LOCK_LOOK_SECONDS = 0.25


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether the error only says that somebody else has the database."""
    return _code(error) in (_BUSY, _LOCKED)


def explained(error: sqlite3.Error, path: Path) -> SprintlogError:
    """Return the error in the words of this package, on one line."""
    code, text = _code(error), " ".join(str(error).split())
    if code in (_IOERR, _CANTOPEN, _READONLY, _PERM):
        # SQLite names the file it failed on; what is wrong is the disk it is on.
        code = _code_of_disk(path) or code
    if code in (_BUSY, _LOCKED, _PROTOCOL):
        # Looked up only now, when the wait is over.
        from ..locks import held

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
    if code in (_CORRUPT, _NOTADB):
        # Looked at only now: it takes as long as reading the whole log.
        from .second_look import was_not_read

        if was_not_read(path):
            return not_read(path)
    damaged = "decode to UTF-8" in text or "unsupported file format" in text
    if code in (_CORRUPT, _FORMAT, _NOTADB) or damaged:
        return UnreadableError(f"{path} is damaged or not a log ({text})", hint=RESCUE)
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in text:
        return RefusedError("the log is closed")
    return SprintlogError(f"SQLite failed on {path} ({text})")


def not_read(path: Path) -> SprintlogError:
    """Return what to say where the disk did not give all of a log, and that is all."""
    return SprintlogError(
        f"reading {path} failed with an input/output error: nothing shows that it is "
        "damaged",
        hint="check the disk, and repeat the command",
    )


def no_locks(path: Path) -> SprintlogError | None:
    """Return what to say where the disk of a database gives no locks; None where it does.

    There nobody holds anything, and waiting for a lock is in vain.
    """
    from ..lock_holder import why_no_lock

    if reason := why_no_lock(path):
        return SprintlogError(
            f"nothing recorded: the disk of {path} gives no locks ({reason})",
            hint="check the disk; a network file system must be mounted with locks",
            path=str(path),
        )
    return None


class LockLook:
    """Looks now and then whether the disk of a database gives locks at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next = 0.0

    def failure(self) -> SprintlogError | None:
        """Return what to say where it does not; None where it was looked at just now."""
        now = time.monotonic()
        if now < self._next:
            return None
        self._next = now + LOCK_LOOK_SECONDS
        return no_locks(self._path)


class Patience:
    """A bounded wait for a database that others hold, in jittered steps."""

    def __init__(
        self, wait: Wait, *, entropy: Entropy, path: Path, look: LockLook | None = None
    ) -> None:
        # Imported here: hardly anybody has to wait.
        from ..locks import Waiting

        self._waiting = Waiting(wait, path)
        self._entropy = entropy
        self._path = path
        self._look = look or LockLook(path)

    def after(self, error: sqlite3.Error) -> None:
        """Wait a moment; raise for good when it is over or waiting would not help."""
        if not is_busy(error) or self._waiting.is_over() or self._look.failure():
            raise explained(error, self._path) from error
        # Whoever waits looks as often as whoever just came: nobody is left behind.
        time.sleep(JITTER_SECONDS * self._entropy(1)[0] / 256)


def _code_of_disk(path: Path) -> int | None:
    """Return the code that says what is wrong with the disk, if something is."""
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return None
    if disk.f_flag & os.ST_RDONLY:
        return _READONLY_DISK
    return _FULL if disk.f_bavail * disk.f_frsize < _ROOM_BYTES else None


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


WAIT_MILLISECONDS = 8
"""How long SQLite itself waits, in steps of 1, 2 and 5 ms; further ones would grow to 100.

An append holds the database for less than 1 ms. With long steps nobody has it for most of
the time, and who waited longest looks least often.
"""
_TRIGGERS: Final = getattr(sqlite3, "SQLITE_DBCONFIG_ENABLE_TRIGGER", None)

_CACHE_KIB, _WALKING_KIB = 2000, 64
"""What SQLite keeps of a database in memory by itself, and what a walk through it needs."""


class Connection:
    """A connection to a log's database; nobody outside the store has it."""

    steps: Callable[[], str] | None = None
    """Brings an older schema to today's; until then nothing can be written."""

    def __init__(
        self, path: Path, raw: sqlite3.Connection, *, entropy: Entropy, wait: Wait
    ) -> None:
        self.path = path
        self.raw = raw
        self.wait = wait
        self._entropy = entropy
        self._doubted = False
        self._look = LockLook(path)
        raw.execute(f"PRAGMA busy_timeout={WAIT_MILLISECONDS}")

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement to its end and return its rows, waiting for others.

        Raise `BusyError` when they take longer than we may wait.
        """
        if self._doubted and (failure := self._look.failure()):
            # SQLite waits ten seconds by itself for a lock that fails.
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
        """Apply the pending steps of the schema, before the first write: no read does."""
        if self.steps is not None:
            try:
                done = self.steps()
            except sqlite3.Error as error:
                raise explained(error, self.path) from error
            self.steps = None
            self.wait.say(f"{self.path}: {done}")

    def doubt(self) -> None:
        """Look at the locks before the next statement: one has failed."""
        self._doubted = True

    @contextmanager
    def walking(self) -> Iterator[None]:
        """Keep little of the database in memory: a walk comes by each page just once."""
        self.raw.execute(f"PRAGMA cache_size = -{_WALKING_KIB}")
        try:
            yield
        finally:
            # Whoever walks may have left off, and the log been closed since.
            with suppress(sqlite3.ProgrammingError):
                self.raw.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Let nobody else write until this ends; without an error all of it is kept.

        Immediate: a transaction that reads first and writes then is refused at once when
        somebody else wrote in between, however long we would wait. With a rollback
        journal readers can hold up the commit; it can be repeated.
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
        """Insert without the log's triggers, where a connection can leave them out.

        Only inside a transaction that has looked where the log ends. All others keep
        them, and so does this connection for whatever comes after.
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
        """Keep what was written since the transaction began."""
        self.rows("COMMIT")
