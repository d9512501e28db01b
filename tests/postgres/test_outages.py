"""Broken networks and crashed servers: no event is lost or duplicated."""

import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.log.port import Expect, Wait
from sprintlog.engine.log.stores.postgres.connection import CALLS_UNTIL_PREPARED
from sprintlog.engine.log.stores.postgres.rows import APPEND, APPEND_NEXT

from .conftest import made, note
from .outages import APPEND_UNSETTLED, Writers, append_call, faults_of, followed, opened
from .proxy import FAULTS, LOSE_ANSWER, Proxy
from .server import NEWEST, Server, programs_of, why_not


@pytest.fixture
def new_log(newest: Server) -> str:
    """Provide the name of a new log."""
    with closing(made(newest.new_url())) as log:
        return log.address.log


@pytest.fixture(scope="module")
def crashing() -> Iterator[Server]:
    """Start a separate server that can be down without affecting other tests."""
    if reason := why_not():
        pytest.skip(reason)
    server = Server(programs_of(NEWEST))
    yield server
    server.remove()


@pytest.fixture
def lazy() -> Iterator[Server]:
    """Start a server without background writes for ten seconds."""
    if reason := why_not():
        pytest.skip(reason)
    server = Server(programs_of(NEWEST), settings="wal_writer_delay = 10s\n")
    yield server
    server.remove()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("count", [1, 4])
def test_a_network_that_breaks_loses_and_doubles_nothing(
    newest: Server, new_log: str, count: int
) -> None:
    """With torn requests and answers lost after the COMMIT, each event exists once.

    This holds for a single writer and for several.
    """
    proxy = Proxy(newest.port, share=0.3, seed=7)
    url = newest.url_by_tcp(new_log, port=proxy.port)
    writers = Writers(url, writers=count, appends=120 // count)
    writers.start()
    writers.wait()
    proxy.close()
    assert {*proxy.done} == {*FAULTS}
    assert faults_of(newest.url(new_log), writers) == []


@pytest.mark.parametrize("key", [None, "k"])
def test_an_append_whose_answer_was_lost_is_found(
    newest: Server, new_log: str, key: str | None
) -> None:
    """It is acknowledged as a new event, not as a duplicate, with and without a key."""
    proxy = Proxy(newest.port, share=0.0, seed=1)
    with closing(opened(newest.url_by_tcp(new_log, port=proxy.port))) as log:
        log.append("a", [note(1)], expect=0)
        proxy._fault = lambda said: LOSE_ANSWER if not proxy.done else None  # type: ignore[method-assign]
        given = {} if key is None else {"key": key, "key_digest": bytes(32)}
        appended = log.append("a", [note(2), note(3)], expect=1, **given)  # type: ignore[arg-type]
        assert proxy.done == {LOSE_ANSWER: 1}
        assert not appended.duplicate
        assert appended.events == [*log.read()][1:]
        assert log.append("a", [note(4)], expect=3).events[0].position == 4
    proxy.close()


def test_who_waits_in_vain_says_that_it_may_be_there(newest: Server, new_log: str) -> None:
    """If the server stays away after a request, one sentence states the next step."""
    proxy = Proxy(newest.port, share=0.0, seed=1)
    url = newest.url_by_tcp(new_log, port=proxy.port)
    with closing(opened(url, Wait(0.5))) as log:
        log.append("a", [note(1)], expect=0)
        proxy._fault = lambda said: LOSE_ANSWER  # type: ignore[method-assign]
        with pytest.raises(SprintlogError, match="may or may not be in the log") as caught:
            log.append("a", [note(2)], expect=Expect.ANY, key="k", key_digest=bytes(32))
    assert "same key" in str(caught.value.hint)
    proxy.close()
    with closing(opened(newest.url(new_log))) as log:
        again = log.append("a", [note(2)], expect=Expect.ANY, key="k", key_digest=bytes(32))
        assert again.duplicate
        assert log.last_position() == 2


def test_a_server_that_crashes_loses_and_doubles_nothing(crashing: Server) -> None:
    """Sixteen writers continue through crashes in the middle of their appends."""
    url = crashing.new_url()
    made(url).close()
    writers = Writers(url, writers=16, appends=4)
    writers.may_end.clear()
    writers.start()
    for _ in range(2):
        told = sum(writers.acknowledged.values())
        while writers.is_going_on() and sum(writers.acknowledged.values()) < told + 40:
            time.sleep(0.01)
        crashing.stop("immediate")
        crashing.start()
    writers.may_end.set()
    writers.wait()
    assert faults_of(url, writers) == []


def _append_unsettled(url: str) -> None:
    """Append as a writer does that dies before it waits for the disk."""
    with closing(opened(url)) as log:
        given = append_call(log._log, "a", [note(2)], at=1)
        ((answer,),) = log.connection.rows(APPEND_UNSETTLED, given)
        assert answer[0] == "appended"


@pytest.mark.long
def test_what_was_read_is_there_after_a_crash(lazy: Server) -> None:
    """An event that a reader was shown is durable, though its writer had not waited."""
    url = lazy.new_url()
    with closing(made(url)) as log:
        log.append("a", [note(1)], expect=0)
    for is_read in (False, True):
        _append_unsettled(url)
        if is_read:
            with closing(opened(url)) as log:
                seen = list(log.read())
                assert len(seen) == 2
        lazy.stop("immediate")
        lazy.start()
        with closing(opened(url)) as log:
            # An unread event was lost in the crash; otherwise this test would prove
            # nothing.
            assert log.last_position() == 1 + is_read
    with closing(opened(url)) as log:
        assert list(log.read()) == seen


@pytest.mark.long
def test_acknowledged_is_durable_whatever_a_role_says(lazy: Server) -> None:
    """Every kind of append waits for the disk, even if the session would not."""
    with closing(made(lazy.new_url())) as new:
        name = new.address.log
    impatient = f"{lazy.url(name)}&options=-csynchronous_commit%3Doff"
    for version, is_shared in enumerate((False, False, True)):
        with closing(opened(impatient)) as log:
            # The first is queued, the second queued after it, and the third blocks.
            if version == 1:
                log._own = [*log.read()][-1]
            log.pace.is_shared = is_shared
            log.append("a", [note()], expect=version)
        lazy.stop("immediate")
        lazy.start()
        with closing(opened(lazy.url(name))) as log:
            assert log.last_position() == version + 1


def test_a_reader_that_follows_sees_each_event_once(newest: Server, new_log: str) -> None:
    """With writers and others that roll back, positions arrive without gaps."""
    url = newest.url(new_log)
    assert followed(url, writers=8, appends=20, rollbacks=3) == []


def test_a_prepared_statement_may_go_away(newest: Server, new_log: str) -> None:
    """A pooler passes the next append to another server: it is recorded once."""
    with closing(opened(newest.url(new_log))) as log:
        for version in range(CALLS_UNTIL_PREPARED + 1):
            log.append("a", [note()], expect=version)
        log.connection.raw.execute("DEALLOCATE ALL")
        for _ in range(9):
            log.append("a", [note()], expect=log.version("a"))
        assert log.last_position() == CALLS_UNTIL_PREPARED + 10
        kept = "SELECT count(*) FROM pg_prepared_statements"
        assert log.connection.rows(kept) == [(0,)]


def test_a_statement_that_another_prepared_is_the_same(
    newest: Server, new_log: str
) -> None:
    """Two clients of a pooler share a server, so a name always means the same text."""
    with closing(opened(newest.url(new_log))) as log:
        raw = log.connection.raw
        raw.pgconn.prepare(APPEND.name, APPEND.sql, APPEND.types)
        for version in range(CALLS_UNTIL_PREPARED + 2):
            log.append("a", [note()], expect=version)
        assert log.last_position() == version + 1


def test_nothing_is_kept_in_a_session(newest: Server, new_log: str) -> None:
    """Session state that a pooler in transaction mode drops is not used."""
    with closing(opened(newest.url(new_log))) as log:
        changed = (
            "SELECT name, setting FROM pg_settings WHERE source = 'session' ORDER BY 1"
        )
        before = log.connection.rows(changed)
        for version in range(12):
            log.append("a", [note()], expect=version)
            list(log.read())
        assert log.connection.rows(changed) == before
        rows = log.connection.rows
        prepared = rows("SELECT name FROM pg_prepared_statements WHERE name <> ''")
        assert prepared == [(APPEND_NEXT.name.decode(),)]
        assert rows("SELECT count(*) FROM pg_cursors WHERE name <> ''") == [(0,)]
        held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        assert rows(held) == [(0,)]
