"""An append as the server's functions are told of it: the statements, and their values."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ...append import SALT_BYTES, Stamps
from ...envelope import NewEvent, RecordedEvent, Span
from ...port import Expect, Expected
from .wire import BOOL, BYTES, INT4, INT8, TEXT, Value, call_of, number

_VERSION_MAX = 2**63 - 1
APPEND = call_of(
    "sprintlog.append",
    (INT4, INT8, BYTES, TEXT, INT8, BOOL, BOOL, INT4, TEXT, INT8, INT8, TEXT, BYTES, TEXT),
    (TEXT, TEXT, INT4, TEXT, TEXT, TEXT, TEXT, BOOL, BYTES, BYTES),
)
ERASE = f"SELECT * FROM sprintlog.erase({', '.join(['%b'] * 5)}, %b::text[], %b::bigint[],\
 %b::bigint[], %s::text[], %s::bytea[], {', '.join(['%b'] * 11)})"
TAKE = call_of(
    "sprintlog.take",
    (INT4,),
    (
        *(INT8, TEXT, INT8, TEXT, TEXT, INT4, TEXT, TEXT, TEXT, TEXT, TEXT),
        *(TEXT, BYTES, INT4, BOOL, BYTES, BYTES, BYTES, BYTES),
    ),
)


def bounds(expect: Expected) -> tuple[int, int]:
    """Return the least and the greatest version that a stream may have."""
    if isinstance(expect, Expect):
        least = 1 if expect is Expect.EXISTS else 0
        return least, 0 if expect is Expect.NONE else _VERSION_MAX
    return expect, expect


def append_values(
    new_events: Sequence[NewEvent], stamps: Stamps, count: int
) -> tuple[list[Any], ...]:
    """Return what the events of an append have each of their own, field by field."""
    first, salts = stamps.ids[0], stamps.salts
    return (
        stamps.ids[-count:],
        [event.type for event in new_events],
        [event.schema_version for event in new_events],
        [event.at for event in new_events],
        [event.actor for event in new_events],
        [event.correlation_id or first for event in new_events],
        [event.causation_id or first for event in new_events],
        [event.observed for event in new_events],
        [salts[at : at + SALT_BYTES] for at in range(0, count * SALT_BYTES, SALT_BYTES)],
        [event.payload for event in new_events],
    )


def append_answer(answer: Sequence[Value]) -> tuple[str, int, bytes, int, bytes]:
    """Return outcome, place, hash there, version and last hash, as far as each is told."""
    outcome, place, hash_, version, last = answer
    said, before, end = (outcome or b"").decode(), hash_ or b"", last or b""
    return said, number(place), before, number(version), end


def span_values(spans: Sequence[Span]) -> tuple[list[Any], ...]:
    """Return spans of events, field by field."""
    return (
        [span.stream for span in spans],
        [span.first for span in spans],
        [span.last for span in spans],
        [span.only for span in spans],
    )


def take_values(events: Sequence[RecordedEvent]) -> list[list[Any]]:
    """Return whole events, field by field."""
    columns = zip(*map(msgspec.structs.astuple, events), strict=True)
    return [[*column] for column in columns]
