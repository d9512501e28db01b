"""Defects for the tests to detect: planted for one test, then removed."""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.log import chain
from sprintlog.engine.log.envelope import Appended, NewEvent, RecordedEvent
from sprintlog.engine.log.port import Expect, Expected
from sprintlog.engine.log.stores.sqlite import rescue, store
from sprintlog.engine.log.stores.sqlite.caches import SqliteDigests
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.projections.health import salvage, verify
from sprintlog.projections.state_files.files import WrittenFiles

MEANTIME_SECONDS = 0.01


class LazyConnection:
    """A connection that reports a commit and performs it before the next append."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._owes = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    @property
    def in_transaction(self) -> bool:
        """Report a pending result as done."""
        return self._connection.in_transaction and not self._owes

    def execute(self, sql: str, *parameters: Any) -> Any:
        """Run a statement; a commit only later."""
        if sql == "COMMIT":
            self._owes = True
            return self._connection.execute("SELECT 1 WHERE 0")
        starts = sql.startswith(("BEGIN", "INSERT INTO events", "PRAGMA wal_checkpoint"))
        if starts and self._owes:
            self._pay()
        if sql.startswith("INSERT INTO events") and not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                return self._connection.execute(sql, *parameters)
            except sqlite3.Error:
                self._connection.rollback()
                raise
            finally:
                self._owes = self._connection.in_transaction
        return self._connection.execute(sql, *parameters)

    def rollback(self) -> None:
        """Discard pending results."""
        if not self._owes:
            self._connection.rollback()

    def close(self) -> None:
        """Commit at last."""
        self._pay()
        self._connection.close()

    def _pay(self) -> None:
        self._owes = False
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")


class KeylessLog(SqliteLog):
    """A log that accepts keys and forgets them."""

    def append(
        self,
        stream: str,
        new_events: Sequence[NewEvent],
        *,
        expect: Expected,
        key: str | None = None,
        key_digest: bytes | None = None,
    ) -> Appended:
        """Append regardless of earlier appends with the key."""
        return super().append(stream, new_events, expect=expect)


class CredulousLog(SqliteLog):
    """A log that considers every expectation met."""

    def append(
        self,
        stream: str,
        new_events: Sequence[NewEvent],
        *,
        expect: Expected,
        key: str | None = None,
        key_digest: bytes | None = None,
    ) -> Appended:
        """Append at any version; the other processes read it in the meantime."""
        time.sleep(MEANTIME_SECONDS)
        return super().append(
            stream, new_events, expect=Expect.ANY, key=key, key_digest=key_digest
        )


def commit_late(patch: pytest.MonkeyPatch) -> None:
    """Acknowledge before the commit."""
    begin: Any = SqliteLog.__init__

    def lazily(log: SqliteLog, *given: Any, **options: Any) -> None:
        begin(log, *given, **options)
        lazy: Any = LazyConnection(log.connection.raw)
        log.connection.raw = lazy

    patch.setattr(SqliteLog, "__init__", lazily)


def forget_keys(patch: pytest.MonkeyPatch) -> None:
    """Skip the check whether a key was used."""
    patch.setattr(store, "SqliteLog", KeylessLog)


def believe_all(patch: pytest.MonkeyPatch) -> None:
    """Do not compare the expected version with the actual one."""
    patch.setattr(store, "SqliteLog", CredulousLog)


def refresh_unlocked(patch: pytest.MonkeyPatch) -> None:
    """Compare and write state files without the lock."""
    patch.setattr(WrittenFiles, "lock", lambda files: nullcontext())


def know_nothing(patch: pytest.MonkeyPatch) -> None:
    """Do not store the digests of written files."""
    patch.setattr(SqliteDigests, "know", lambda *given, **options: None)


def ignore_heads(patch: pytest.MonkeyPatch) -> None:
    """Do not compare the log with its head file."""
    patch.setattr(store, "compare", lambda known, hash_at: None)


def ignore_payloads(patch: pytest.MonkeyPatch) -> None:
    """Verify the chain of the envelopes only."""
    payload = RecordedEvent.__struct_fields__.index("payload")

    def check_rows(rows: Iterable[chain.Row], **options: Any) -> Iterator[Any]:
        bare = ((*row[:payload], None, *row[payload + 1 :]) for row in rows)
        return chain.check_rows(bare, **options)

    patch.setattr(verify, "check_rows", check_rows)


def believe_hashes(patch: pytest.MonkeyPatch) -> None:
    """Salvage anything that looks like an event, without reading its hash."""

    def believe(events: Iterable[RecordedEvent]) -> Iterator[Any]:
        for _ in events:
            pass
        return iter(())

    for name in ("follows", "is_whole"):
        patch.setattr(rescue, name, lambda *given: True)
    patch.setattr(rescue, "check_chain", believe)
    patch.setattr(rescue, "check_copy", lambda *given, **options: None)


def open_the_damaged(patch: pytest.MonkeyPatch) -> None:
    """Let SQLite open the damaged log before it is salvaged."""

    def opened(source: Path, *given: Any, **options: Any) -> Any:
        with suppress(sqlite3.Error):
            connection = sqlite3.connect(source)
            try:
                connection.execute("SELECT count(*) FROM events").fetchall()
            finally:
                connection.close()
        return rescue.salvage(source, *given, **options)

    patch.setattr(salvage, "salvage_log", opened)
