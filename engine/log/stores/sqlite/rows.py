"""An event as a row of the database: how it is written, and how it is read again."""

import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import count, product
from typing import Any, Final

import msgspec

from ....errors import RESCUE, UnreadableError
from ...chain import FIELD_KINDS, misfit
from ...envelope import RecordedEvent

ROWS_PER_INSERT = 64

_OPTIONAL: Final = ("key", "key_digest")
_WRITTEN: Final = (
    *(name for name in RecordedEvent.__struct_fields__ if name not in _OPTIONAL),
    *_OPTIONAL,
)
_SHARED: Final = {"position": "?1 + {}", "stream": "?2", "version": "?3 + {}"} | {
    "recorded_at": "?4",
    "remaining": "?5 - {}",
}
"""What one append binds once for all of its events; they count on from the first."""
_OWN: Final = [n for n in _WRITTEN if n not in _SHARED and n not in _OPTIONAL]
# Python 3.12 warns of each value that has a number, which takes longer than to bind it.
_IS_NUMBERED = sys.version_info[:2] != (3, 12)
_KEYED: Final = f"({', '.join('?' * len(_WRITTEN))})"
_UNKEYED: Final = f"({', '.join('?' * (len(_WRITTEN) - len(_OPTIONAL)))}, NULL, NULL)"

READ: Final = ", ".join(
    "CAST(payload AS BLOB)" if name == "payload" else name
    for name in RecordedEvent.__struct_fields__
)
"""The columns of which `events_of` makes events."""

_fields = msgspec.structs.astuple
_OBSERVED: Final = RecordedEvent.__struct_fields__.index("observed")
_SOUND: Final = {
    (*kinds, observed) for kinds in product(*FIELD_KINDS.values()) for observed in (0, 1)
}
"""The types that the columns of a row may have, and what `observed` may be."""


def insert(events: Sequence[RecordedEvent]) -> tuple[str, list[Any]]:
    """Return the statement that inserts the events of one append, and its values."""
    first = events[0]
    if len(events) > 1 and _IS_NUMBERED:
        return _numbered_sql(len(events), first.key is not None), _numbered(events)
    values = _values(first)
    # Only the first of an append has a key.
    if is_keyed := first.key is not None:
        values += (first.key, first.key_digest)
    elif len(events) == 1:
        return _ONE, values
    for event in events[1:]:
        values += _values(event)
    return _insert_sql(len(events), is_keyed=is_keyed), values


def _values(event: RecordedEvent) -> list[Any]:
    """Return what is bound for an event, but its key.

    Python's sqlite3 takes int, str and bytearray as they are. Everything else, also bytes,
    True and None, first goes through its adapters: 0.5 to 1 µs for each value.
    """
    salt, payload = event.salt, event.payload
    assert salt is not None
    assert payload is not None
    return [
        event.position,
        event.stream,
        event.version,
        event.id,
        event.type,
        event.schema_version,
        event.at,
        event.recorded_at,
        event.actor,
        event.correlation_id,
        event.causation_id,
        event.remaining,
        1 if event.observed else 0,
        bytearray(salt),
        payload.decode(),
        bytearray(event.payload_digest),
        bytearray(event.hash),
    ]


def _numbered(events: Sequence[RecordedEvent]) -> list[Any]:
    """Return what is bound for the events of one append, with what they share once."""
    first = events[0]
    place, version = first.position, first.version
    values = [place, first.stream, version, first.recorded_at, first.remaining]
    if first.key is not None:
        values += (first.key, first.key_digest)
    for event in events:
        salt, payload = event.salt, event.payload
        assert salt is not None
        assert payload is not None
        values += (
            event.id,
            event.type,
            event.schema_version,
            event.at,
            event.actor,
            event.correlation_id,
            event.causation_id,
            1 if event.observed else 0,
            bytearray(salt),
            payload.decode(),
            bytearray(event.payload_digest),
            bytearray(event.hash),
        )
    return values


def insert_each(events: Iterable[RecordedEvent]) -> tuple[str, Iterable[tuple[Any, ...]]]:
    """Return the statement that inserts one event of any append, and its values for each.

    They may be of many appends, and their payloads may have been erased.
    """
    fields = RecordedEvent.__struct_fields__
    payload = fields.index("payload")
    rows = (
        (*row[:payload], row[payload] and row[payload].decode(), *row[payload + 1 :])
        for row in map(_fields, events)
    )
    marks = ", ".join("?" * len(fields))
    return f"INSERT INTO events ({', '.join(fields)}) VALUES ({marks})", rows


def events_of(rows: Iterable[Any]) -> list[RecordedEvent]:
    """Return rows of the `READ` columns as events.

    Raise `UnreadableError` where a column holds what it cannot.
    """
    rows = list(rows)
    if not {(*map(type, row), row[_OBSERVED]) for row in rows} <= _SOUND:
        for row in rows:
            if wrong := misfit(row):
                position = row[0] if isinstance(row[0], int) else None
                raise UnreadableError(wrong, position=position, hint=RESCUE)
    # Unpacked by hand, which takes half as long as slices: every reader comes by here.
    return [
        RecordedEvent(a, b, c, d, e, f, g, h, i, j, k, x, m, n, o == 1, p, q, r, s)
        for a, b, c, d, e, f, g, h, i, j, k, x, m, n, o, p, q, r, s in rows
    ]


@lru_cache(maxsize=2 * ROWS_PER_INSERT)
def _insert_sql(rows: int, *, is_keyed: bool) -> str:
    values = [_KEYED if is_keyed else _UNKEYED, *[_UNKEYED] * (rows - 1)]
    return f"INSERT INTO events ({', '.join(_WRITTEN)}) VALUES {', '.join(values)}"


@lru_cache(maxsize=2 * ROWS_PER_INSERT)
def _numbered_sql(rows: int, is_keyed: bool) -> str:
    keys = ["?6", "?7"] if is_keyed else ["NULL", "NULL"]
    numbers = count(8 if is_keyed else 6)
    texts = []
    for row in range(rows):
        shared = [form.format(row) for form in _SHARED.values()]
        own = [f"?{next(numbers)}" for _ in _OWN]
        texts.append(f"({', '.join([*shared, *own, *(['NULL'] * 2 if row else keys)])})")
    columns = ", ".join([*_SHARED, *_OWN, *_OPTIONAL])
    return f"INSERT INTO events ({columns}) VALUES {', '.join(texts)}"


_ONE: Final = _insert_sql(1, is_keyed=False)
