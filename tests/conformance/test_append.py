"""The contract of every store for appending."""

import pytest

from sprintlog.engine.errors import ConflictError, InvalidInputError
from sprintlog.engine.log.append import APPEND_EVENTS_MAX
from sprintlog.engine.log.chain import GENESIS, check_chain
from sprintlog.engine.log.envelope import (
    DOCUMENT_BYTES_MAX,
    PAYLOAD_BYTES_MAX,
    Head,
    NewEvent,
)
from sprintlog.engine.log.port import STREAM_CHARS_MAX, Expect, Expected, Log

AT = "2026-01-30T12:00:00Z"


def new_event(number: int = 1, **changes: object) -> NewEvent:
    """Return a small draft, with some fields changed."""
    fields: dict[str, object] = {
        "type": "phase-completed",
        "payload": b'{"number":%d}' % number,
        "at": AT,
        "actor": "runtime",
    }
    return NewEvent(**(fields | changes))  # type: ignore[arg-type]


@pytest.mark.sampled(2)
def test_positions_run_through_the_log_and_versions_through_each_stream(log: Log) -> None:
    """Positions count across all streams, versions within one, both without gaps."""
    log.append("a", [new_event(), new_event()], expect=0)
    log.append("b", [new_event()], expect=0)
    log.append("a", [new_event()], expect=2)
    places = [(event.position, event.stream, event.version) for event in log.read()]
    assert places == [(1, "a", 1), (2, "a", 2), (3, "b", 1), (4, "a", 3)]


def test_answer_is_what_is_stored(log: Log) -> None:
    """An append answers with its events exactly as a reader gets them."""
    appended = log.append("a", [new_event(1), new_event(2, observed=True)], expect=0)
    assert not appended.duplicate
    assert appended.events == list(log.read())
    assert [event.observed for event in log.read()] == [False, True]


@pytest.mark.parametrize(
    ("expect", "before"),
    [
        (0, 0),
        (2, 2),
        (Expect.NONE, 0),
        (Expect.EXISTS, 2),
        (Expect.ANY, 0),
        (Expect.ANY, 2),
    ],
)
def test_expected_version_lets_a_match_in(log: Log, expect: Expected, before: int) -> None:
    """A stream in the expected state satisfies each of the four expectations."""
    log.append("other", [new_event()], expect=Expect.ANY)
    for version in range(before):
        log.append("a", [new_event()], expect=version)
    assert log.append("a", [new_event()], expect=expect).events[0].version == before + 1


@pytest.mark.parametrize(
    ("expect", "before", "said"),
    [
        (0, 2, 0),
        (1, 2, 1),
        (7, 5, 7),
        (1, 0, 1),
        (-1, 0, -1),
        (Expect.NONE, 1, "none"),
        (Expect.EXISTS, 0, "exists"),
    ],
)
def test_conflict_says_expected_and_actual(
    log: Log, expect: Expected, before: int, said: int | str
) -> None:
    """If the stream's version differs, the append is refused and nothing is recorded."""
    for version in range(before):
        log.append("a", [new_event()], expect=version)
    head = log.head()
    with pytest.raises(ConflictError) as caught:
        log.append("a", [new_event()], expect=expect)
    assert caught.value.fields == {"stream": "a", "expected": said, "actual": before}
    assert log.head() == head


def test_remaining_counts_down_within_an_append(log: Log) -> None:
    """Every event states how many events of its append follow, which reveals a cut."""
    log.append("a", [new_event(), new_event(), new_event()], expect=0)
    log.append("a", [new_event()], expect=3)
    assert [event.remaining for event in log.read()] == [2, 1, 0, 0]


@pytest.mark.parametrize("count", [1, 64, 65, 1000])
def test_append_of_any_size_chains(log: Log, count: int) -> None:
    """Small and large appends form one unbroken chain up to the head."""
    log.append("b", [new_event()], expect=0)
    log.append("a", [new_event(number) for number in range(count)], expect=0)
    log.append("a", [new_event()], expect=count)
    events = list(log.read())
    assert len(events) == count + 2
    assert list(check_chain(events)) == []
    assert log.head() == Head(count + 2, events[-1].hash)


def test_empty_log_has_the_genesis_head(log: Log) -> None:
    """A log without events ends at position 0 with 32 zero bytes."""
    assert log.head() == Head(0, GENESIS)
    assert list(log.read()) == []


def test_correlation_and_causation_default_to_the_first_event(log: Log) -> None:
    """Missing values are filled with the id of the append's first event."""
    first, second = log.append("a", [new_event(), new_event()], expect=0).events
    assert first.correlation_id == first.causation_id == first.id
    assert second.correlation_id == second.causation_id == first.id


def test_given_correlation_and_causation_stay(log: Log) -> None:
    """Given values are stored unchanged."""
    given = new_event(correlation_id="run-1", causation_id="event-9")
    (event,) = log.append("a", [given], expect=0).events
    assert (event.correlation_id, event.causation_id) == ("run-1", "event-9")


def test_ids_are_version_7_uuids_and_differ(log: Log) -> None:
    """Every event has a separate UUIDv7 and salt."""
    events = log.append("a", [new_event() for _ in range(5)], expect=0).events
    assert len({event.id for event in events}) == 5
    assert len({event.salt for event in events}) == 5
    assert {(event.id[14], event.id[19] in "89ab") for event in events} == {("7", True)}


def test_recorded_at_comes_from_the_clock_of_the_store(log: Log) -> None:
    """`at` is the caller's, `recorded_at` the store's."""
    (event,) = log.append("a", [new_event()], expect=0).events
    assert (event.at, event.recorded_at) == (AT, "2026-01-30T12:00:00.000Z")


def test_payload_comes_back_byte_for_byte(log: Log) -> None:
    """Payloads are stored as text exactly as given."""
    payload = '{"text":"ü\u2028\\u0000 \U0001f600","number":1e2,"twice":1,"twice":2}'
    log.append("a", [new_event(payload=payload.encode())], expect=0)
    assert [event.payload for event in log.read()] == [payload.encode()]


LIMITS: dict[str, tuple[str, dict[str, object]]] = {
    "empty stream": ("stream", {"stream": ""}),
    "long stream": ("stream", {"stream": "s" * (STREAM_CHARS_MAX + 1)}),
    "line break in stream": ("stream", {"stream": "a\nb"}),
    "surrogate in stream": ("stream", {"stream": "a\ud800"}),
    "empty type": ("type", {"type": ""}),
    "long actor": ("actor", {"actor": "a" * 129}),
    "escape in actor": ("actor", {"actor": "agent:\x1b[31m"}),
    "bidi in actor": ("actor", {"actor": "agent:\u202e"}),
    "long correlation": ("correlation_id", {"correlation_id": "c" * 129}),
    "empty causation": ("causation_id", {"causation_id": ""}),
    "long key": ("key", {"key": "k" * 129}),
    "digest without key": ("key_digest", {"key_digest": b"d"}),
    "schema version 0": ("schema_version", {"schema_version": 0}),
    "local time": ("at", {"at": "2026-01-30T12:00:00"}),
    "offset": ("at", {"at": "2026-01-30T12:00:00+00:00"}),
    "no such day": ("at", {"at": "2026-02-30T12:00:00Z"}),
    "foreign digits": ("at", {"at": "2026-01-30T12:00:00.\u0661Z"}),
    "line break after time": ("at", {"at": "2026-01-30T12:00:00Z\n"}),
    "no fraction": ("at", {"at": "2026-01-30T12:00:00.Z"}),
    "large payload": ("payload", {"payload": b'{"x":"' + b"x" * PAYLOAD_BYTES_MAX + b'"}'}),
    "larger than any document": (
        "payload",
        {
            "payload": b'{"x":"' + b"x" * DOCUMENT_BYTES_MAX + b'"}',
            "payload_bytes_max": 2 * DOCUMENT_BYTES_MAX,
        },
    ),
    "payload not an object": ("payload", {"payload": b"[]"}),
    "payload not UTF-8": ("payload", {"payload": b'{"x":"\xff"}'}),
    "payload with NUL": ("payload", {"payload": b'{"x":"\x00"}'}),
}


@pytest.mark.parametrize(("field", "changes"), LIMITS.values(), ids=LIMITS.keys())
def test_limits_refuse_and_change_nothing(
    log: Log, field: str, changes: dict[str, object]
) -> None:
    """Values over a limit are refused by the name of the field; the log is unchanged."""
    log.append("a", [new_event()], expect=0)
    rest = dict(changes)
    stream = str(rest.pop("stream", "a"))
    outer = {name: rest.pop(name) for name in ("key", "key_digest") if name in rest}
    with pytest.raises(InvalidInputError) as caught:
        log.append(stream, [new_event(), new_event(**rest)], expect=Expect.ANY, **outer)  # type: ignore[arg-type]
    assert caught.value.fields["field"] == field
    assert log.head().position == 1


@pytest.mark.parametrize("count", [0, APPEND_EVENTS_MAX + 1])
def test_append_holds_at_least_one_event_and_not_too_many(log: Log, count: int) -> None:
    """An empty append and an endless one are refused."""
    with pytest.raises(InvalidInputError):
        log.append("a", [new_event()] * count, expect=Expect.ANY)
    assert log.head().position == 0


@pytest.mark.parametrize(
    "at",
    ["2026-01-30T12:00:00Z", "2026-01-30T12:00:00.5Z", "0001-01-01T00:00:00.123456789Z"],
)
def test_moments_with_and_without_fraction_are_taken(log: Log, at: str) -> None:
    """Any time in UTC is stored as written."""
    assert log.append("a", [new_event(at=at)], expect=0).events[0].at == at


def test_document_may_be_as_large_as_its_event_allows(log: Log) -> None:
    """A draft can declare a larger limit than the usual payload."""
    payload = b'{"x":"' + b"x" * (2 * PAYLOAD_BYTES_MAX) + b'"}'
    log.append(
        "a", [new_event(payload=payload, payload_bytes_max=DOCUMENT_BYTES_MAX)], expect=0
    )
    assert next(log.read()).payload == payload


def test_names_at_their_limit_are_taken(log: Log) -> None:
    """The limits themselves are allowed, in any script."""
    stream, actor = "ß" * STREAM_CHARS_MAX, "操" * 128
    log.append(stream, [new_event(actor=actor)], expect=0, key="k" * 128, key_digest=b"d")
    assert log.streams() == {stream: 1}
