"""PostgreSQL's specifics: its settings, its schema, its views, and lost events."""

from os import urandom
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sprintlog.engine.errors import (
    BusyError,
    NotFoundError,
    RefusedError,
    SprintlogError,
    UnreadableError,
)
from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.envelope import Head
from sprintlog.engine.log.port import Expect, Wait
from sprintlog.engine.log.stores import wall_clock
from sprintlog.engine.log.stores.memory import MemoryLog
from sprintlog.engine.log.stores.postgres import schema
from sprintlog.engine.log.stores.postgres.store import PostgresLog

from .conftest import Open, made, note
from .server import Server


def test_logs_of_a_database_do_not_know_one_another(pg: Server, log: PostgresLog) -> None:
    """Each log has its own positions, keys and chain."""
    other = made(pg.new_url())
    for one in (log, other):
        one.append("a", [note()], expect=0, key="k", key_digest=bytes(32))
        one.append("a", [note()], expect=1)
    assert [e.position for e in other.read()] == [e.position for e in log.read()] == [1, 2]
    assert list(check_chain(other.read())) == []
    other.close()


def test_a_log_is_made_once(pg: Server) -> None:
    """An existing name is refused, and a missing one is not found."""
    url = pg.new_url()
    made(url).close()
    with pytest.raises(RefusedError, match="already exists at postgresql://"):
        made(url)
    with pytest.raises(NotFoundError, match="there is no log"):
        PostgresLog(pg.new_url(), clock=lambda: 0, entropy=bytes)


def test_a_database_without_a_log_is_not_found(
    pg: Server, raw: psycopg.Connection[Any]
) -> None:
    """Without the schema, the error names the command that creates it."""
    raw.execute("DROP DATABASE IF EXISTS empty")
    raw.execute("CREATE DATABASE empty")
    url = pg.url("x", database="empty")
    with pytest.raises(NotFoundError, match="no schema named sprintlog") as caught:
        PostgresLog(url, clock=lambda: 0, entropy=bytes)
    assert "init --log" in str(caught.value.hint)


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_server_that_forgets_is_refused(
    log: PostgresLog, raw: psycopg.Connection[Any], reopen: Open, setting: str
) -> None:
    """Without fsync nothing is acknowledged, unless the address allows it explicitly."""
    raw.execute(f"ALTER SYSTEM SET {setting} = off")
    try:
        raw.execute("SELECT pg_reload_conf()")
        _wait_for(raw, setting, "off")
        with pytest.raises(RefusedError, match=f"{setting} must be on"):
            reopen()
        forgetful = reopen(url=f"{log.address.given}&log={log.address.log}&unsafe=yes")
        forgetful.append("a", [note()], expect=0)
        (said,) = forgetful.risks()
        assert said.startswith(f"{setting} off: acknowledged events can be lost")
    finally:
        raw.execute(f"ALTER SYSTEM RESET {setting}")
        raw.execute("SELECT pg_reload_conf()")
        _wait_for(raw, setting, "on")
    assert [*log.risks()] == []


def _wait_for(raw: psycopg.Connection[Any], setting: str, value: str) -> None:
    for _ in range(1000):
        if raw.execute(f"SHOW {setting}").fetchall() == [(value,)]:
            return
        raw.execute("SELECT pg_sleep(0.01)")
    raise AssertionError(setting)


def test_a_newer_schema_is_not_written(
    log: PostgresLog, raw: psycopg.Connection[Any], reopen: Open
) -> None:
    """The older program refuses immediately; foreign tables are reported differently."""
    insert = "INSERT INTO sprintlog.migrations (number, name, digest) VALUES (99, 'x', 'y')"
    raw.execute(insert)
    try:
        with pytest.raises(UnreadableError, match="schema version 99, but this sprintlog"):
            reopen()
    finally:
        raw.execute("DELETE FROM sprintlog.migrations WHERE number = 99")
    first, *rest = [(step.number, step.digest) for step in schema.steps()]
    with pytest.raises(UnreadableError, match="was not created by this sprintlog"):
        schema.check_applied([(first[0], "another"), *rest])
    with pytest.raises(RefusedError, match="this sprintlog requires"):
        schema.check_applied([])


def test_a_server_that_lost_its_end_is_noticed(
    log: PostgresLog, raw: psycopg.Connection[Any], reopen: Open, tmp_path: Path
) -> None:
    """A promoted standby that was behind lacks an acknowledged event: nothing continues.

    The next append is refused before anything is recorded, and so is opening the log.
    """
    log.append("a", [note(1)], expect=0)
    log.append("a", [note(2)], expect=1)
    first, _ = log.read()
    _cut(raw, log, Head(1, first.hash))
    with pytest.raises(UnreadableError, match="its end is lost"):
        log.append("a", [note(3)], expect=Expect.ANY)
    with pytest.raises(UnreadableError, match="its end is lost"):
        reopen(beside=tmp_path / "beside")
    assert log.last_position() == 1


def test_an_end_that_was_copied_is_missed_as_one_that_was_appended(
    log: PostgresLog, raw: psycopg.Connection[Any]
) -> None:
    """The last received head counts, not the last event of this client."""
    log.append("a", [note(1)], expect=0)
    later = MemoryLog(clock=wall_clock, entropy=urandom)
    with later.taking_over() as take:
        take([*log.read()])
    later.append("b", [note(2)], expect=0)
    with log.taking_over() as take:
        take([*later.read()][1:])
    _cut(raw, log, Head(1, next(log.read()).hash))
    with pytest.raises(UnreadableError, match="its end is lost"):
        log.append("a", [note(3)], expect=1)
    assert log.last_position() == 1


def _cut(raw: psycopg.Connection[Any], log: PostgresLog, head: Head) -> None:
    """Reset a log to a head, as no client can."""
    raw.execute("ALTER TABLE sprintlog.events DISABLE TRIGGER events_never_go")
    raw.execute(
        "DELETE FROM sprintlog.events USING sprintlog.logs l WHERE log = l.id"
        " AND l.name = %s AND events.position > %s",
        (log.address.log, head.position),
    )
    raw.execute("ALTER TABLE sprintlog.events ENABLE ALWAYS TRIGGER events_never_go")


def test_functions_of_somebody_else_are_noticed(
    log: PostgresLog, raw: psycopg.Connection[Any]
) -> None:
    """The server's chaining is recomputed before an append is acknowledged."""
    definition = raw.execute(
        "SELECT pg_get_functiondef('sprintlog.header'::regproc)"
    ).fetchall()[0][0]
    raw.execute(definition.replace(r"'\x9f'::bytea", r"'\x9e'::bytea"))
    try:
        with pytest.raises(UnreadableError, match="chained the event differently"):
            log.append("a", [note()], expect=0)
    finally:
        raw.execute(definition)


def test_a_log_that_stays_locked_is_busy(
    log: PostgresLog, raw: psycopg.Connection[Any], reopen: Open
) -> None:
    """A holder of a log beyond the wait is reported, and nothing is recorded."""
    impatient = reopen(wait=Wait(0.1))
    with raw.transaction():
        raw.execute("SELECT FROM sprintlog.logs FOR UPDATE")
        with pytest.raises(BusyError, match="stays locked"):
            impatient.append("a", [note()], expect=0)
    impatient.append("a", [note()], expect=0)


def test_sql_users_see_json(log: PostgresLog, raw: psycopg.Connection[Any]) -> None:
    """The view has the payload as JSONB and as exact text, so unusual JSON is not lost."""
    odd = b'{"b":1,"a":2,"a":3,"t":"\\u0000"}'
    log.append("a", [note(7), note(payload=odd)], expect=0)
    rows = raw.execute(
        "SELECT position, data, text FROM sprintlog.v_events WHERE log = %s ORDER BY 1",
        (log.address.log,),
    ).fetchall()
    assert rows == [(1, {"n": 7}, '{"n":7}'), (2, None, odd.decode())]
    streams = "SELECT stream, version FROM sprintlog.v_streams WHERE log = %s"
    assert raw.execute(streams, (log.address.log,)).fetchall() == [("a", 2)]


def test_nothing_is_in_public(log: PostgresLog, raw: psycopg.Connection[Any]) -> None:
    """Everything of a log is in the schema `sprintlog`, and no sequence counts for it."""
    found = raw.execute(
        "SELECT relname, relkind FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        " OR (relkind = 'S' AND relnamespace = 'sprintlog'::regnamespace)"
    ).fetchall()
    assert found == []


def test_what_belongs_to_another_log_is_thrown_away(
    pg: Server, log: PostgresLog, tmp_path: Path
) -> None:
    """Saved states and digests in a folder belong to one log, identified by its id."""
    log.checkpoints.save("a", 1, b"state", format_=1)
    log.digests.know("PROGRESS.yaml", bytes(32), version=1)
    log.close()
    other = PostgresLog.create(
        pg.new_url(), clock=lambda: 0, entropy=bytes, beside=tmp_path / "beside"
    )
    assert other.checkpoints.load("a", 1, format_=1) is None
    assert other.digests.written("PROGRESS.yaml") == []
    other.close()


def test_a_server_that_is_away_is_said_to_be(tmp_path: Path) -> None:
    """After the wait there is a one-sentence error without the password."""
    said: list[str] = []
    url = f"postgresql://me:secret@/db?host={tmp_path}&log=x"
    wait = Wait(0.3, say=said.append, quiet_seconds=0.0)
    with pytest.raises(SprintlogError, match="cannot be reached") as caught:
        PostgresLog(url, clock=lambda: 0, entropy=bytes, wait=wait)
    assert said
    assert "secret" not in " ".join([*said, caught.value.message, str(caught.value.hint)])
