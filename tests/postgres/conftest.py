"""A log on a server, and further connections to the same log."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from os import urandom
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Wait
from sprintlog.engine.log.stores import wall_clock
from sprintlog.engine.log.stores.postgres.store import PostgresLog

from .server import TRIED, Server, server, why_not

Open = Callable[..., PostgresLog]


@pytest.fixture(params=TRIED)
def pg(request: pytest.FixtureRequest) -> Server:
    """Provide a server of every available version."""
    name: str = request.param
    if reason := why_not(name):
        pytest.skip(reason)
    return server(name)


@pytest.fixture
def newest() -> Server:
    """Provide only the server of the newest version."""
    if reason := why_not():
        pytest.skip(reason)
    return server()


@pytest.fixture
def log(pg: Server, tmp_path: Path) -> Iterator[PostgresLog]:
    """Provide a new, empty log."""
    with closing(made(pg.new_url(), tmp_path / "beside")) as log:
        yield log


@pytest.fixture
def reopen(log: PostgresLog) -> Iterator[Open]:
    """Provide a function that opens the log again, as another machine does."""
    with ExitStack() as stack:

        def reopen(**options: Any) -> PostgresLog:
            given = {"clock": wall_clock, "entropy": urandom, "wait": Wait(2.0), **options}
            url = given.pop("url", f"{log.address.given}&log={log.address.log}")
            return stack.enter_context(closing(PostgresLog(url, **given)))

        yield reopen


@pytest.fixture
def raw(pg: Server) -> Iterator[psycopg.Connection[Any]]:
    """Provide a connection to the same database as its owner."""
    with psycopg.connect(pg.url(), autocommit=True) as connection:
        yield connection


def made(url: str, beside: Path | None = None, *, seconds: float = 5.0) -> PostgresLog:
    """Return a new log at an address."""
    if beside is not None:
        beside.mkdir(parents=True)
    return PostgresLog.create(
        url, clock=wall_clock, entropy=urandom, wait=Wait(seconds), beside=beside
    )


def note(number: int = 1, **changes: Any) -> NewEvent:
    """Return a small event."""
    given = {"type": "note-added", "payload": b'{"n":%d}' % number, "actor": "runtime"}
    return NewEvent(**{**given, "at": "2026-01-30T12:00:00Z", **changes})
