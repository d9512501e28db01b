"""An append as the server's functions are told of it: the statements, and their values."""

from collections.abc import Sequence
from typing import Any

import msgspec

from ...append import SALT_BYTES, Stamps
from ...envelope import NewEvent, RecordedEvent, Span
from ...port import Expect, Expected
from .wire import (
    BOOL,
    BYTES,
    INT4,
    INT8,
    TEXT,
    Value,
    call_of,
    fields,
    marks,
    number,
    row_of,
    statement_of,
)

_VERSION_MAX = 2**63 - 1
_EVENT = (TEXT, TEXT, INT4, TEXT, TEXT, TEXT, TEXT, BOOL, BYTES, BYTES)
_HEAD = (INT4, INT8, BYTES)
_OF_APPEND = (
    *(*_HEAD, TEXT, INT8, BOOL, TEXT, TEXT, INT8, INT8, TEXT, BYTES, TEXT),
    *_EVENT,
)
APPEND = row_of("sprintlog.append", _OF_APPEND)
APPEND_MANY = row_of("sprintlog.append", _OF_APPEND, _EVENT)
APPEND_SHARED = statement_of(
    # What it answers has a place among its values.
    f"CALL sprintlog.append_shared({marks(len(_OF_APPEND))}, NULL)",
    _OF_APPEND,
    named="sprintlog.append_shared",
)
_OF_NEXT = (*_HEAD, TEXT, TEXT, INT8, TEXT, BYTES, TEXT, *_EVENT)
APPEND_NEXT = statement_of(
    f"SELECT sprintlog.append_next({marks(len(_OF_NEXT))})",
    _OF_NEXT,
    named="sprintlog.append_next",
)
ERASE = f"SELECT * FROM sprintlog.erase({', '.join(['%b'] * 5)}, %b::text[], %b::bigint[],\
 %b::bigint[], %s::text[], %s::bytea[], {', '.join(['%b'] * 12)})"
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


def first_values(new_event: NewEvent, stamps: Stamps) -> tuple[Any, ...]:
    """Return what the first event of an append has of its own."""
    id_ = stamps.ids[0]
    return (
        *(id_, new_event.type, new_event.schema_version, new_event.at, new_event.actor),
        *(new_event.correlation_id or id_, new_event.causation_id or id_),
        *(new_event.observed, stamps.salts[:SALT_BYTES], new_event.payload),
    )


def later_values(new_events: Sequence[NewEvent], stamps: Stamps) -> tuple[list[Any], ...]:
    """Return what the events behind the first have each of their own, field by field."""
    first, salts, later = stamps.ids[0], stamps.salts, new_events[1:]
    end = len(new_events) * SALT_BYTES
    return (
        stamps.ids[1:],
        [event.type for event in later],
        [event.schema_version for event in later],
        [event.at for event in later],
        [event.actor for event in later],
        [event.correlation_id or first for event in later],
        [event.causation_id or first for event in later],
        [event.observed for event in later],
        [salts[at : at + SALT_BYTES] for at in range(SALT_BYTES, end, SALT_BYTES)],
        [event.payload for event in later],
    )


def append_answer(answer: Value) -> tuple[str, int, bytes, int, bytes]:
    """Return outcome, place, hash there, version and last hash, as far as each is told."""
    outcome, place, hash_, version, last = fields(answer or b"")
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
