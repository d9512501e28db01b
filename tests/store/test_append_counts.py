"""The cost of an append, counted: statements, random bytes, bytes written."""

import os
import sqlite3
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from sprintlog.engine import hashes
from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.sqlite.journal_mode import WAL_BYTES_MAX
from sprintlog.engine.log.stores.sqlite.store import LOOKS_FIRST, SqliteLog
from tests import needs

Reopen = Callable[..., SqliteLog]
LARGE = NewEvent(
    type="note-added",
    payload=b'{"text":"%s"}' % (b"x" * 289),
    at="2026-01-30T12:00:00Z",
    actor="runtime",
)


@pytest.fixture
def quick(log: SqliteLog) -> SqliteLog:
    """Provide a log with a write-ahead log that does not wait for the disk."""
    if not log.journal_mode.wal:
        needs.skip("a local file system", "set TMPDIR to a folder on a local disk")
    log.connection.raw.execute("PRAGMA synchronous=OFF")
    return log


def traced(log: SqliteLog) -> list[str]:
    """Return a list to which the first word of each later statement is added."""
    words: list[str] = []
    last = ""

    def trace(statement: str) -> None:
        # A statement is traced again for each row that a trigger reads.
        nonlocal last
        if statement != last:
            words.append(statement.split()[0])
        last = statement

    log.connection.raw.set_trace_callback(trace)
    return words


def test_small_appends_fill_the_journal_once(quick: SqliteLog) -> None:
    """Single-event appends never make the write-ahead log much larger than its limit."""
    wal = quick.path.with_name("log.db-wal")
    largest = 0
    for version in range(1500):
        quick.append("a", [LARGE], expect=version)
        largest = max(largest, wal.stat().st_size)
    assert largest < 1.25 * WAL_BYTES_MAX
    assert quick.path.stat().st_size > WAL_BYTES_MAX / 8


def test_large_appends_are_counted_by_their_bytes(quick: SqliteLog) -> None:
    """Few large events fill the write-ahead log as many small ones do."""
    wal = quick.path.with_name("log.db-wal")
    large = structs.replace(LARGE, payload=b'{"text":"%s"}' % (b"x" * 500_000))
    for version in range(40):
        quick.append("a", [large], expect=version)
        assert wal.stat().st_size < 1.25 * WAL_BYTES_MAX


def test_writers_take_turns_at_the_journal(quick: SqliteLog, reopen: Reopen) -> None:
    """Concurrent writers let the journal grow no more than a single one does."""
    others = [reopen() for _ in range(3)]
    for other in others:
        other.connection.raw.execute("PRAGMA synchronous=OFF")
    writers = [quick, *others]
    said = [traced(log) for log in writers]
    wal = quick.path.with_name("log.db-wal")
    largest = 0
    for number in range(1600):
        writers[number * 7 % 4].append(f"s{number % 4}", [LARGE], expect=Expect.ANY)
        largest = max(largest, wal.stat().st_size)
    assert largest < 1.25 * WAL_BYTES_MAX
    assert sum(words.count("PRAGMA") for words in said) <= 4


def test_chance_is_asked_once_for_many_appends(path: Path, new_event: NewEvent) -> None:
    """The random source is read once for 64 appends, and no byte is used twice."""
    asked: list[int] = []

    def entropy(size: int) -> bytes:
        asked.append(size)
        return os.urandom(size)

    log = SqliteLog.create(path, clock=lambda: 0, entropy=entropy)
    asked.clear()
    for version in range(128):
        log.append("a", [new_event], expect=version)
    assert len(asked) == 2
    events = list(log.read())
    assert len({event.salt for event in events}) == len({e.id for e in events}) == 128
    log.close()


def test_event_takes_two_hashes(
    log: SqliteLog, new_event: NewEvent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Payload and chain are hashed once per event, alone or in a batch."""
    hashed: list[int] = []

    def counting(content: bytes) -> Any:
        hashed.append(len(content))
        return sha256(content)

    monkeypatch.setattr(hashes, "sha256", counting)
    log.append("a", [new_event], expect=0)
    assert len(hashed) == 2
    log.append("a", [new_event] * 100, expect=1)
    assert len(hashed) == 2 * 101


def test_undisturbed_append_is_one_statement(log: SqliteLog, new_event: NewEvent) -> None:
    """Without other writers, a single INSERT is the complete append."""
    log.append("a", [new_event], expect=0)
    said = traced(log)
    for version in range(1, 9):
        log.append("a", [new_event], expect=version)
    assert said == ["INSERT"] * 8


def test_disturbed_append_asks_once(
    log: SqliteLog, reopen: Reopen, new_event: NewEvent
) -> None:
    """With other writers, an append first reads the head, in one transaction."""
    other = reopen()
    log.append("a", [new_event], expect=Expect.ANY)
    other.append("b", [new_event], expect=Expect.ANY)
    said = traced(log)
    looked = ["BEGIN", "SELECT", "INSERT", "COMMIT"]
    log.append("a", [new_event], expect=Expect.ANY)
    assert said == ["INSERT", *looked]
    for _ in range(5):
        other.append("b", [new_event], expect=Expect.ANY)
        said.clear()
        log.append("a", [new_event], expect=Expect.ANY)
        assert said == looked
    said.clear()
    for _ in range(LOOKS_FIRST + 2):
        log.append("a", [new_event], expect=Expect.ANY)
    assert said == [*looked * LOOKS_FIRST, "INSERT", "INSERT"]


def test_triggers_are_back_after_a_batch(log: SqliteLog, new_event: NewEvent) -> None:
    """A connection that disabled its triggers enables them again in any case."""
    raw = log.connection.raw
    log.append("a", [new_event] * 100, expect=0)
    with pytest.raises(sqlite3.IntegrityError, match="never deleted"):
        raw.execute("DELETE FROM events")
    with pytest.raises(ZeroDivisionError), log.connection.triggers_off():
        raise ZeroDivisionError
    with pytest.raises(sqlite3.IntegrityError, match="never changed"):
        raw.execute("UPDATE events SET actor = 'somebody'")
    assert log.append("a", [new_event] * 100, expect=100).events[-1].position == 200


def test_batch_runs_without_the_trigger(log: SqliteLog, new_event: NewEvent) -> None:
    """If a connection can disable its triggers, they do not run for a batch."""
    if not hasattr(log.connection.raw, "setconfig"):
        needs.skip("Python 3.12", "make test PYTHON=python3.12 in a new clone")
    said: list[str] = []
    log.connection.raw.set_trace_callback(said.append)
    log.append("a", [new_event] * 200, expect=0)
    assert len(said) == len(set(said))
    log.append("a", [new_event], expect=200)
    assert len(said) > len(set(said))
