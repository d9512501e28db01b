"""Salvage: the intact beginning, an account of the rest, the old log untouched."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from sprintlog.engine.errors import BusyError, UnreadableError
from sprintlog.engine.log.envelope import Head, NewEvent, RecordedEvent
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.head_file import HeadFile
from sprintlog.engine.log.stores.sqlite import rescue as salvaging
from sprintlog.engine.log.stores.sqlite.rescue import RescuedRange, Salvaged, salvage
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from tests import needs

from .conftest import entropy_of

NOTES = [b'{"n": %d}' % number for number in range(1, 9)]


class Rescue(NamedTuple):
    """The result for a log."""

    salvaged: Salvaged
    events: list[RecordedEvent]
    """In the new log."""
    kept: dict[int, str]
    """Why the others are not, by position."""


Save = Callable[..., Rescue]


@pytest.fixture
def save(path: Path, tmp_path: Path) -> Save:
    """Provide a function that salvages the log and reads the new one."""

    def save(problem: Callable[[RecordedEvent], str | None] = lambda event: None) -> Rescue:
        kept: dict[int, str] = {}
        target = tmp_path / "new" / "log.db"
        salvaged = salvage(
            path,
            target,
            clock=lambda: 0,
            entropy=entropy_of("salvaged"),
            judge=lambda _: problem,
            keep=lambda event, why: kept.update({event.position: why}),
            progress=lambda count: None,
        )
        assert target.stat().st_mode & 0o777 == 0o600
        new = SqliteLog(target, clock=lambda: 0, entropy=entropy_of("read"))
        events = list(new.read())
        assert new.acknowledged() == new.head() == salvaged.head
        new.close()
        return Rescue(salvaged, events, kept)

    return save


@pytest.fixture
def events(log: SqliteLog, new_event: NewEvent) -> list[RecordedEvent]:
    """Provide the events of a closed log: single ones, and an append of three."""
    new_events = [NewEvent("noted", note, new_event.at, new_event.actor) for note in NOTES]
    for number, one in enumerate(new_events[:5]):
        key = f"key {number}" if number % 2 else None
        digest = b"digest" if key else None
        log.append("a", [one], expect=Expect.ANY, key=key, key_digest=digest)
    log.append("b", new_events[5:], expect=Expect.ANY, key="of three", key_digest=b"other")
    found = list(log.read())
    log.close()
    return found


def damage(path: Path, old: bytes, new: bytes) -> None:
    """Change the first occurrence of some bytes."""
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new, 1))


def test_a_sound_log_is_saved_whole(events: list[RecordedEvent], save: Save) -> None:
    """Every event has its position, its hash and its payload, and none is missing."""
    rescue = save()
    assert rescue.events == events
    assert rescue.salvaged.ranges == [RescuedRange(1, 8, "saved")]
    assert rescue.salvaged.problem is None


def test_a_damaged_event_ends_the_beginning(
    path: Path, events: list[RecordedEvent], save: Save
) -> None:
    """Later events are exported, and are not in the new log."""
    damage(path, NOTES[2], b'{"n": 0}')
    rescue = save()
    assert rescue.events == events[:2]
    assert rescue.salvaged.ranges == [
        RescuedRange(1, 2, "saved"),
        RescuedRange(3, 3, "damaged"),
        RescuedRange(4, 8, "readable"),
    ]
    assert rescue.salvaged.problem == f"position 3: {salvaging.NOT_WHOLE}"
    later = dict.fromkeys(range(4, 9), salvaging.LATER)
    assert rescue.kept == {3: salvaging.NOT_WHOLE, **later}


def test_an_append_is_saved_whole_or_not_at_all(
    path: Path, events: list[RecordedEvent], save: Save
) -> None:
    """The events before a damaged one in its append are not saved without it."""
    damage(path, NOTES[6], b'{"n": 0}')
    rescue = save()
    assert rescue.events == events[:5]
    assert rescue.salvaged.ranges[1:] == [
        RescuedRange(6, 6, "readable"),
        RescuedRange(7, 7, "damaged"),
        RescuedRange(8, 8, "readable"),
    ]


def test_a_changed_header_is_found(
    path: Path, events: list[RecordedEvent], save: Save
) -> None:
    """An event with a correct payload but a wrong hash is not intact."""
    damage(path, events[3].id.encode(), events[3].id.replace("-", "+").encode())
    rescue = save()
    assert rescue.events == events[:3]
    assert rescue.salvaged.problem == f"position 4: {salvaging.CHANGED}"


def test_an_unreadable_payload_ends_the_beginning(
    events: list[RecordedEvent], save: Save
) -> None:
    """An event that cannot be decoded here is not saved, although its hash is right."""
    rescue = save(lambda event: "not known here" if event.position == 4 else None)
    assert rescue.events == events[:3]
    assert rescue.kept[4] == "not known here"
    assert rescue.salvaged.problem == "position 4: not known here"


def test_a_lost_end_is_known_by_the_head_file(
    path: Path, events: list[RecordedEvent], save: Save
) -> None:
    """Events that were acknowledged and are nowhere are counted as missing."""
    with closing(HeadFile(path.with_name("log.db-head"))) as file:
        file.write(Head(11, bytes(32)))
    rescue = save()
    assert rescue.events == events
    assert rescue.salvaged.ranges == [
        RescuedRange(1, 8, "saved"),
        RescuedRange(9, 11, "missing"),
    ]
    assert rescue.salvaged.problem == f"position 9: {salvaging.NOTHING}"


def test_another_log_in_the_place_of_the_old_one_is_told(
    path: Path, events: list[RecordedEvent], save: Save
) -> None:
    """An intact log other than the one in the head file does not count as complete."""
    with closing(HeadFile(path.with_name("log.db-head"))) as file:
        file.write(Head(4, bytes(32)))
    rescue = save()
    assert rescue.events == events
    assert rescue.salvaged.problem == salvaging.OTHER


def test_a_log_without_its_head_file_is_saved(
    path: Path, events: list[RecordedEvent], save: Save
) -> None:
    """The head file is only required for the number of missing events."""
    path.with_name("log.db-head").unlink()
    assert save().events == events


def test_an_event_in_doubt_counts_when_it_was_acknowledged(
    log: SqliteLog, new_event: NewEvent, save: Save
) -> None:
    """A damaged last frame is read as far as the head file remembers its event."""
    if not log.journal_mode.wal:
        needs.skip("a local file system", "set TMPDIR to a folder on a local disk")
    log.append("a", [new_event], expect=0)
    log.append("a", [new_event], expect=1)
    events = list(log.read())
    wal = log.path.with_name("log.db-wal")
    files = {name: name.read_bytes() for name in log.path.parent.iterdir()}
    log.close()
    content = bytearray(files[wal])
    # In the checksum in the last frame's header.
    content[-4096 - 8] ^= 1
    for name, content_ in {**files, wal: bytes(content)}.items():
        name.write_bytes(content_)
    assert save().events == events


def test_an_event_in_doubt_does_not_count_by_itself(
    path: Path, events: list[RecordedEvent], save: Save
) -> None:
    """Events of an interrupted commit are exported: they were not acknowledged."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=DELETE")
    connection.execute("PRAGMA cache_size=1")
    connection.execute("BEGIN IMMEDIATE")
    aside = path.with_name("aside")
    rows = ", ".join("?" * 19)
    last = events[-1]
    for number in range(1, 40):
        fields = [getattr(last, name) for name in RecordedEvent.__struct_fields__]
        fields[0], fields[2], fields[16] = 8 + number, 3 + number, fields[16].decode()
        connection.execute(f"INSERT INTO events VALUES ({rows})", fields)
    shutil.copytree(path.parent, aside)
    connection.execute("ROLLBACK")
    connection.close()
    for name in ("log.db", "log.db-journal"):
        (aside / name).replace(path.with_name(name))
    rescue = save()
    assert rescue.events == events
    assert {found.state for found in rescue.salvaged.ranges} == {"saved", "readable"}


def test_what_changes_meanwhile_is_refused(
    path: Path, events: list[RecordedEvent], save: Save
) -> None:
    """A log written to while it is read would be copied inconsistently."""

    def touch(event: RecordedEvent) -> None:
        path.write_bytes(path.read_bytes())

    with pytest.raises(BusyError):
        save(touch)


def test_without_an_event_nothing_can_be_saved(path: Path, save: Save) -> None:
    """A file without any event is refused with a clear message."""
    path.parent.mkdir()
    path.write_bytes(b"SQLite format 3\0" + bytes(9000))
    with pytest.raises(UnreadableError, match="nothing can be saved"):
        save()
