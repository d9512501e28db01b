"""One worker per stream across machines, and the handling of a lost lease."""

import time
from contextlib import closing
from pathlib import Path

import pytest

from sprintlog.engine.errors import BusyError, RefusedError
from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores import wall_clock
from sprintlog.engine.log.stores.postgres.store import PostgresLog

from .conftest import Open, note
from .outages import opened

STREAM = "sprint/auth"


def hold(log: PostgresLog, host: str):  # type: ignore[no-untyped-def]
    """Return a lease for a host that is not acquired yet."""
    return log.leases.hold(STREAM, holder=host, host=host)


def test_one_host_works_on_a_stream(log: PostgresLog, reopen: Open) -> None:
    """Another host is refused with the worker's name, and can work once it ended."""
    other = reopen()
    with hold(log, "one"):
        held = other.leases.of(STREAM)
        assert held is not None
        assert held.host == "one"
        assert 0 < held.seconds_left <= log.leases.seconds
        with pytest.raises(BusyError, match="worked on by one since") as caught:
            hold(other, "two").__enter__()
        assert caught.value.fields["host"] == "one"
        with other.leases.hold("sprint/other", holder="two", host="two"):
            pass
    assert other.leases.of(STREAM) is None
    with hold(other, "two"):
        assert log.leases.of(STREAM) is not None


def test_who_is_silent_for_too_long_is_taken_over(log: PostgresLog, reopen: Open) -> None:
    """Its late append is refused and nothing is recorded; other workers continue."""
    other = reopen()
    log.leases.seconds = 0.05
    log.leases._keep = lambda *given: None  # type: ignore[method-assign]
    with hold(log, "one"):
        log.append(STREAM, [note(1)], expect=0)
        time.sleep(0.1)
        with hold(other, "two"):
            with pytest.raises(RefusedError, match="lost to another worker"):
                log.append(STREAM, [note(2)], expect=1)
            with pytest.raises(RefusedError, match="lost to another worker"):
                log.append(STREAM, [note(2)], expect=Expect.ANY)
            other.append(STREAM, [note(3)], expect=1)
            log.append("another", [note(4)], expect=0)
    assert [e.payload for e in log.read_stream(STREAM)] == [b'{"n":1}', b'{"n":3}']


def test_a_worker_that_is_there_keeps_its_lease(log: PostgresLog, reopen: Open) -> None:
    """The worker sends heartbeats repeatedly, even while its agent works for long."""
    other = reopen()
    log.leases.seconds = 0.4
    with hold(log, "one"):
        first = other.leases.of(STREAM)
        time.sleep(1.0)
        later = other.leases.of(STREAM)
        with pytest.raises(BusyError):
            hold(other, "two").__enter__()
        assert first is not None
        assert later is not None
        assert (later.since, later.heartbeat > first.heartbeat) == (first.since, True)
        log.append(STREAM, [note()], expect=0)


def test_a_host_takes_its_own_lease_back(log: PostgresLog, reopen: Open) -> None:
    """After a kill on the same host, the next process need not wait."""
    log.leases._keep = lambda *given: None  # type: ignore[method-assign]
    held = hold(log, "one")
    held.__enter__()
    other = reopen()
    with hold(other, "one"):
        other.append(STREAM, [note()], expect=0)
        with pytest.raises(RefusedError, match="lost to another worker"):
            log.append(STREAM, [note()], expect=1)
    # By then, the first holder releases a lease that it no longer owns.
    with hold(other, "one"):
        held.__exit__(None, None, None)
        assert other.leases.of(STREAM) is not None


@pytest.mark.parametrize("days", [-400, 400])
def test_clocks_of_machines_say_nothing_of_leases(
    log: PostgresLog, reopen: Open, days: int
) -> None:
    """A machine with a wrong clock acquires, holds and loses a lease like any other.

    Its events have its time, in the order of the log.
    """
    wrong = reopen(clock=lambda: wall_clock() + days * 86_400_000)
    with hold(wrong, "wrong"):
        held = log.leases.of(STREAM)
        assert held is not None
        assert 0 < held.seconds_left <= log.leases.seconds
        with pytest.raises(BusyError, match="worked on by wrong"):
            hold(log, "right").__enter__()
        wrong.append(STREAM, [note(1)], expect=0)
    with hold(log, "right"):
        with pytest.raises(BusyError, match="worked on by right"):
            hold(wrong, "wrong").__enter__()
        log.append(STREAM, [note(2)], expect=1)
    first, second = log.read()
    assert (first.recorded_at < second.recorded_at) == (days < 0)
    assert [*check_chain(log.read())] == []


def test_who_works_on_nothing_is_not_fenced(log: PostgresLog, tmp_path: Path) -> None:
    """A person records in a sprint while a worker of another machine is at it."""
    with (
        closing(opened(f"{log.address.given}&log={log.address.log}")) as person,
        hold(log, "one"),
    ):
        person.append(STREAM, [note(1)], expect=Expect.ANY)
        log.append(STREAM, [note(2)], expect=Expect.ANY)
    assert log.version(STREAM) == 2
