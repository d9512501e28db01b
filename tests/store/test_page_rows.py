"""Events read from a log's pages, compared with SQLite's results for the same files."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from sprintlog.engine.log.chain import GENESIS, follows, is_whole
from sprintlog.engine.log.envelope import DOCUMENT_BYTES_MAX, NewEvent, RecordedEvent
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.sqlite.page_rows import PAGE_BYTES, PageImages, PageRows
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from tests import needs

ROOT_OF_EVENTS = "SELECT rootpage FROM sqlite_master WHERE name = 'events'"
SIZES = [0, 1, 100, 3900, 3990, 4000, 4100, 9000, 70_000, 1_000_000]


def fill(log: SqliteLog, new_event: NewEvent, sizes: list[int]) -> list[RecordedEvent]:
    """Append an event of each size and return all that the log has."""
    for size in sizes:
        payload = b'{"text": "' + "ä".encode() * (size // 2) + b'"}'
        large = msgspec.structs.replace(
            new_event, payload=payload, payload_bytes_max=DOCUMENT_BYTES_MAX
        )
        log.append("sprint/größe", [large, new_event], expect=Expect.ANY)
    return list(log.read())


def found_in(path: Path) -> list[RecordedEvent]:
    """Return the events in a log's pages that form a chain."""
    events: list[RecordedEvent] = []
    previous = GENESIS
    with closing(PageImages(path)) as pages:
        rows = PageRows(pages)
        while True:
            fitting = [
                event
                for event, committed in rows.at(len(events) + 1)
                if committed and is_whole(event) and follows(event, previous)
            ]
            if not fitting:
                return events
            events += fitting[:1]
            previous = events[-1].hash


@pytest.mark.long
def test_pages_hold_what_sqlite_reads(
    log: SqliteLog, new_event: NewEvent, tmp_path: Path
) -> None:
    """Events of every size are found in database and write-ahead log, field by field."""
    events = fill(log, new_event, SIZES)
    copy = tmp_path / "copy"
    shutil.copytree(log.path.parent, copy)
    assert found_in(copy / "log.db") == events
    log.close()
    assert found_in(log.path) == events


@pytest.mark.long
@pytest.mark.parametrize("page_bytes", [512, 1024, 32768])
def test_pages_of_other_sizes_are_read(
    log: SqliteLog, new_event: NewEvent, raw: sqlite3.Connection, page_bytes: int
) -> None:
    """The database's header has the size of its pages."""
    events = fill(log, new_event, SIZES)
    log.close()
    raw.execute("PRAGMA journal_mode=DELETE")
    raw.execute(f"PRAGMA page_size={page_bytes}")
    raw.execute("VACUUM")
    raw.close()
    assert log.path.read_bytes()[16:18] == page_bytes.to_bytes(2)
    assert found_in(log.path) == events


def scribbled(path: Path, at: int, content: bytes) -> None:
    """Overwrite some bytes of a file."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)


def test_header_and_schema_are_not_needed(log: SqliteLog, new_event: NewEvent) -> None:
    """With the first page overwritten all events are found."""
    events = fill(log, new_event, SIZES)
    log.close()
    scribbled(log.path, 0, b"\xa5" * PAGE_BYTES)
    assert found_in(log.path) == events


def test_tree_above_the_rows_is_not_needed(
    log: SqliteLog, new_event: NewEvent, raw: sqlite3.Connection
) -> None:
    """With the page overwritten that leads to all others all events are found."""
    events = fill(log, new_event, [200] * 100)
    log.close()
    (root,) = raw.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'events'"
    ).fetchone()
    raw.close()
    scribbled(log.path, (root - 1) * PAGE_BYTES, b"\xa5" * PAGE_BYTES)
    assert found_in(log.path) == events


@pytest.mark.parametrize("frame", range(3))
def test_frames_after_a_damaged_one_still_count(
    log: SqliteLog, new_event: NewEvent, tmp_path: Path, frame: int
) -> None:
    """SQLite drops a damaged frame and all after it; here only that one is in doubt."""
    if not log.journal_mode.wal:
        needs.skip("a local file system", "set TMPDIR to a folder on a local disk")
    events = fill(log, new_event, [100] * 5)
    copy = tmp_path / "copy"
    shutil.copytree(log.path.parent, copy)
    at = 32 + frame * (24 + PAGE_BYTES) + 24 + PAGE_BYTES // 2
    scribbled(copy / "log.db-wal", at, b"\xa5\xa5")
    assert found_in(copy / "log.db") == events
    connection = sqlite3.connect(copy / "log.db")
    (left,) = connection.execute("SELECT count(*) FROM events").fetchone()
    connection.close()
    assert left < len(events)


def test_what_was_not_committed_is_marked(
    log: SqliteLog, new_event: NewEvent, raw: sqlite3.Connection, tmp_path: Path
) -> None:
    """Pages with an older image in a hot journal do not count as committed."""
    events = fill(log, new_event, [100] * 5)
    log.close()
    raw.execute("PRAGMA journal_mode=DELETE")
    raw.execute("PRAGMA cache_spill=1")
    raw.execute("PRAGMA cache_size=1")
    raw.execute("BEGIN IMMEDIATE")
    columns = ", ".join(RecordedEvent.__struct_fields__[3:])
    for number in range(1, 60):
        raw.execute(
            f"INSERT INTO events SELECT {len(events) + number}, 'new', {number}, {columns}"
            " FROM events WHERE position = 2"
        )
    copy = tmp_path / "copy"
    shutil.copytree(log.path.parent, copy)
    raw.execute("ROLLBACK")
    assert (copy / "log.db-journal").stat().st_size > PAGE_BYTES
    with closing(PageImages(copy / "log.db")) as pages:
        rows = PageRows(pages)
        assert rows.last_plausible > len(events)
        for position in rows.positions:
            certain = [event for event, committed in rows.at(position) if committed]
            assert certain == events[position - 1 : position]


def test_a_failing_disk_costs_its_pages_only(
    log: SqliteLog, new_event: NewEvent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unreadable parts count as zeros, and the rest is still read."""
    events = fill(log, new_event, [100] * 5)
    log.close()
    read = os.pread

    def failing(descriptor: int, count: int, offset: int) -> bytes:
        if offset == 0:
            raise OSError(5, "Input/output error")
        return read(descriptor, count, offset)

    monkeypatch.setattr(os, "pread", failing)
    assert found_in(log.path) == events


def test_any_bytes_are_read_to_an_end(tmp_path: Path) -> None:
    """Files that are not logs contain no events, and no error is raised."""
    for content in (b"", b"\0" * 100, b"\xff" * 9000, bytes(range(256)) * 64):
        for suffix in ("", "-wal", "-journal"):
            (tmp_path / f"log.db{suffix}").write_bytes(content)
        assert found_in(tmp_path / "log.db") == []
