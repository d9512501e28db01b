"""An append as the server's functions are told of it: the statements, and their values."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ...append import SALT_BYTES, Stamps
from ...envelope import NewEvent, RecordedEvent, Span
from ...port import Expect, Expected

_VERSION_MAX = 2**63 - 1
APPEND = f"SELECT * FROM sprintlog.append({', '.join(['%b'] * 13 + ['%b::text[]'] * 2)},\
 %b::int[], {', '.join(['%b::text[]'] * 4)}, %b::bool[], %b::bytea[], %b::bytea[])"
ERASE = f"SELECT * FROM sprintlog.erase({', '.join(['%b'] * 5)}, %b::text[], %b::bigint[],\
 %b::bigint[], %s::text[], %s::bytea[], {', '.join(['%b'] * 11)})"
_ARRAYS = (
    *("bigint", "text", "bigint", "text", "text", "int", "text", "text", "text", "text"),
    *("text", "text", "bytea", "int", "bool", "bytea", "bytea", "bytea", "bytea"),
)
TAKE = f"SELECT sprintlog.take(%b, {', '.join(f'%s::{kind}[]' for kind in _ARRAYS)})"


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
