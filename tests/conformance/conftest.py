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
    """Return a clock that starts at a fixed time and advances one second per call."""
    seconds = count(1_769_774_400)
    return lambda: next(seconds) * 1000


def seeded(seed: bytes = b"seed") -> Entropy:
    """Return a source of bytes that look random but are always the same."""
    calls = count()

    def entropy(size: int) -> bytes:
        return shake_128(seed + str(next(calls)).encode()).digest(size)

    return entropy


def address(store: str, folder: Path) -> str:
    """Return the address of a new log in a store; skip if no server is available."""
    if store not in SERVERS:
        return f"{store}:{folder / 'log.db'}"
    if reason := why_not(store):
        pytest.skip(reason)
    return server(store).new_url()


def new_log(store: str, folder: Path, *, seed: bytes = b"seed") -> Log:
    """Return a new, empty log that does not wait for other processes."""
    folder = folder / store
    folder.mkdir(parents=True)
    url = address(store, folder)
    return create_log(
        url, clock=ticking(), entropy=seeded(seed), wait=Wait(0), beside=folder
    )


@pytest.fixture(params=EVERY_STORE)
def store(request: pytest.FixtureRequest) -> str:
    """Provide the name of every store."""
    name: str = request.param
    return name


@pytest.fixture
def log(store: str, tmp_path: Path) -> Iterator[Log]:
    """Provide a new, empty log of every store."""
    log = new_log(store, tmp_path)
    yield log
    log.close()


@pytest.fixture
def other(store: str, tmp_path: Path) -> Iterator[Log]:
    """Provide a second log of the same store."""
    log = new_log(store, tmp_path / "other", seed=b"another")
    yield log
    log.close()


@pytest.fixture(scope="session")
def open_all() -> Callable[[Path], dict[str, Log]]:
    """Provide a function that creates a log of every store, with the same random bytes."""
    return lambda folder: {name: new_log(name, folder) for name in AT_HAND}
