"""Every store under one suite: every entry of `STORES` is tested by all of it."""

from collections.abc import Callable, Iterator
from hashlib import shake_128
from itertools import count
from pathlib import Path

import pytest

from sprintlog.engine.log.port import Clock, Entropy, Log, Wait
from sprintlog.engine.log.stores import STORES, create_log
from tests.postgres.server import NEWEST, SERVERS, TRIED, server, why_not

EVERY_STORE = [*(name for name in STORES if name != "postgresql"), *TRIED]
"""Every store; the one on a server with each version of that."""
AT_HAND = [*(name for name in STORES if name != "postgresql"), NEWEST]


def ticking() -> Clock:
    """Return a clock that starts at a fixed moment and goes on a second a look."""
    seconds = count(1_769_774_400)
    return lambda: next(seconds) * 1000


def seeded(seed: bytes = b"seed") -> Entropy:
    """Return a source of bytes that looks like chance and is the same every time."""
    calls = count()

    def entropy(size: int) -> bytes:
        return shake_128(seed + str(next(calls)).encode()).digest(size)

    return entropy


def address(store: str, folder: Path) -> str:
    """Return where a new log of a store is; skip where no server can be had."""
    if store not in SERVERS:
        return f"{store}:{folder / 'log.db'}"
    if reason := why_not(store):
        pytest.skip(reason)
    return server(store).new_url()


def new_log(store: str, folder: Path, *, seed: bytes = b"seed") -> Log:
    """Return a new, empty log that does not wait for others."""
    folder = folder / store
    folder.mkdir(parents=True)
    url = address(store, folder)
    return create_log(
        url, clock=ticking(), entropy=seeded(seed), wait=Wait(0), beside=folder
    )


@pytest.fixture(params=EVERY_STORE)
def store(request: pytest.FixtureRequest) -> str:
    """Give the name of every store."""
    name: str = request.param
    return name


@pytest.fixture
def log(store: str, tmp_path: Path) -> Iterator[Log]:
    """Give a new, empty log of every store."""
    log = new_log(store, tmp_path)
    yield log
    log.close()


@pytest.fixture
def other(store: str, tmp_path: Path) -> Iterator[Log]:
    """Give a second log of the same store."""
    log = new_log(store, tmp_path / "other", seed=b"another")
    yield log
    log.close()


@pytest.fixture(scope="session")
def open_all() -> Callable[[Path], dict[str, Log]]:
    """Give a function that makes one log of every store, all with the same chance."""
    return lambda folder: {name: new_log(name, folder) for name in AT_HAND}
