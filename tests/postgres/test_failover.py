"""A failover to a standby: what is preserved, what is lost, and how it is detected."""

import threading
from collections.abc import Iterator
from contextlib import closing
from os import urandom
from pathlib import Path

import pytest

from sprintlog.engine.errors import RefusedError, UnreadableError
from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.port import Expect, Wait
from sprintlog.engine.log.stores import wall_clock
from sprintlog.engine.log.stores.postgres.schema import UNSEEN, standbys
from sprintlog.engine.log.stores.postgres.store import PostgresLog
from sprintlog.projections.health import server
from sprintlog.projections.health.findings import NOTE, OK, WARNING

from .conftest import note
from .outages import opened
from .pairs import Pair, until, wait_while
from .proxy import LOSE_ANSWER, Proxy
from .server import why_not


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Provide a primary and its standby."""
    if reason := why_not():
        pytest.skip(reason)
    pair = Pair()
    yield pair
    pair.remove()


@pytest.mark.long
def test_an_answer_lost_with_the_primary_is_found_at_the_standby(pair: Pair) -> None:
    """A committed event without an answer is not recorded again."""
    name = pair.new_log()
    pair.be_waited_for()
    with closing(opened(pair.primary.url(name))) as log:
        assert server._replication(log).status == OK
        assert [*log.risks()] == []
    proxy = Proxy(pair.primary.port, share=0.0, seed=1)
    with closing(opened(pair.url(name, port=proxy.port))) as log:
        log.append("a", [note(1)], expect=0)

        def lose(said: bytes) -> str:
            # The primary can no longer be reached through this proxy.
            proxy.close()
            return LOSE_ANSWER

        proxy._fault = lose  # type: ignore[method-assign]

        def later() -> None:
            until(pair.primary, "SELECT count(*) = 2 FROM sprintlog.events")
            pair.fail_over()

        failing = threading.Thread(target=later)
        failing.start()
        appended = log.append("a", [note(2)], expect=Expect.ANY)
        failing.join(60)
        assert not appended.duplicate
        assert [event.version for event in appended.events] == [2]
        assert log.append("a", [note(3)], expect=2).events[0].position == 3
    with closing(opened(pair.standby.url(name))) as log:
        assert [e.payload for e in log.read()] == [b'{"n":%d}' % n for n in (1, 2, 3)]
        assert [*check_chain(log.read())] == []


@pytest.mark.long
def test_what_a_standby_was_behind_is_lost_and_noticed(pair: Pair, tmp_path: Path) -> None:
    """With an asynchronous standby, each machine that received more refuses to continue."""
    name = pair.new_log()
    url = pair.url(name)
    with closing(opened(url)) as writer:
        writer.append("a", [note(1)], expect=0)
        wait_while(pair.is_behind)
        assert server._replication(writer).status == WARNING
        assert ["none synchronous" in risk for risk in writer.risks()] == [True]
        writer.connection.raw.execute("SET ROLE sprintlog_writer")
        # A role without access to replication details does not report a lagging standby.
        assert [state for _, state in standbys(writer.connection)] == [UNSEEN]
        assert [*writer.risks()] == []
        assert server._replication(writer).status == NOTE
        writer.connection.raw.execute("RESET ROLE")
        pair.standby.stop("fast")
        writer.append("a", [note(2)], expect=1)
        with closing(_beside(url, tmp_path / "told")) as told:
            told.append("b", [note(3)], expect=0)
        pair.primary.stop("immediate")
        pair.standby.start()
        with closing(opened(pair.standby.url(name), Wait(0.2))) as reader:
            assert [event.payload for event in reader.read()] == [b'{"n":1}']
            with pytest.raises(RefusedError, match="is a standby"):
                reader.append("b", [note(4)], expect=0)
        pair.standby.promote()
        with pytest.raises(UnreadableError, match="its end is lost"):
            writer.append("a", [note(4)], expect=Expect.ANY)
    with pytest.raises(UnreadableError, match="its end is lost"):
        _beside(url, tmp_path / "told")
    # A client that received no more events finds an intact log without the refused append.
    with closing(_beside(url, tmp_path / "new")) as new:
        assert [event.payload for event in new.read()] == [b'{"n":1}']


def test_a_time_limit_is_no_answer_of_a_standby(pair: Pair) -> None:
    """Even with others, an append is acknowledged once the synchronous standby has it.

    A commit within the call would give up at the limit and continue, with only a warning.
    """
    name = pair.new_log()
    pair.be_waited_for()
    with closing(opened(pair.primary.url(name))) as log:
        log.append("a", [note(1)], expect=0)
        pair.standby.stop("fast")
        until(pair.primary, "SELECT count(*) = 0 FROM pg_stat_replication")
        log.pace.is_shared = True
        log.connection.raw.execute("SET statement_timeout = '200ms'")
        appending = threading.Thread(
            target=lambda: log.append("a", [note(2)], expect=Expect.ANY)
        )
        appending.start()
        appending.join(1.5)
        is_waiting = appending.is_alive()
        pair.standby.start()
        appending.join(60)
        assert is_waiting
        pair.fail_over()
    with closing(opened(pair.standby.url(name))) as log:
        assert [event.payload for event in log.read()] == [b'{"n":1}', b'{"n":2}']


def _beside(url: str, beside: Path) -> PostgresLog:
    """Open a log like a machine that stores the last head it received."""
    beside.mkdir(exist_ok=True)
    return PostgresLog(
        url, clock=wall_clock, entropy=urandom, wait=Wait(20.0), beside=beside
    )
