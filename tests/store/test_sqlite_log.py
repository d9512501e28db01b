"""Properties of the log in a SQLite database only."""

import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from sprintlog.engine.errors import (
    BusyError,
    ConflictError,
    NotFoundError,
    RefusedError,
    UnreadableError,
)
from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect, Wait
from sprintlog.engine.log.stores.sqlite.schema import MIGRATIONS
from sprintlog.engine.log.stores.sqlite.store import SqliteLog

Reopen = Callable[..., SqliteLog]


def test_reopened_log_goes_on(log: SqliteLog, reopen: Reopen, new_event: NewEvent) -> None:
    """Appended events exist after closing, and the chain continues from them."""
    before = log.append("a", [new_event, new_event], expect=0).events
    log.close()
    again = reopen()
    assert list(again.read()) == before
    again.append("a", [new_event], expect=2)
    assert [event.position for event in again.read()] == [1, 2, 3]
    assert list(check_chain(again.read())) == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET actor = 'somebody else'",
        "UPDATE events SET payload = NULL, salt = NULL WHERE position = 1",
        "DELETE FROM events",
        "DELETE FROM events WHERE position = 2",
        "INSERT OR REPLACE INTO events SELECT * FROM events WHERE position = 1",
        "REPLACE INTO events SELECT 3, stream, 1, id, type, schema_version, at,"
        " recorded_at, actor, correlation_id, causation_id, NULL, NULL, remaining,"
        " observed, salt, payload, payload_digest, hash FROM events WHERE position = 1",
        "REPLACE INTO events SELECT 3, stream, 3, id, type, schema_version, at,"
        " recorded_at, actor, correlation_id, causation_id, key, NULL, remaining,"
        " observed, salt, payload, payload_digest, hash FROM events WHERE position = 1",
        "INSERT INTO events SELECT 4, stream, 3, id, type, schema_version, at,"
        " recorded_at, actor, correlation_id, causation_id, NULL, NULL, remaining,"
        " observed, salt, payload, payload_digest, hash FROM events WHERE position = 1",
    ],
)
def test_database_refuses_to_change_events(
    log: SqliteLog, raw: sqlite3.Connection, new_event: NewEvent, statement: str
) -> None:
    """No SQL of any tool changes, removes or replaces an event, or leaves a gap."""
    log.append("a", [new_event, new_event], expect=0, key="k", key_digest=b"d")
    before = list(log.read())
    with pytest.raises(sqlite3.IntegrityError, match=r"events are (never|only)"):
        raw.execute(statement)
    assert list(log.read()) == before


def test_modes_do_not_follow_the_umask(path: Path, new_event: NewEvent) -> None:
    """Files and folder are accessible only to their owner, whatever the umask."""
    umask = os.umask(0)
    try:
        log = SqliteLog.create(path, clock=lambda: 0, entropy=os.urandom)
        log.append("a", [new_event], expect=0)
        modes = {f.name: stat.S_IMODE(f.stat().st_mode) for f in path.parent.iterdir()}
        log.close()
    finally:
        os.umask(umask)
    assert {"log.db", "log.db-head"} <= modes.keys()
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_payload_is_text_to_any_tool(
    log: SqliteLog, raw: sqlite3.Connection, new_event: NewEvent
) -> None:
    """Payloads are stored as text, so that SQLite's JSON functions can read them."""
    log.append("a", [new_event], expect=0)
    assert raw.execute("SELECT typeof(payload), json(payload) FROM events").fetchall() == [
        ("text", "{}")
    ]


def test_create_refuses_an_existing_log(
    log: SqliteLog, path: Path, new_event: NewEvent
) -> None:
    """A log is never created over another one."""
    log.append("a", [new_event], expect=0)
    with pytest.raises(RefusedError, match="exists"):
        SqliteLog.create(path, clock=lambda: 0, entropy=os.urandom)
    assert log.head().position == 1


@pytest.mark.parametrize("suffix", ["-wal", "-journal", "-head"])
def test_create_refuses_what_is_left_of_another_log(path: Path, suffix: str) -> None:
    """A journal or head without its log is evidence of a loss and is not overwritten."""
    path.parent.mkdir()
    left = path.with_name(path.name + suffix)
    left.write_bytes(b"left")
    with pytest.raises(RefusedError, match="belongs to a deleted log"):
        SqliteLog.create(path, clock=lambda: 0, entropy=os.urandom)
    assert left.read_bytes() == b"left"
    assert not path.exists()


def test_create_begins_anew_after_a_crash(path: Path, new_event: NewEvent) -> None:
    """The remains of a killed creation under its temporary name do not matter."""
    path.parent.mkdir()
    path.with_name("log.db-new").write_bytes(b"half a database")
    path.with_name("log.db-new-journal").write_bytes(b"half a journal")
    log = SqliteLog.create(path, clock=lambda: 0, entropy=os.urandom)
    assert log.append("a", [new_event], expect=0).events[0].position == 1
    log.close()
    assert not path.with_name("log.db-new").exists()


def test_missing_log_is_not_found(path: Path, reopen: Reopen) -> None:
    """Opening creates nothing: a missing log is an error."""
    with pytest.raises(NotFoundError):
        reopen()
    assert not path.exists()


@pytest.mark.parametrize(
    "content", [b"", b"not a database, but long enough to be read" * 30]
)
def test_foreign_file_is_refused(path: Path, reopen: Reopen, content: bytes) -> None:
    """A foreign file is refused and unchanged."""
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(UnreadableError):
        reopen()
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW mine AS SELECT * FROM events",
        "CREATE TRIGGER spy AFTER INSERT ON events BEGIN SELECT 1; END",
        "CREATE INDEX by_type ON events (type)",
        "DROP TRIGGER events_never_go",
        "DROP TABLE written",
        "PRAGMA application_id = 1",
        "PRAGMA user_version = 99",
        "PRAGMA user_version = 1",
    ],
)
def test_foreign_schema_is_refused(
    log: SqliteLog, raw: sqlite3.Connection, reopen: Reopen, statement: str
) -> None:
    """Only exactly our tables, triggers and numbers are opened."""
    raw.execute(statement)
    log.close()
    with pytest.raises(UnreadableError) as caught:
        reopen()
    assert caught.value.hint


def test_statistics_are_no_foreign_schema(
    log: SqliteLog, raw: sqlite3.Connection, reopen: Reopen, new_event: NewEvent
) -> None:
    """Tables that SQLite maintains for its planner are accepted."""
    log.append("a", [new_event], expect=0)
    raw.execute("ANALYZE")
    assert reopen().head().position == 1


def test_pending_steps_are_applied_by_the_first_append(
    log: SqliteLog, raw: sqlite3.Connection, reopen: Reopen, new_event: NewEvent
) -> None:
    """A log with an older schema is read unchanged, and updated by an append."""
    log.append("a", [new_event], expect=0)
    for table in ("checkpoints", "written", "statuses"):
        raw.execute(f"DROP TABLE {table}")
    raw.execute("DELETE FROM _sqlite_migrations WHERE name <> 'events'")
    raw.execute("PRAGMA user_version = 1")
    again = reopen()
    assert again.connection.raw.execute("SELECT * FROM statuses").fetchall() == []
    assert list(again.read()) == list(log.read())
    assert again.connection.raw.execute("PRAGMA user_version").fetchone() == (1,)
    again.append("a", [new_event], expect=1)
    assert again.connection.raw.execute("PRAGMA user_version").fetchone() == (
        len(MIGRATIONS),
    )
    assert again.connection.raw.execute("SELECT * FROM main.statuses").fetchall() == []


def test_log_opened_for_reading_refuses_appends(
    log: SqliteLog, reopen: Reopen, new_event: NewEvent
) -> None:
    """A log opened for reading sees later events, and refuses appends."""
    repository = reopen(readonly=True)
    log.append("a", [new_event], expect=0)
    assert repository.version("a") == 1
    with pytest.raises(RefusedError, match="reading only"):
        repository.append("a", [new_event], expect=1)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        repository.connection.raw.execute("DELETE FROM statuses")


def test_two_writers_alternate(log: SqliteLog, reopen: Reopen, new_event: NewEvent) -> None:
    """Independent writers leave no gap and no fork."""
    other = reopen()
    for number in range(10):
        writer = (log, other)[number % 2]
        writer.append("shared", [new_event], expect=number)
        writer.append(f"own {number % 2}", [new_event, new_event], expect=Expect.ANY)
    assert log.streams() == {"own 0": 10, "own 1": 10, "shared": 10}
    assert list(log.read()) == list(other.read())
    assert list(check_chain(log.read())) == []


def test_stale_memory_never_decides(
    log: SqliteLog, reopen: Reopen, new_event: NewEvent
) -> None:
    """A writer checks its memory of a stream before using it."""
    log.append("a", [new_event], expect=0)
    other = reopen()
    other.append("a", [new_event], expect=1)
    with pytest.raises(ConflictError) as caught:
        log.append("a", [new_event], expect=1)
    assert caught.value.fields["actual"] == 2
    other.append("a", [new_event], expect=2)
    assert log.append("a", [new_event], expect=3).events[0].version == 4


def test_key_used_by_another_writer_is_a_duplicate(
    log: SqliteLog, reopen: Reopen, new_event: NewEvent
) -> None:
    """A key applies to all who have the log open."""
    log.append("a", [new_event], expect=0)
    first = reopen().append("a", [new_event, new_event], expect=1, key="k", key_digest=b"d")
    again = log.append("a", [new_event], expect=1, key="k", key_digest=b"d")
    assert again.duplicate
    assert again.events == first.events


def test_unfinished_reading_blocks_nobody(
    log: SqliteLog, reopen: Reopen, new_event: NewEvent
) -> None:
    """A reader that stopped in the middle blocks neither writers nor the journal."""
    log.append("a", [new_event] * 600, expect=0)
    reading = log.read()
    next(reading)
    raw = reopen(wait=Wait(0.0))
    assert raw.append("a", [new_event], expect=600).events[0].position == 601
    assert log.append("a", [new_event], expect=601).events[0].position == 602
    busy, *_ = raw.connection.raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    assert busy == 0
    assert sum(1 for _ in reading) == 599


def test_locked_log_is_busy_after_a_bounded_wait(
    raw: sqlite3.Connection, reopen: Reopen, new_event: NewEvent
) -> None:
    """A writer that waits too long gets an error; afterwards everything works."""
    log = reopen(wait=Wait(0.1))
    raw.execute("BEGIN IMMEDIATE")
    with pytest.raises(BusyError) as caught:
        log.append("a", [new_event], expect=0)
    assert caught.value.hint
    assert log.head().position == 0
    raw.execute("ROLLBACK")
    assert log.append("a", [new_event], expect=0).events[0].position == 1


def test_failed_batch_leaves_nothing(
    log: SqliteLog, raw: sqlite3.Connection, new_event: NewEvent
) -> None:
    """A large append that cannot be finished leaves no event and no transaction."""
    pages = log.connection.raw.execute("PRAGMA page_count").fetchone()[0]
    log.connection.raw.execute(f"PRAGMA max_page_count = {pages + 1}")
    with pytest.raises(RefusedError, match="full"):
        log.append("a", [new_event] * 500, expect=0)
    log.connection.raw.execute("PRAGMA max_page_count = 1000000")
    assert raw.execute("SELECT count(*) FROM events").fetchone() == (0,)
    assert log.append("a", [new_event] * 500, expect=0).events[-1].version == 500


def test_append_inside_a_foreign_transaction_is_a_mistake(
    log: SqliteLog, new_event: NewEvent
) -> None:
    """An event is never acknowledged while it could still be rolled back."""
    log.connection.raw.execute("BEGIN")
    with pytest.raises(RuntimeError, match="not durable"):
        log.append("a", [new_event], expect=0)
    log.connection.raw.execute("ROLLBACK")
