"""Every store under one suite: a further store joins by one line in `STORES`."""

from collections.abc import Callable, Iterator
from hashlib import shake_128
from itertools import count
from pathlib import Path

import pytest

from sprintlog.engine.log.port import Clock, Entropy, Log
from sprintlog.engine.log.stores.memory import MemoryLog
from sprintlog.engine.log.stores.sqlite.store import SqliteLog

Open = Callable[[Path, Clock, Entropy], Log]

STORES: dict[str, Open] = {
    "memory": lambda _folder, clock, entropy: MemoryLog(clock, entropy),
    "sqlite": lambda folder, clock, entropy: SqliteLog.create(
        folder / "log.db", clock=clock, entropy=entropy
    ),
}


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


@pytest.fixture(params=STORES)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Log]:
    """Give a new, empty log of every store."""
    log = STORES[request.param](tmp_path, ticking(), seeded())
    yield log
    log.close()


@pytest.fixture(scope="session")
def open_all() -> Callable[[Path], dict[str, Log]]:
    """Give a function that makes one log of every store, all with the same chance."""
    return lambda folder: {
        name: make(folder, ticking(), seeded()) for name, make in STORES.items()
    }
