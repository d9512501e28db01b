"""The contract of every store for events taken over from another log."""

import pytest
from msgspec import structs

from sprintlog.engine.errors import KeyConflictError, RefusedError
from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.envelope import NewEvent, RecordedEvent
from sprintlog.engine.log.port import Log

NOTE = NewEvent(
    type="note-added", payload=b"{}", at="2026-01-30T12:00:00Z", actor="runtime"
)


@pytest.fixture
def events(other: Log) -> list[RecordedEvent]:
    """Provide the events of another log: two streams, three appends, one with a key."""
    other.append("a", [NOTE] * 2, expect=0, key="k", key_digest=bytes(32))
    other.append("b", [NOTE], expect=0)
    other.append("a", [NOTE], expect=2)
    return list(other.read())


def test_events_are_the_same_in_the_new_log(
    log: Log, other: Log, events: list[RecordedEvent]
) -> None:
    """Positions, ids, keys and hashes are preserved, and appending continues after them."""
    with log.taking_over() as take:
        take(events[:3])
        take(events[3:])
    assert list(log.read()) == events
    assert log.streams() == other.streams()
    assert log.head() == other.head() == log.acknowledged()
    assert log.find_key("k") == events[:2]
    log.append("a", [NOTE], expect=3)
    assert list(check_chain(log.read())) == []


def test_an_erased_payload_is_taken_over(log: Log, events: list[RecordedEvent]) -> None:
    """An event without salt and payload keeps its position and hash."""
    events[2] = structs.replace(events[2], salt=None, payload=None)
    with log.taking_over() as take:
        take(events)
    assert list(log.read()) == events


def test_what_ends_with_an_error_leaves_nothing(
    log: Log, events: list[RecordedEvent]
) -> None:
    """All events are copied, or none; existing ones are unchanged."""
    first, *rest = events
    with log.taking_over() as take:
        take([first])
    with pytest.raises(RefusedError), log.taking_over() as take:
        take([*rest, rest[-1]])
    assert list(log.read()) == [first]
    assert log.streams() == {"a": 1}
    with log.taking_over() as take:
        take(rest)
    assert list(log.read()) == events


@pytest.mark.parametrize(
    "change",
    [{"position": 6}, {"position": 1}, {"version": 4}, {"key": "k", "key_digest": b"1"}],
    ids=["gap", "position", "version", "key"],
)
def test_only_the_next_events_are_taken(
    log: Log, events: list[RecordedEvent], change: dict[str, object]
) -> None:
    """A gap, an occupied position and a known key are refused."""
    *before, last = events
    with pytest.raises(RefusedError, match="nothing recorded"), log.taking_over() as take:
        take([*before, structs.replace(last, **change)])
    assert list(log.read()) == []


def test_a_key_that_was_taken_over_is_known(log: Log, events: list[RecordedEvent]) -> None:
    """The same command returns the original events; a different one conflicts."""
    with log.taking_over() as take:
        take(events)
    again = log.append("a", [NOTE], expect=0, key="k", key_digest=bytes(32))
    assert again.duplicate
    assert again.events == events[:2]
    with pytest.raises(KeyConflictError):
        log.append("a", [NOTE], expect=3, key="k", key_digest=b"another")
