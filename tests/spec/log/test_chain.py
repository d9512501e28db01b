"""The chain: its coverage, its reproducible bytes, and how it is broken."""

from hashlib import sha256
from struct import pack

import msgspec
import pytest

from sprintlog.engine.log.append import Stamping, place, uuids
from sprintlog.engine.log.chain import (
    GENESIS,
    HEADER_FIELDS,
    START,
    ChainProblem,
    check_chain,
    header,
    payload_digest,
)
from sprintlog.engine.log.envelope import Head, NewEvent, RecordedEvent

Change = dict[str, object]


def chained(*appends: tuple[str, int]) -> list[RecordedEvent]:
    """Return the events of some appends, each given as stream and number of events."""
    events: list[RecordedEvent] = []
    versions: dict[str, int] = {}
    for stream, count in appends:
        new_event = NewEvent(
            type="note-added", payload=b'{"text":"x"}', at="2026-01-30T12:00:00Z", actor="a"
        )
        events += place(
            stream,
            [new_event] * count,
            Head(events[-1].position, events[-1].hash) if events else START,
            versions.get(stream, 0),
            Stamping(lambda: 0, lambda size: b"\x5a" * size).stamp(count),
            f"key-{len(events)}",
            bytes(32),
        )
        versions[stream] = events[-1].version
    return events


EVENTS = chained(("a", 1), ("b", 3), ("a", 2))


def changed(number: int, **changes: object) -> list[RecordedEvent]:
    """Return the sound events with one of them changed."""
    event = msgspec.structs.replace(EVENTS[number], **changes)
    return [*EVENTS[:number], event, *EVENTS[number + 1 :]]


def messagepack(value: object) -> bytes:
    """Return MessagePack's smallest form, written according to its specification."""
    match value:
        case None:
            return b"\xc0"
        case bool():
            return b"\xc3" if value else b"\xc2"
        case int() if value < 128:
            return pack("B", value)
        case int() if value < 256:
            return b"\xcc" + pack("B", value)
        case int() if value < 65536:
            return b"\xcd" + pack(">H", value)
        case int():
            return b"\xce" + pack(">I", value)
        case str() if len(value.encode()) < 32:
            return pack("B", 0xA0 | len(value.encode())) + value.encode()
        case str():
            return b"\xd9" + pack("B", len(value.encode())) + value.encode()
        case bytes():
            return b"\xc4" + pack("B", len(value)) + value
        case _:
            raise TypeError(value)


def test_header_can_be_made_without_our_code() -> None:
    """The header is the first fifteen fields as a MessagePack array in smallest form."""
    event = msgspec.structs.replace(
        EVENTS[0], position=70_000, version=300, actor="ü" * 20, key=None, observed=True
    )
    values = [getattr(event, name) for name in HEADER_FIELDS]
    assert header(event) == b"\x9f" + b"".join(messagepack(value) for value in values)


def test_hash_is_sha256_over_previous_header_and_digest() -> None:
    """Every hash covers the one before, the header and the payload's digest."""
    first, second = EVENTS[:2]
    assert first.payload_digest == sha256(b"\x5a" * 16 + b'{"text":"x"}').digest()
    assert first.hash == sha256(GENESIS + header(first) + first.payload_digest).digest()
    assert (
        second.hash == sha256(first.hash + header(second) + second.payload_digest).digest()
    )


def test_nothing_and_empty_text_differ() -> None:
    """A missing key and an empty key result in different headers."""
    absent = msgspec.structs.replace(EVENTS[0], key=None)
    assert header(absent) != header(msgspec.structs.replace(EVENTS[0], key=""))


def test_header_covers_every_field_but_payload_and_hash() -> None:
    """The header or the payload's digest covers every field of the envelope."""
    names = RecordedEvent.__struct_fields__
    assert names[:15] == HEADER_FIELDS
    assert names[15:] == ("salt", "payload", "payload_digest", "hash")


def test_sound_chain_has_no_problem() -> None:
    """Placed events verify, from the start and from any position."""
    assert list(check_chain(EVENTS)) == []
    for cut in range(1, len(EVENTS)):
        before = EVENTS[cut - 1]
        head = Head(before.position, before.hash)
        assert list(check_chain(EVENTS[cut:], after=head)) == []


def test_erased_payload_still_verifies() -> None:
    """Without salt and payload, the stored digest still represents them."""
    assert list(check_chain(changed(2, salt=None, payload=None))) == []


def test_what_remains_is_not_of_the_chain() -> None:
    """A payload without a salt must be erased: the event that erased it is named."""
    assert list(check_chain(changed(2, salt=None, payload=b"{}"))) == []


CHANGES: list[Change] = [
    {"position": 9},
    {"stream": "c"},
    {"version": 7},
    {"id": "x"},
    {"type": "x"},
    {"schema_version": 2},
    {"at": "x"},
    {"recorded_at": "x"},
    {"actor": "x"},
    {"correlation_id": "x"},
    {"causation_id": "x"},
    {"key": "x"},
    {"key_digest": b"x"},
    {"remaining": 0},
    {"observed": True},
    {"salt": b"x"},
    {"payload": b"{}"},
    {"payload_digest": bytes(32)},
    {"hash": bytes(32)},
    {"payload": "text"},
    {"position": "text"},
    {"version": None},
    {"payload_digest": None},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: "-".join(change))
def test_any_changed_field_is_found_where_it_is(change: Change) -> None:
    """Whatever is changed in an event, the first problem is at its position."""
    (first, *_) = check_chain(changed(2, **change))
    assert first.position in (3, change.get("position"))


@pytest.mark.parametrize("number", range(len(EVENTS) - 1))
def test_missing_event_is_a_gap(number: int) -> None:
    """An event missing in the middle or at the beginning is detected."""
    (first, *_) = check_chain(EVENTS[:number] + EVENTS[number + 1 :])
    assert "a gap" in first.problem


def test_append_cut_off_at_the_end_is_noticed() -> None:
    """An append whose last events are missing is reported although the hashes fit."""
    assert list(check_chain(EVENTS[:3])) == [
        ChainProblem(3, "its append is cut off: 1 events are missing")
    ]


def rehashed(events: list[RecordedEvent]) -> list[RecordedEvent]:
    """Return the events with matching hashes, as a forger would."""
    previous, fitting = GENESIS, []
    for event in events:
        previous = sha256(previous + header(event) + event.payload_digest).digest()
        fitting.append(msgspec.structs.replace(event, hash=previous))
    return fitting


@pytest.mark.parametrize(
    ("number", "change", "words"),
    [
        (3, {"version": 5}, "version 2 to 5"),
        (2, {"remaining": 5}, "`remaining`"),
        (3, {"key": "k"}, "`remaining`"),
        (0, {"remaining": -1}, "`remaining`"),
        (0, {"version": 2}, "version 0 to 2"),
        (1, {"payload": b"{}"}, "payload"),
    ],
)
def test_fitting_hashes_do_not_hide_a_broken_shape(
    number: int, change: Change, words: str
) -> None:
    """Positions, versions, appends and payloads are checked in addition to the hashes."""
    (first, *_) = check_chain(rehashed(changed(number, **change)))
    assert first.position == number + 1
    assert words in first.problem


def test_one_damaged_event_is_reported_once() -> None:
    """After a problem the event is believed, so the rest is not reported as well."""
    problems = list(check_chain(changed(1, actor="somebody else")))
    assert [problem.position for problem in problems] == [2]


def test_versions_at_the_beginning_are_checked_when_known() -> None:
    """A check that starts in the middle can start at given stream versions."""
    head = Head(EVENTS[3].position, EVENTS[3].hash)
    rest = EVENTS[4:]
    assert list(check_chain(rest, after=head, versions={"a": 1, "b": 3})) == []
    (problem,) = check_chain(rest, after=head, versions={"a": 4, "b": 3})
    assert "from version 4 to 2" in problem.problem


def test_salt_changes_the_digest() -> None:
    """Equal payloads have different digests under different salts."""
    assert payload_digest(b"1" * 16, b"{}") != payload_digest(b"2" * 16, b"{}")


def test_uuids_have_time_version_and_variant_in_their_places() -> None:
    """The first 48 bits are the milliseconds; version and variant are RFC 9562's."""
    (id_,) = uuids(0x0123_4567_89AB, b"\xff" * 10, 1)
    assert id_ == "01234567-89ab-7fff-bfff-ffffffffffff"
    assert uuids(-1, bytes(10), 1) == ["ffffffff-ffff-7000-8000-000000000000"]


def test_uuids_of_one_append_count_on() -> None:
    """The ids of an append are consecutive in their last group only."""
    ids = uuids(0, b"\xff" * 10, 3)
    assert [id_[18:] for id_ in ids] == [
        "-bfff-ffffffffffff",
        "-bfff-000000000000",
        "-bfff-000000000001",
    ]
