"""Acknowledged events are safe with any settings of a role, a server or a database."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest
from psycopg import errors as codes

from sprintlog.engine.errors import RefusedError, SprintlogError
from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.port import Expect, Wait
from sprintlog.engine.log.stores.postgres.connection import SETTLE, ServerConnection
from sprintlog.engine.log.stores.postgres.store import PostgresLog

from .conftest import Open, made, note
from .outages import APPEND_UNSETTLED, append_call, opened
from .proxy import LOSE_ANSWER, Proxy
from .server import Server

STREAM = "sprint/auth"
LEVELS = ("read committed", "repeatable read", "serializable")
EVIL = """CREATE SCHEMA IF NOT EXISTS evil;
CREATE OR REPLACE FUNCTION evil.pg_logical_emit_message(
  boolean, text, text, boolean DEFAULT false) RETURNS pg_lsn LANGUAGE plpgsql AS $$
  BEGIN RAISE 'evil'; END $$;
CREATE OR REPLACE FUNCTION evil.current_setting(text) RETURNS text LANGUAGE plpgsql AS $$
  BEGIN RAISE 'evil'; END $$;
CREATE OR REPLACE FUNCTION evil.differs(text, text) RETURNS boolean LANGUAGE plpgsql AS $$
  BEGIN RAISE 'evil'; END $$;
DROP OPERATOR IF EXISTS evil.<> (text, text);
CREATE OPERATOR evil.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.differs);
DROP OPERATOR IF EXISTS evil.= (text, text);
CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.differs)"""
"""Objects that shadow an unqualified name."""


@pytest.mark.parametrize("level", LEVELS)
def test_a_fenced_append_is_refused_at_any_isolation(
    log: PostgresLog, raw: psycopg.Connection[Any], level: str
) -> None:
    """The append is refused even if it started before another worker took over."""
    log.leases._keep = lambda *given: None  # type: ignore[method-assign]
    log.connection.raw.execute(f"SET default_transaction_isolation = '{level}'")
    refused: list[BaseException] = []

    def late() -> None:
        try:
            log.append(STREAM, [note(2)], expect=Expect.ANY)
        except RefusedError as error:
            refused.append(error)

    with log.leases.hold(STREAM, holder="one", host="one"):
        log.append(STREAM, [note(1)], expect=0)
        raw.execute("UPDATE sprintlog.leases SET expires = now() - interval '1 s'")
        working = threading.Thread(target=late)
        with raw.transaction():
            asked = "SELECT granted FROM sprintlog.take_lease(%s, %s, 'two', 'two', 60)"
            assert raw.execute(asked, (log._log, STREAM)).fetchone() == (True,)
            working.start()
            _wait_for(raw, "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted")
        working.join()
    assert [str(error) for error in refused] == [
        f"nothing recorded: the lease of {STREAM} was lost to another worker"
    ]
    assert [event.payload for event in log.read()] == [b'{"n":1}']


def test_no_token_is_given_twice(
    log: PostgresLog, raw: psycopg.Connection[Any], reopen: Open
) -> None:
    """If a crash or failover lost a lease, its worker is fenced by the next one."""
    log.leases._keep = lambda *given: None  # type: ignore[method-assign]
    other = reopen()
    with log.leases.hold(STREAM, holder="one", host="one"):
        log.append(STREAM, [note(1)], expect=0)
        raw.execute("DELETE FROM sprintlog.leases")
        with other.leases.hold(STREAM, holder="two", host="two"):
            with pytest.raises(RefusedError, match="lost to another worker"):
                log.append(STREAM, [note(2)], expect=Expect.ANY)
            other.append(STREAM, [note(3)], expect=1)
    assert [event.payload for event in log.read()] == [b'{"n":1}', b'{"n":3}']


def test_no_log_has_the_number_of_one_that_was_lost(pg: Server) -> None:
    """Numbers are random, so a writer of a log lost in a failover meets no other log."""
    numbers = []
    for _ in range(3):
        with closing(made(pg.new_url())) as log:
            numbers.append(log._log)
    assert max(numbers) - min(numbers) > 100
    assert min(numbers) > 0


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_lost_answer_is_not_told_as_nothing(newest: Server, is_shared: bool) -> None:
    """If others prevent the search, the event may exist, and this is reported."""
    with closing(made(newest.new_url())) as new:
        name = new.address.log
    proxy = Proxy(newest.port, share=0.0, seed=1)
    url = newest.url_by_tcp(name, port=proxy.port)
    with closing(opened(url, Wait(0.5))) as log, psycopg.connect(newest.url()) as holding:
        log.append("a", [note(1)], expect=0)
        log.pace.is_shared = is_shared

        def lose(said: bytes) -> str | None:
            if proxy.done or b"sprintlog.append" not in said:
                if proxy.done and is_shared:
                    # The answer is not requested before the lock is held.
                    locking.join(10)
                return None
            if is_shared:
                # Release the lock after it was acquired, but before the answer.
                locking.start()
            else:
                holding.execute("SELECT FROM sprintlog.logs FOR UPDATE")
            return LOSE_ANSWER

        def lock() -> None:
            with psycopg.connect(newest.url(), autocommit=True) as seeing:
                _wait_for(
                    seeing,
                    "SELECT count(*) = 2 FROM sprintlog.events e JOIN sprintlog.logs l"
                    f" ON l.id = e.log WHERE l.name = '{name}'",
                )
            holding.execute("SELECT FROM sprintlog.logs FOR UPDATE")

        locking = threading.Thread(target=lock)
        proxy._fault = lose  # type: ignore[method-assign]
        with pytest.raises(SprintlogError) as caught:
            log.append("a", [note(2)], expect=Expect.ANY, key="k", key_digest=bytes(32))
        holding.rollback()
        assert "locked by another writer: an event being recorded may or may not be" in str(
            caught.value
        )
        assert "same key" in str(caught.value.hint)
        again = log.append("a", [note(2)], expect=Expect.ANY, key="k", key_digest=bytes(32))
        assert again.duplicate
        assert log.last_position() == 2
    proxy.close()


def test_a_call_that_is_cancelled_late_is_looked_for(
    log: PostgresLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shared append commits within its call, after which a time limit can still occur."""
    log.append("a", [note(1)], expect=0)
    log.pace.is_shared = True
    called = ServerConnection._called
    done: list[bool] = []

    def cancelled(self: ServerConnection, *given: Any) -> Any:
        answer = called(self, *given)
        if not done:
            done.append(True)
            raise codes.QueryCanceled("canceling statement due to statement timeout")
        return answer

    monkeypatch.setattr(ServerConnection, "_called", cancelled)
    appended = log.append("a", [note(2)], expect=1)
    assert not appended.duplicate
    assert appended.events == [*log.read()][1:]
    assert log.last_position() == 2


def test_no_search_path_leads_past_the_disk(
    log: PostgresLog, raw: psycopg.Connection[Any], reopen: Open
) -> None:
    """The wait is called by its full name, so other functions of that name are not used."""
    raw.execute(EVIL)
    writer = reopen()
    writer.connection.raw.execute("SET search_path = evil, pg_catalog")
    writer.pace.is_shared = True
    for number in range(3):
        writer.append("a", [note(number)], expect=number)
    raw.execute(APPEND_UNSETTLED, append_call(log._log, "b", [note()], at=None))
    assert writer.last_position() == 4
    writer.connection.ask(SETTLE, ())


def test_what_no_field_can_be_is_recorded_by_nobody(
    log: PostgresLog, raw: psycopg.Connection[Any]
) -> None:
    """A number below 0 has no valid header and therefore no hash: nothing is inserted."""
    given = [*append_call(log._log, "a", [note()], at=None)]
    (shape,) = [n for n, value in enumerate(given) if n > 12 and type(value) is int]
    for wrong in (-1, -1000):
        given[shape] = wrong
        with pytest.raises(codes.NotNullViolation):
            raw.execute(APPEND_UNSETTLED, given)
    log.append("a", [note()], expect=0)
    assert [*check_chain(log.read())] == []


def test_who_was_idle_for_too_long_comes_again(newest: Server) -> None:
    """After a server closed an idle connection, the client reconnects silently."""
    with closing(made(newest.new_url())) as log:
        log.append("a", [note(1)], expect=0)
        log.connection.raw.execute("SET idle_session_timeout = '50ms'")
        time.sleep(0.3)
        assert log.append("a", [note(2)], expect=1).events[0].position == 2


def test_text_is_utf8_whatever_the_address_says(log: PostgresLog, reopen: Open) -> None:
    """With a different encoding, wrong text would be recorded."""
    url = f"{log.address.given}&log={log.address.log}"
    assert "client_encoding=utf8" in url
    with closing(opened(url.replace("=utf8", "=latin1"))) as other:
        other.append("b\u00fc", [note()], expect=0)
    assert [event.stream for event in log.read()] == ["b\u00fc"]


def test_a_schema_of_somebody_else_is_not_written_to(newest: Server) -> None:
    """Their objects would run with the rights of the creator of the log."""
    with psycopg.connect(newest.url(), autocommit=True) as raw:
        raw.execute("DROP DATABASE IF EXISTS squatted")
        raw.execute("CREATE DATABASE squatted")
        if not raw.execute("SELECT FROM pg_roles WHERE rolname = 'mallory'").fetchall():
            raw.execute("CREATE ROLE mallory LOGIN")
    with _in(newest, "squatted") as raw:
        raw.execute("CREATE SCHEMA sprintlog AUTHORIZATION mallory")
        raw.execute(
            "CREATE TABLE sprintlog.migrations (number integer, name text, digest text)"
        )
        with pytest.raises(RefusedError, match="sprintlog belongs to mallory") as caught:
            made(newest.url("mine", database="squatted"))
        assert "run the command as mallory" in str(caught.value.hint)
        assert raw.execute("SELECT count(*) FROM sprintlog.migrations").fetchone() == (0,)


@contextmanager
def _in(server: Server, database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(server.url(database=database), autocommit=True) as raw:
        yield raw


def _wait_for(raw: psycopg.Connection[Any], asked: str) -> None:
    """Wait until a question is answered with yes."""
    while raw.execute(asked).fetchone() != (True,):
        time.sleep(0.01)
