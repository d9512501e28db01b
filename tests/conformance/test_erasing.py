"""The contract of every store for erasing payloads."""

import pytest
from msgspec import structs

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.envelope import NewEvent, RecordedEvent, Span
from sprintlog.engine.log.port import Log

AT = "2026-01-30T12:00:00Z"
CALL = NewEvent("tool-called", b'{"tool":"Bash"}', AT, "agent:claude")
PROMPT = NewEvent("prompt-given", b'{"chars":3}', AT, "agent:claude")
SAID = NewEvent("payload-erased", b'{"reason":"old"}', AT, "operator")


@pytest.fixture
def events(log: Log) -> list[RecordedEvent]:
    """Provide two streams with two types, and one append with a key."""
    log.append("a", [PROMPT, CALL, CALL], expect=0, key="k", key_digest=bytes(32))
    log.append("b", [CALL], expect=0)
    log.append("a", [CALL], expect=3)
    return list(log.read())


def erased_in(log: Log) -> list[tuple[str, int]]:
    """Return the places of events without a payload."""
    assert all((e.payload is None) == (e.salt is None) for e in log.read())
    return [(e.stream, e.version) for e in log.read() if e.payload is None]


def test_what_is_meant_is_erased_and_said(log: Log, events: list[RecordedEvent]) -> None:
    """The events' payloads and salts are erased, the rest stays, an event records it."""
    appended = log.erase([Span("a", 2, 3)], stream="erasures", said=SAID)
    assert appended is not None
    (said,) = appended.events
    assert (said.stream, said.version, said.position) == ("erasures", 1, 6)
    assert erased_in(log) == [("a", 2), ("a", 3)]
    bare = {"payload": None, "salt": None}
    expected = [structs.replace(e, **bare) if e.position in (2, 3) else e for e in events]
    assert list(log.read()) == [*expected, said]
    assert list(log.read_stream("a")) == [*expected[:3], expected[4]]
    assert [row[2] is None for page in log.scan("a") for row in page.rows] == [
        e.payload is None for e in expected if e.stream == "a"
    ]
    assert log.find_key("k") == expected[:3]


def test_the_chain_holds_and_goes_on(log: Log, events: list[RecordedEvent]) -> None:
    """The chain is sound with the gap, and events are appended behind it."""
    log.erase([Span("a", 1, 4)], stream="erasures", said=SAID)
    log.append("a", [CALL], expect=4)
    assert list(check_chain(log.read())) == []
    assert log.head() == log.acknowledged()
    again = log.append("a", [CALL], expect=0, key="k", key_digest=bytes(32))
    assert again.duplicate


def test_only_the_named_type_and_streams(log: Log, events: list[RecordedEvent]) -> None:
    """Other types, streams and versions keep their text."""
    log.erase([Span("a", 1, 3, "tool-called")], stream="erasures", said=SAID)
    assert erased_in(log) == [("a", 2), ("a", 3)]
    log.erase([Span("b", 1, 9), Span("a", 4, 4)], stream="erasures", said=SAID)
    assert erased_in(log) == [("a", 2), ("a", 3), ("b", 1), ("a", 4)]


@pytest.mark.parametrize(
    "span", [Span("a", 5, 9), Span("c", 1, 9), Span("a", 1, 4, "note-added")]
)
def test_where_nothing_is_meant_nothing_is_said(
    log: Log, events: list[RecordedEvent], span: Span
) -> None:
    """Without a payload to erase no event is recorded; so a second time changes nothing."""
    assert log.erase([span], stream="erasures", said=SAID) is None
    assert list(log.read()) == events
    log.erase([Span("a", 1, 4)], stream="erasures", said=SAID)
    before = list(log.read())
    assert log.erase([Span("a", 1, 4)], stream="erasures", said=SAID) is None
    assert list(log.read()) == before


def test_without_the_event_nothing_is_erased(log: Log, events: list[RecordedEvent]) -> None:
    """If the event cannot be recorded, no payload is erased."""
    wrong = structs.replace(SAID, at="yesterday")
    with pytest.raises(RefusedError):
        log.erase([Span("a", 1, 4)], stream="erasures", said=wrong)
    assert list(log.read()) == events


def test_what_says_it_is_not_erased_with_it(log: Log, events: list[RecordedEvent]) -> None:
    """The event that records the erasure, in the erased stream, keeps its text."""
    log.erase([Span("b", 1, 9)], stream="b", said=SAID)
    assert erased_in(log) == [("b", 1)]


def test_giving_back_changes_no_event(log: Log, events: list[RecordedEvent]) -> None:
    """Space is freed, and every event is unchanged."""
    log.erase([Span("a", 1, 4)], stream="erasures", said=SAID)
    before = list(log.read())
    log.give_back()
    assert list(log.read()) == before
    log.append("a", [CALL], expect=4)
    assert list(check_chain(log.read())) == []


def test_what_remains_takes_the_place_of_the_payload(
    log: Log, events: list[RecordedEvent]
) -> None:
    """The remainder is read like a payload, without salt; the chain remains valid."""
    left = [b'{"chars":0}', b'{"tool":"[erased]"}']
    appended = log.erase([Span("a", 1, 2)], stream="erasures", said=SAID, remainders=left)
    assert appended is not None
    found = list(log.read_stream("a"))
    assert [event.payload for event in found[:3]] == [*left, CALL.payload]
    assert [event.salt is None for event in found] == [True, True, False, False]
    assert [row[2] for page in log.scan("a", until=2) for row in page.rows] in (
        left,
        [one.decode() for one in left],
    )
    assert list(check_chain(log.read())) == []


def test_what_remains_is_not_erased_again(log: Log, events: list[RecordedEvent]) -> None:
    """Erasing a second time changes nothing, with or without a remainder."""
    first = [Span("a", 1, 1)]
    log.erase(first, stream="erasures", said=SAID, remainders=[b'{"chars":0}'])
    before = list(log.read())
    assert log.erase(first, stream="erasures", said=SAID) is None
    assert log.erase(first, stream="erasures", said=SAID, remainders=[b"{}"]) is None
    assert list(log.read()) == before


def test_saved_states_go_with_the_words(log: Log, events: list[RecordedEvent]) -> None:
    """Once the erasure is recorded, states derived from erased text are unreadable."""
    log.checkpoints.save("a", 4, b"state", format_=1)
    log.checkpoints.save("decisions of a", 4, b"reading", format_=1)
    log.erase([Span("a", 4, 4)], stream="erasures", said=SAID, remainders=[b"{}"])
    assert log.checkpoints.load("a", 4, format_=1) is None
    assert log.checkpoints.load("decisions of a", 4, format_=1) is None
