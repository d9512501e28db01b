"""Every store under one suite: whoever is named in `STORES` is tried by all of it."""

from collections.abc import Callable, Iterator
from hashlib import shake_128
from itertools import count
from pathlib import Path

import pytest

from sprintlog.engine.log.port import Clock, Entropy, Log, Wait
from sprintlog.engine.log.stores import STORES, create_log


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


def new_log(store: str, folder: Path) -> Log:
    """Return a new, empty log that does not wait for others."""
    url = f"{store}:{folder / store / 'log'}"
    return create_log(url, clock=ticking(), entropy=seeded(), wait=Wait(0))


@pytest.fixture(params=STORES)
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
    log = new_log(store, tmp_path / "other")
    yield log
    log.close()


@pytest.fixture(scope="session")
def open_all() -> Callable[[Path], dict[str, Log]]:
    """Give a function that makes one log of every store, all with the same chance."""
    return lambda folder: {name: new_log(name, folder) for name in STORES}
