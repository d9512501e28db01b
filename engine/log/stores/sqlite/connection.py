"""The one connection of a store: each statement waits for others, within bounds."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from ...port import Entropy, Wait
from .errors import LockLook, Patience, explained

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
