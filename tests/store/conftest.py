"""A log in a separate folder, and raw connections to it."""

import sqlite3
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import count
from pathlib import Path

import pytest

from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.stores.sqlite.store import SqliteLog

DRAFT = NewEvent(
    type="note-added", payload=b"{}", at="2026-01-30T12:00:00Z", actor="runtime"
)


def entropy_of(seed: str) -> Callable[[int], bytes]:
    """Return a source of bytes that is the same every time."""
    calls = count()

    def entropy(size: int) -> bytes:
        block = sha256(f"{seed} {next(calls)}".encode()).digest()
        return (block * (size // len(block) + 1))[:size]

    return entropy


@pytest.fixture
def new_event() -> NewEvent:
    """Provide a small draft."""
    return DRAFT


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Provide the path of a log that does not exist yet."""
    return tmp_path / "sprintlog" / "log.db"


@pytest.fixture
def reopen(path: Path) -> Iterator[Callable[..., SqliteLog]]:
    """Provide a function that opens the log again, each time with other random bytes."""
    logs: list[SqliteLog] = []

    def reopen(**options: bool | float) -> SqliteLog:
        entropy = entropy_of(f"reopened {len(logs)}")
        log = SqliteLog(path, clock=lambda: 0, entropy=entropy, **options)  # type: ignore[arg-type]
        logs.append(log)
        return log

    yield reopen
    for log in logs:
        log.close()


@pytest.fixture
def log(path: Path) -> Iterator[SqliteLog]:
    """Provide a new, empty log."""
    log = SqliteLog.create(path, clock=lambda: 0, entropy=entropy_of("created"))
    yield log
    log.close()


@pytest.fixture
def raw(log: SqliteLog) -> Iterator[sqlite3.Connection]:
    """Provide a connection like that of any SQLite tool, with SQLite's defaults."""
    connection = sqlite3.connect(log.path, isolation_level=None)
    yield connection
    connection.close()
