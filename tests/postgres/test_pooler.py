"""A log works through a pooler in transaction mode, because it requires no session."""

import time
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from sprintlog.engine.errors import BusyError
from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.envelope import Span
from tests import needs

from .conftest import made, note
from .outages import Writers, faults_of, followed, opened
from .pooler import POOL_SIZE, Pooler, pooled
from .server import NoServerError


@pytest.fixture(scope="module")
def pooler() -> Iterator[Pooler]:
    """Provide a pooler with fewer connections than clients."""
    try:
        pooler = pooled()
    except NoServerError as error:
        pytest.skip(needs.line("pgbouncer", f"apt install pgbouncer ({error})"))
    yield pooler
    pooler.close()


@pytest.fixture
def url(pooler: Pooler) -> str:
    """Provide the address of a new log, created through the pooler."""
    url = pooler.new_url()
    made(url).close()
    return url


def test_many_writers_share_few_connections(url: str) -> None:
    """With four writers per connection and prepared appends, nothing is lost or doubled."""
    writers = Writers(url, writers=4 * POOL_SIZE, appends=20)
    writers.start()
    writers.wait()
    assert faults_of(url, writers) == []


def test_a_reader_follows_through_it(url: str) -> None:
    """With writers and others that roll back, positions arrive without gaps."""
    assert followed(url, writers=6, appends=15, rollbacks=2) == []


def test_an_append_comes_back_to_another_connection(url: str) -> None:
    """A statement prepared on one is missing on the next: the event is recorded."""
    with closing(opened(url)) as log, closing(opened(url)) as other:
        for version in range(0, 24, 2):
            log.append("a", [note()], expect=version)
            # The process in a transaction uses a separate connection in the meantime.
            with (
                psycopg.connect(log.address.given, autocommit=True) as raw,
                raw.transaction(),
            ):
                raw.execute("SELECT 1")
                other.append("a", [note()], expect=version + 1)
        assert log.last_position() == 24
        assert [*check_chain(log.read())] == []


def test_a_log_is_copied_and_erased_through_it(pooler: Pooler, url: str) -> None:
    """Operations that need a transaction of several calls, or a lock, also work."""
    with closing(opened(url)) as log, closing(made(pooler.new_url())) as other:
        log.append("a", [note(n) for n in range(900)], expect=0)
        log.erase([Span("a", 2, 2)], stream="erasures", said=note(3))
        with other.taking_over() as take:
            take([*log.read()])
        assert other.head() == log.head()
        assert [*check_chain(other.read())] == []
        assert [*other.problems()] == []


def test_a_lease_is_held_through_it(url: str) -> None:
    """Heartbeats use other connections, and another process learns the worker's name."""
    with closing(opened(url)) as log, closing(opened(url)) as other:
        log.leases.seconds = 0.4
        with log.leases.hold("s", holder="one", host="one"):
            time.sleep(0.8)
            with pytest.raises(BusyError, match="worked on by one"):
                other.leases.hold("s", holder="two", host="two").__enter__()
            log.append("s", [note()], expect=0)
