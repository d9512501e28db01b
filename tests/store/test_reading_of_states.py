"""The reads from disk for a saved state, which may have megabytes."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.stores.sqlite.schema import CACHES, MIGRATIONS
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from tests import needs

Reopen = Callable[..., SqliteLog]
STATE = bytes(2**20)
IO = Path("/proc/self/io")


def bytes_read_by(work: Callable[[], object]) -> int:
    """Return the bytes read by this process in the block; skip if they are not counted."""
    if not IO.exists():
        needs.skip("/proc/self/io", "run the tests on Linux")

    def so_far() -> int:
        (count,) = re.findall(r"rchar: (\d+)", IO.read_text())
        return int(count)

    before = so_far()
    work()
    return so_far() - before


@pytest.fixture
def saved(log: SqliteLog, reopen: Reopen) -> SqliteLog:
    """Return a log with three states, none of which was read yet."""
    for version in (1, 2, 3):
        log.checkpoints.save("a", version, STATE, format_=1)
    log.close()
    return reopen()


def test_no_state_is_read_to_know_which_there_are(saved: SqliteLog) -> None:
    """The versions are recognized by their keys, and so is a format."""
    found: list[list[int]] = []
    took = bytes_read_by(
        lambda: found.extend(saved.checkpoints.versions("a", format_=n) for n in (1, 2))
    )
    assert (found, took < len(STATE) / 4) == ([[3, 2, 1], []], True)


def test_a_state_is_read_once(saved: SqliteLog) -> None:
    """Finding a state reads neither the other states nor its content."""
    found: list[bytes | None] = []
    took = bytes_read_by(lambda: found.append(saved.checkpoints.load("a", 2, format_=1)))
    assert (found, took < len(STATE) * 1.25) == ([STATE], True)


def test_a_large_state_leaves_little_in_memory(saved: SqliteLog) -> None:
    """The connection uses a small cache for a large one, and is reset after it."""
    saved.checkpoints.save("a", 4, b"small", format_=1)
    said: list[str] = []
    saved.connection.raw.set_trace_callback(said.append)
    told = []
    for version in (3, 4):
        assert saved.checkpoints.load("a", version, format_=1)
        told.append(sum("cache_size" in text for text in said))
        said.clear()
    assert told == [2, 0]


def test_states_of_an_older_log_go(
    log: SqliteLog, reopen: Reopen, new_event: NewEvent
) -> None:
    """A log with schema version 2 is read unchanged, and written after one more step."""
    log.append("a", [new_event], expect=0)
    raw = log.connection.raw
    raw.execute("DROP TABLE checkpoints")
    raw.execute(next(text for text in CACHES if "TABLE checkpoints" in text))
    raw.execute("INSERT INTO checkpoints VALUES ('a', 1, 1, x'00')")
    raw.execute("DELETE FROM _sqlite_migrations WHERE name = 'checkpoints'")
    raw.execute("PRAGMA user_version = 2")
    log.close()
    with_old_table = reopen(readonly=True)
    assert with_old_table.checkpoints.load("a", 1, format_=1) == b"\0"
    with_old_table.close()
    again = reopen()
    again.checkpoints.save("a", 1, STATE, format_=2)
    assert again.checkpoints.load("a", 1, format_=1) == b"\0"
    again.append("a", [new_event], expect=1)
    assert again.checkpoints.versions("a", format_=1) == []
    again.checkpoints.save("a", 1, STATE, format_=1)
    assert again.checkpoints.load("a", 1, format_=1) == STATE
    assert len(list(again.read())) == 2
    version = again.connection.raw.execute("PRAGMA user_version").fetchone()
    assert version == (len(MIGRATIONS),)
