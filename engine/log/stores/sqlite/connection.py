"""The one connection of a store: each statement waits for others, within bounds."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ...port import Entropy, Wait
from .errors import Patience, explained, no_locks

_CACHE_KIB, _WALKING_KIB = 2000, 256
"""What SQLite keeps of a database in memory by itself, and what a walk through it needs."""


class Connection:
    """A connection to a log's database; nobody outside the store has it."""

    def __init__(
        self, path: Path, raw: sqlite3.Connection, *, entropy: Entropy, wait: Wait
    ) -> None:
        self.path = path
        self.raw = raw
        self.wait = wait
        self._entropy = entropy
        self._doubted = False

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement to its end and return its rows, waiting for others.

        Raise `BusyError` when they take longer than we may wait.
        """
        if self._doubted and (failure := no_locks(self.path)):
            # SQLite waits ten seconds by itself for a lock that fails.
            raise failure
        self._doubted = False
        patience: Patience | None = None
        while True:
            try:
                return self.raw.execute(sql, parameters).fetchall()
            except sqlite3.Error as error:
                self._doubted = True
                patience = patience or Patience(
                    self.wait, entropy=self._entropy, path=self.path
                )
                patience.after(error)

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

    def commit(self) -> None:
        """Keep what was written since the transaction began."""
        self.rows("COMMIT")
