"""A log's database file: its paths, how it is opened, and its single connection.

The file is not trusted: pragmas and modes are set here. Each statement waits for other
processes, up to a time limit.
"""

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from .... import errors
from ...port import Entropy, Wait
from ..descriptors import Waiting
from .errors import explained, is_busy, no_locks
from .journal_mode import JournalMode, choose_journal_mode, set_journal_mode
from .schema import MIGRATIONS, check_schema, migrate, stand_in

SQLITE_VERSION = sqlite3.sqlite_version_info
_PLAIN_IN_URI = b"/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ESCAPED = {byte: f"%{byte:02X}" for byte in {*range(256)} - {*_PLAIN_IN_URI}}


def head_path(path: Path) -> Path:
    """Return the path of a database's head file."""
    return path.with_name(f"{path.name}-head")


def wal_path(path: Path) -> Path:
    """Return the path of a database's write-ahead log."""
    return path.with_name(f"{path.name}-wal")


def mark_path(path: Path) -> Path:
    """Return the path of the file that marks an unfinished erasure."""
    return path.with_name(f"{path.name}-erasing")


def uri_of(path: Path) -> str:
    """Return a file's URI; `Path.as_uri` would import the URL parser."""
    return f"file://{os.fsencode(path.absolute()).decode('latin-1').translate(_ESCAPED)}"


def check_is_sqlite(path: Path, what: str) -> None:
    """Raise `RefusedError` if the log is not an existing SQLite file."""
    if not path.exists():
        raise errors.RefusedError(
            f"{what} requires an SQLite log, and there is none at {path}",
            hint="use `sprintlog store export` to export any log",
            path=str(path),
        )


JITTER_SECONDS = 0.032
LOCK_LOOK_SECONDS = 0.25
WAIT_MILLISECONDS = 8
"""SQLite's own wait, in steps of 1, 2 and 5 ms; later steps would grow to 100 ms.

An append locks the database for less than 1 ms. With long steps, the database would be idle
most of the time, and the longest waiter would retry least often.
"""
_TRIGGERS: Final = getattr(sqlite3, "SQLITE_DBCONFIG_ENABLE_TRIGGER", None)

_CACHE_KIB, _WALKING_KIB = 2000, 64
"""The page cache sizes: SQLite's default, and one sufficient for a sequential scan."""


class Connection:
    """A connection to a log's database, private to the store."""

    only_read: errors.SprintlogError | None = None
    """The reason why the connection is read-only, if opening it for writing failed."""

    def __init__(
        self,
        path: Path,
        raw: sqlite3.Connection,
        *,
        entropy: Entropy,
        wait: Wait,
        mode: JournalMode,
        is_behind: bool = False,
    ) -> None:
        self.path = path
        self.raw = raw
        self.wait = wait
        self.mode = mode
        """The journal mode chosen for the database, and the reason."""
        self.is_behind = is_behind
        """Whether the schema is older; the first write migrates it."""
        self._entropy = entropy
        self.doubted = False
        """Whether the last statement failed, so that the locks are checked first."""
        self._look = LockLook(path)

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run a statement and return its rows, waiting for other processes.

        Raise `BusyError` if they do not release the database in time.
        """
        if self.doubted and (failure := self._look.failure()):
            # SQLite alone waits ten seconds for a failing lock.
            raise failure
        patience: Patience | None = None
        while True:
            try:
                found = self.raw.execute(sql, parameters).fetchall()
            except sqlite3.Error as error:
                self.doubted = True
                patience = patience or Patience(
                    self.wait, entropy=self._entropy, path=self.path, look=self._look
                )
                patience.after(error)
            else:
                self.doubted = False
                return found

    def begin_to_write(self) -> None:
        """Migrate an older schema before the first write; reads never migrate."""
        if not self.is_behind:
            return
        try:
            self.raw.execute("PRAGMA query_only=OFF")
            set_journal_mode(self.raw, self.mode)
            migrate(self.raw)
        except sqlite3.Error as error:
            raise explained(error, self.path) from error
        self.is_behind = False
        done = f"now has schema {len(MIGRATIONS)}, which older versions of sprintlog refuse"
        self.wait.say(f"{self.path} {done}")

    @contextmanager
    def walking(self) -> Iterator[None]:
        """Use a small page cache, because a sequential scan reads each page only once."""
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

        The transaction is immediate: SQLite rejects a transaction that reads first and
        writes later if another process has written in between, regardless of the wait
        limit. With a rollback journal, readers can delay the commit; the commit can then be
        repeated.
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
        """Disable the log's triggers on this connection, if Python supports it.

        Use this only within a transaction that has checked the end of the log. Other
        connections are not affected, and the triggers are enabled again afterwards.
        """
        if (switch := getattr(self.raw, "setconfig", None)) is None or _TRIGGERS is None:
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
    """Checks occasionally whether a database's disk supports locks at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next = 0.0

    def failure(self) -> errors.SprintlogError | None:
        """Return an error if the disk does not support locks.

        Return None if it does, or if it was checked recently.
        """
        now = time.monotonic()
        if now < self._next:
            return None
        self._next = now + LOCK_LOOK_SECONDS
        return no_locks(self._path)


class Patience:
    """A bounded, jittered wait for a database that other processes have locked."""

    def __init__(
        self, wait: Wait, *, entropy: Entropy, path: Path, look: LockLook | None = None
    ) -> None:
        self._waiting = Waiting(wait, path)
        self._entropy = entropy
        self._path = path
        self._look = look or LockLook(path)

    def after(self, error: sqlite3.Error) -> None:
        """Pause before the next attempt; raise if the time is up or waiting cannot help."""
        if not is_busy(error) or self._waiting.is_over() or self._look.failure():
            raise explained(error, self._path) from error
        # All waiters retry equally often, so that none of them starves.
        time.sleep(JITTER_SECONDS * self._entropy(1)[0] / 256)


def open_database(
    path: Path, *, readonly: bool, wait: Wait, entropy: Entropy
) -> Connection:
    """Return a connection to an existing log with the current or an older schema.

    A log with an older schema is read-only until the first write; a log on a full disk
    or a read-only file system stays read-only. Raise `BusyError` if other processes do not
    release the log in time.
    """
    mode = choose_journal_mode(path.parent)
    patience: Patience | None = None
    only_read: errors.SprintlogError | None = None
    while True:
        try:
            raw, is_behind = _open(path, mode, readonly=readonly or only_read is not None)
        except sqlite3.Error as error:
            patience = patience or Patience(wait, entropy=entropy, path=path)
            patience.after(error)
        except errors.SprintlogError as error:
            if only_read is not None:
                raise only_read from None
            is_refused = isinstance(error, errors.RefusedError)
            if readonly or not is_refused or isinstance(error, errors.NotFoundError):
                raise
            only_read = error
        else:
            opened = Connection(
                path, raw, entropy=entropy, wait=wait, mode=mode, is_behind=is_behind
            )
            opened.only_read = only_read
            return opened


def _open(
    path: Path, mode: JournalMode, *, readonly: bool
) -> tuple[sqlite3.Connection, bool]:
    """Return a connection, and whether the database has an older schema."""
    if not path.exists():
        raise errors.NotFoundError(f"there is no log at {path}", path=str(path))
    try:
        raw = _connect_readonly(path) if readonly else connect(path, "mode=rw")
        try:
            if is_behind := check_schema(raw):
                stand_in(raw)
                raw.execute("PRAGMA query_only=ON")
            elif not readonly:
                set_journal_mode(raw, mode)
        except BaseException:
            raw.close()
            raise
    except sqlite3.Error as error:
        if is_busy(error):
            raise
        raise explained(error, path) from error
    except UnicodeDecodeError as error:
        # Python cannot decode the message in which SQLite quotes the schema.
        raise errors.UnreadableError(
            f"{path} is damaged: its schema is not text", hint=errors.RESCUE
        ) from error
    return raw, is_behind


def connect(path: Path, query: str) -> sqlite3.Connection:
    """Return a connection to an existing file, opened with the URI's query options."""
    # A URI, because a plain name would create a missing file.
    connection = sqlite3.connect(
        f"{uri_of(path)}?{query}",
        uri=True,
        isolation_level=None,
        timeout=WAIT_MILLISECONDS / 1000,
    )
    try:
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA recursive_triggers=ON")
        if query != "mode=rw":
            # The first statement that touches the file.
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_readonly(path: Path) -> sqlite3.Connection:
    try:
        return connect(path, "mode=ro")
    except sqlite3.OperationalError as error:
        # In a read-only folder SQLite cannot share its write-ahead log; without one,
        # the database file is complete.
        wal = wal_path(path)
        if is_busy(error) or (wal.exists() and wal.stat().st_size):
            raise
        return connect(path, "mode=ro&immutable=1")
