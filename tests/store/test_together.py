"""Appends that are committed together: all of them or none, and none counts before."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from sprintlog.engine.errors import ConflictError
from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores import wall_clock
from sprintlog.engine.log.stores.sqlite.store import SqliteLog

Opened = Callable[[Path], SqliteLog]
NOTE = NewEvent("note-added", b'{"text":"x"}', "2026-01-15T12:00:00.000Z", "runtime")


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Return a function that opens a log, or creates a missing one, until the test ends."""
    with ExitStack() as logs:
        yield lambda path: logs.enter_context(closing(open_log(path)))


def open_log(path: Path) -> SqliteLog:
    """Open a log; create it if it is missing."""
    make = SqliteLog if path.exists() else SqliteLog.create
    return make(path, clock=wall_clock, entropy=os.urandom)


def append(log: SqliteLog, stream: str, *, key: str | None = None) -> list[int]:
    """Append an event; return its position."""
    digest = None if key is None else bytes(32)
    done = log.append(stream, [NOTE], expect=Expect.ANY, key=key, key_digest=digest)
    return [event.position for event in done.events]


def test_all_are_there_with_its_end(tmp_path: Path, opened: Opened) -> None:
    """Before the end, others and the head file see nothing; then all at once."""
    log, other = opened(tmp_path / "log.db"), opened(tmp_path / "log.db")
    append(log, "sprint/a")
    before = log.acknowledged()
    with log.together():
        for stream in ("sprint/a", "sprint/b", "sprint/a", "journal"):
            append(log, stream, key=None)
        assert log.last_position() == 5
        assert other.last_position() == 1
        assert log.acknowledged() == before
    assert other.last_position() == 5
    assert log.acknowledged() == log.head() == other.head()
    assert not [*check_chain(other.read())]
    assert append(log, "sprint/a") == [6]
    assert append(other, "sprint/a") == [7]
    assert append(log, "sprint/a") == [8]


def test_keys_and_expectations_hold_within(tmp_path: Path, opened: Opened) -> None:
    """A repeated key returns the first answer; a refusal does not affect the others."""
    log = opened(tmp_path / "log.db")
    with log.together():
        first = append(log, "sprint/a", key="k")
        assert append(log, "sprint/a", key="k") == first
        with pytest.raises(ConflictError):
            log.append("sprint/a", [NOTE], expect=7)
        append(log, "sprint/a")
    assert log.last_position() == 2


def test_none_is_there_where_it_fails(tmp_path: Path, opened: Opened) -> None:
    """Any other end reverts all; the next append follows the existing events."""
    log = opened(tmp_path / "log.db")
    append(log, "sprint/a")

    def fail() -> None:
        with log.together():
            append(log, "sprint/a")
            append(log, "sprint/b")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert log.last_position() == 1
    assert append(log, "sprint/a") == [2]
    assert [event.version for event in log.read_stream("sprint/a")] == [1, 2]


KILLED = """
import os, sys
from pathlib import Path
from tests.store.test_together import append, open_log

log = open_log(Path(sys.argv[1]))
with log.together():
    for _ in range(50):
        append(log, "sprint/a")
    os.kill(os.getpid(), 9)
"""


def test_killed_before_its_end_none_is_there(tmp_path: Path, opened: Opened) -> None:
    """The log is intact, and continues from the acknowledged events."""
    path = tmp_path / "log.db"
    log = opened(path)
    append(log, "sprint/a")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)], check=False, timeout=60
    )
    assert done.returncode == -9
    again = opened(path)
    assert again.last_position() == 1
    assert append(log, "sprint/a") == [2]
    assert not [*check_chain(log.read())]
