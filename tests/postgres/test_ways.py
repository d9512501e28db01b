"""The three ways to append are equivalent: directly, queued, and together."""

import os
import threading
from contextlib import closing
from typing import Any, NamedTuple

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sprintlog.engine.errors import BusyError, ConflictError, KeyConflictError
from sprintlog.engine.log.append import Stamping
from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.port import Expect, Expected, Log, Wait
from sprintlog.engine.log.stores import wall_clock
from sprintlog.engine.log.stores.memory import MemoryLog
from sprintlog.engine.log.stores.postgres.rows import APPEND_NEXT, event_values
from sprintlog.engine.log.stores.postgres.store import PostgresLog
from tests.lengths import examples

from .conftest import Open, made, note
from .outages import APPEND_UNSETTLED, append_call, opened
from .proxy import LOSE_ANSWER, Proxy
from .server import Server, server, why_not


def next_call(own: RecordedEvent, log: int, number: int) -> tuple[Any, ...]:
    """Return the statements for one event directly after this writer's last one."""
    stamping = Stamping(wall_clock, os.urandom)
    prepared = stamping.prepare(own.stream, [note(number)], expect=own.version)
    return (
        *(log, own.position, own.hash, "10000", own.stream, own.version, None, None),
        *(prepared.stamps.recorded_at, *event_values(prepared)),
    )


def numbers(log: Log) -> list[bytes | None]:
    """Return the payloads of a log, whose chain must be valid."""
    events = list(log.read())
    assert list(check_chain(events)) == []
    return [event.payload for event in events]


def test_who_goes_on_alone_asks_for_no_lock(
    log: PostgresLog, raw: psycopg.Connection[Any], reopen: Open
) -> None:
    """After the writer's own last event there is no queue; other streams must queue."""
    writer = reopen(wait=Wait(0.1))
    writer.append("a", [note(1)], expect=0)
    with raw.transaction():
        raw.execute("SELECT FROM sprintlog.logs FOR UPDATE")
        writer.append("a", [note(2)], expect=1)
        with pytest.raises(BusyError, match="stays locked"):
            writer.append("b", [note(3)], expect=0)
    assert numbers(log) == [b'{"n":1}', b'{"n":2}']


def test_who_was_overtaken_queues(log: PostgresLog, reopen: Open) -> None:
    """Its event follows the other's once, and from then on both wait together."""
    other = reopen()
    log.append("a", [note(1)], expect=0)
    other.append("b", [note(2)], expect=0)
    appended = log.append("a", [note(3)], expect=1)
    assert not appended.duplicate
    assert (appended.events[0].position, appended.events[0].version) == (3, 2)
    assert log.pace.is_shared
    assert len(numbers(log)) == 3


def test_a_stream_that_another_moved_is_a_conflict(log: PostgresLog, reopen: Open) -> None:
    """A writer's memory does not decide: the log does."""
    other = reopen()
    log.append("a", [note(1)], expect=0)
    other.append("a", [note(2)], expect=1)
    with pytest.raises(ConflictError, match="version 2"):
        log.append("a", [note(3)], expect=1)
    assert numbers(log) == [b'{"n":1}', b'{"n":2}']


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_key_is_known_on_every_way(log: PostgresLog, is_shared: bool) -> None:
    """The first record under a key is returned, and another command is refused."""
    log.append("a", [note(0)], expect=0)
    given: dict[str, Any] = {"expect": Expect.ANY, "key": "k"}
    log.pace.is_shared = is_shared
    first = log.append("a", [note(1)], key_digest=bytes(32), **given)
    log.pace.is_shared = is_shared
    again = log.append("a", [note(1)], key_digest=bytes(32), **given)
    assert (first.duplicate, again.duplicate) == (False, True)
    assert again.events == first.events
    log.pace.is_shared = is_shared
    with pytest.raises(KeyConflictError):
        log.append("a", [note(2)], key_digest=b"x" * 32, **given)
    assert numbers(log) == [b'{"n":0}', b'{"n":1}']


@pytest.mark.parametrize("is_shared", [False, True])
def test_one_event_whose_answer_was_lost_is_found(newest: Server, is_shared: bool) -> None:
    """With and without others, the event exists once, and is acknowledged correctly."""
    with closing(made(newest.new_url())) as new:
        name = new.address.log
    proxy = Proxy(newest.port, share=0.0, seed=1)
    with closing(opened(newest.url_by_tcp(name, port=proxy.port))) as log:
        log.append("a", [note(1)], expect=0)
        log.pace.is_shared = is_shared
        proxy._fault = lambda said: LOSE_ANSWER if not proxy.done else None  # type: ignore[method-assign]
        appended = log.append("a", [note(2)], expect=1)
        assert proxy.done == {LOSE_ANSWER: 1}
        assert not appended.duplicate
        assert log.acknowledged() == log.head()
        assert log.append("a", [note(3)], expect=2).events[0].position == 3
        assert numbers(log) == [b'{"n":1}', b'{"n":2}', b'{"n":3}']
    proxy.close()


def test_nobody_comes_behind_what_is_not_decided(
    log: PostgresLog, raw: psycopg.Connection[Any], reopen: Open
) -> None:
    """While another event for the same position is undecided, the writer waits for it."""
    impatient = reopen(wait=Wait(0.1))
    impatient.append("a", [note(1)], expect=0)
    with raw.transaction(force_rollback=True):
        raw.execute(APPEND_UNSETTLED, append_call(log._log, "b", [note(2)], at=None))
        with pytest.raises(BusyError, match="stays locked"):
            impatient.append("a", [note(3)], expect=1)
    impatient.append("a", [note(4)], expect=1)
    assert numbers(log) == [b'{"n":1}', b'{"n":4}']


@pytest.mark.parametrize("stays", [False, True])
def test_a_queue_waits_for_who_does_not_queue(
    log: PostgresLog, raw: psycopg.Connection[Any], reopen: Open, stays: bool
) -> None:
    """An event in progress after its writer's own last one is waited for."""
    (own,) = log.append("a", [note(1)], expect=0).events
    other = reopen(wait=Wait(30.0))
    behind = threading.Thread(
        target=lambda: other.append("b", [note(3), note(4)], expect=0)
    )
    marks = ", ".join(["%b"] * len(APPEND_NEXT.types))
    with raw.transaction(force_rollback=not stays):
        asked = f"SELECT sprintlog.append_next({marks})"
        ((hash_,),) = raw.execute(asked, next_call(own, log._log, 2)).fetchall()
        assert hash_ is not None
        behind.start()
        behind.join(0.3)
        assert behind.is_alive()
    behind.join(30)
    expected = [1, 2, 3, 4] if stays else [1, 3, 4]
    assert numbers(log) == [b'{"n":%d}' % n for n in expected]
    assert [e.version for e in log.read_stream("b")] == [1, 2]


def test_behind_what_is_not_the_end_nothing_is_put(
    log: PostgresLog, raw: psycopg.Connection[Any]
) -> None:
    """A position, hash, stream or version other than that of the end is refused."""
    log.append("a", [note(1)], expect=0)
    (own,) = log.append("a", [note(2)], expect=1).events
    number = log._log
    right = next_call(own, number, 3)
    marks = ", ".join(["%b"] * len(right))
    wrong = [
        (number, 1, own.hash, *right[3:]),
        (number, 3, own.hash, *right[3:]),
        (*right[:2], bytes(32), *right[3:]),
        (*right[:4], "b", *right[5:]),
        (*right[:5], 1, *right[6:]),
        (*right[:5], 7, *right[6:]),
        (number + 1, *right[1:]),
    ]
    asked = f"SELECT sprintlog.append_next({marks})"
    answers = [raw.execute(asked, values).fetchall()[0][0] for values in wrong]
    assert answers == [None] * len(wrong)
    assert len(numbers(log)) == 2
    (accepted, repeated) = [raw.execute(asked, right).fetchall()[0][0] for _ in range(2)]
    assert (accepted, repeated) == ([*log.read()][-1].hash, None)
    assert len(numbers(log)) == 3


def test_a_plan_made_for_an_empty_table_serves_a_full_one(newest: Server) -> None:
    """A connection opened at the first event reads only a few rows for the last one.

    The server plans a function once per session, from its statistics of a new table.
    """
    with psycopg.connect(newest.url(), autocommit=True) as raw:
        raw.execute("CREATE DATABASE fresh")
        url = newest.url("one", database="fresh")
        with closing(made(url)) as log:
            other = opened(url)
            count = 400
            for turn in range(count):
                log.append("a", [note(turn)], expect=Expect.ANY)
                if turn % 40 > 20:
                    other.append("b", [note(turn)], expect=Expect.ANY)
            other.close()
            log.connection.raw.execute("SELECT pg_stat_force_next_flush()")
            log.append("a", [note()], expect=Expect.ANY)
            (read,) = log.connection.rows(
                "SELECT (SELECT seq_tup_read FROM pg_stat_user_tables"
                " WHERE relname = 'events'), sum(idx_tup_read)::bigint"
                " FROM pg_stat_user_indexes WHERE relname = 'events'"
            )
            appends = log.last_position()
        assert read[0] < 20 * appends, read
        assert read[1] < 20 * appends, read
        raw.execute("DROP DATABASE fresh WITH (FORCE)")


class Turn(NamedTuple):
    """The appends of one of several writers."""

    writer: int
    stream: str
    events: int
    expect: str
    key: int | None


turns = st.lists(
    st.builds(
        Turn,
        writer=st.sampled_from([0, 0, 0, 0, 1, 2]),
        stream=st.sampled_from(["a", "a", "a", "b"]),
        events=st.sampled_from([1, 1, 1, 1, 3]),
        expect=st.sampled_from(["any", "any", "right", "right", "wrong", "none", "exists"]),
        key=st.none() | st.integers(0, 4),
    ),
    max_size=60,
)


@settings(
    max_examples=examples(15),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(turns=turns)
def test_some_writers_are_answered_as_one_in_memory_is(turns: list[Turn]) -> None:
    """All ways to append agree on positions, versions, duplicates and refusals."""
    if reason := why_not():
        pytest.skip(reason)
    model = MemoryLog(clock=wall_clock, entropy=os.urandom)
    url = server().new_url()
    first = made(url)
    writers = [first, opened(url), opened(url)]
    try:
        for number, turn in enumerate(turns):
            answer = _answer(writers[turn.writer], model, turn, number)
            assert answer == _answer(model, model, turn, number)
        ours = [(e.position, e.stream, e.version, e.key, e.payload) for e in first.read()]
        assert ours == [
            (e.position, e.stream, e.version, e.key, e.payload) for e in model.read()
        ]
        assert list(check_chain(first.read())) == []
    finally:
        for writer in writers:
            writer.close()


def _answer(log: Log, model: MemoryLog, turn: Turn, number: int) -> object:
    """Return the answers of a log to a turn, without random values and times."""
    version = model.version(turn.stream)
    expects: dict[str, Expected] = {
        "any": Expect.ANY, "right": version, "wrong": version + 1,
        "none": Expect.NONE, "exists": Expect.EXISTS,
    }  # fmt: skip
    given: dict[str, Any] = {}
    if turn.key is not None:
        given = {"key": f"k{turn.key}", "key_digest": bytes([turn.key % 2]) * 32}
    events = [note(number + at) for at in range(turn.events)]
    try:
        appended = log.append(turn.stream, events, expect=expects[turn.expect], **given)
    except (ConflictError, KeyConflictError) as error:
        return type(error).__name__, str(error)
    return appended.duplicate, [(e.position, e.version) for e in appended.events]
