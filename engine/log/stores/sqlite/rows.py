"""Conversion between events and database rows."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, product
from operator import attrgetter
from typing import Any, Final

import msgspec

from ....errors import RESCUE, UnreadableError
from ...chain import FIELD_KINDS, misfit
from ...envelope import DOCUMENT_BYTES_MAX, RecordedEvent

ROWS_PER_INSERT = 64
BATCH_BYTES = 1024 * 1024
"""The maximum size of the payloads that are bound at once."""

_OPTIONAL: Final = ("key", "key_digest")
_WRITTEN: Final = (
    *(name for name in RecordedEvent.__struct_fields__ if name not in _OPTIONAL),
    *_OPTIONAL,
)
_KEYED: Final = f"({', '.join('?' * len(_WRITTEN))})"
_UNKEYED: Final = f"({', '.join('?' * (len(_WRITTEN) - len(_OPTIONAL)))}, NULL, NULL)"

# Part of SQLite itself since then.
_HAS_JSON = sqlite3.sqlite_version_info >= (3, 38)
_LENGTH_BITS: Final = DOCUMENT_BYTES_MAX.bit_length()
_FILL: Final = b"\n"
"""A character that never occurs in a name or a time."""
_OFTEN_SHARED: Final = (
    *("type", "schema_version", "at", "actor", "correlation_id", "causation_id"),
    "observed",
)
"""The columns whose values most batches share."""
_often_shared: Final = attrgetter(*_OFTEN_SHARED)
_NUMBERS: Final = ("schema_version", "observed")
_SALT: Final = attrgetter("salt")
_PAYLOAD: Final = attrgetter("payload")


def _cut(name: str, width: object) -> str:
    return f"substr(:{name}, 1 + key * {width}, {width})"


_COUNTED: Final = {
    "position": ":position + key",
    "stream": ":stream",
    "version": ":version + key",
    "recorded_at": ":recorded_at",
    "remaining": ":remaining - key",
    "id": f"CAST({_cut('id', 36)} AS TEXT)",
    "salt": _cut("salt", 16),
    "payload": f"CAST(substr(:payload, value >> {_LENGTH_BITS},"
    f" value & {(1 << _LENGTH_BITS) - 1}) AS TEXT)",
    "payload_digest": _cut("payload_digest", 32),
    "hash": _cut("hash", 32),
}
"""The expressions of the other columns; `key` counts the events."""

READ: Final = ", ".join(
    "CAST(payload AS BLOB)" if name == "payload" else name
    for name in RecordedEvent.__struct_fields__
)
"""The columns that `events_of` converts to events."""

_fields = msgspec.structs.astuple
_OBSERVED: Final = RecordedEvent.__struct_fields__.index("observed")
_SOUND: Final = {
    (*kinds, observed) for kinds in product(*FIELD_KINDS.values()) for observed in (0, 1)
}
"""The valid combinations of column types, including the value of `observed`."""


def insert(events: Sequence[RecordedEvent]) -> tuple[str, list[Any]]:
    """Return the statement that inserts a few events of one append, and its values."""
    first = events[0]
    values = _values(first)
    # Only the first event of an append has a key.
    if is_keyed := first.key is not None:
        values += (first.key, first.key_digest)
    elif len(events) == 1:
        return _ONE, values
    for event in events[1:]:
        values += _values(event)
    return _insert_sql(len(events), is_keyed=is_keyed), values


def _values(event: RecordedEvent) -> list[Any]:
    """Return an event's bound values, without its key.

    Python's sqlite3 binds int, str and bytearray directly. All other types, including
    bytes, True and None, are first passed to its adapters, which takes 0.5 to 1 µs per
    value.
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


def insert_many(events: Sequence[RecordedEvent]) -> Iterator[tuple[str, Any]]:
    """Yield the statements that insert many events of one append, with their values."""
    if not _HAS_JSON:
        for start in range(0, len(events), ROWS_PER_INSERT):
            yield insert(events[start : start + ROWS_PER_INSERT])
        return
    if events[0].key is not None:
        yield insert(events[:1])
        events = events[1:]
    sizes = [*map(len, map(_PAYLOAD, events))]
    start = size = 0
    if sum(sizes) >= BATCH_BYTES:
        for end, one in enumerate(sizes, 1):
            size += one
            if size >= BATCH_BYTES:
                yield _by_columns(events[start:end], sizes[start:end])
                start, size = end, 0
    if start < len(events):
        yield _by_columns(events[start:], sizes[start:])


def _by_columns(
    events: Sequence[RecordedEvent], sizes: Sequence[int]
) -> tuple[str, dict[str, Any]]:
    """Return the statement that inserts events without a key, and its values.

    Common values are bound once, and all other values as a single string that SQLite
    splits: binding 17 values for each event would take as long as storing them.
    """
    first = events[0]
    values: dict[str, Any] = {
        "position": first.position,
        "stream": first.stream,
        "version": first.version,
        "recorded_at": first.recorded_at,
        "remaining": first.remaining,
        "id": "".join([event.id for event in events]).encode(),
        "salt": b"".join(map(_SALT, events)),
        "payload_digest": b"".join([event.payload_digest for event in events]),
        "hash": b"".join([event.hash for event in events]),
        "payload": b"".join(map(_PAYLOAD, events)),
    }
    shared = [*map(_often_shared, events)]
    # In most batches, all values equal the first one.
    kinds = shared[:1] if shared.count(shared[0]) == len(shared) else shared
    own = []
    for name, column in zip(_OFTEN_SHARED, zip(*kinds, strict=True), strict=True):
        if column.count(column[0]) == len(column):
            values[name] = column[0]
            continue
        if name in _NUMBERS:
            column = tuple(str(int(number)) for number in column)
        texts = [text.encode() for text in column]
        width = max(map(len, texts))
        values[name] = b"".join([text.ljust(width, _FILL) for text in texts])
        values[f"{name}_width"] = width
        own.append(name)
    begins = accumulate(sizes, initial=1)
    places = [
        begin << _LENGTH_BITS | size for begin, size in zip(begins, sizes, strict=False)
    ]
    values["places"] = msgspec.json.encode(places).decode()
    return _columns_sql(tuple(own)), values


def insert_each(events: Iterable[RecordedEvent]) -> tuple[str, Iterable[tuple[Any, ...]]]:
    """Return the statement that inserts one event, and the values for each event.

    The events may belong to different appends, and their payloads may be erased.
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
    """Return events from rows with the `READ` columns.

    Raise `UnreadableError` if a column contains an invalid value.
    """
    rows = list(rows)
    if not {(*map(type, row), row[_OBSERVED]) for row in rows} <= _SOUND:
        for row in rows:
            if wrong := misfit(row):
                position = row[0] if isinstance(row[0], int) else None
                raise UnreadableError(wrong, position=position, hint=RESCUE)
    # Unpacked explicitly, which takes half as long as slicing: every reader uses this.
    return [
        RecordedEvent(a, b, c, d, e, f, g, h, i, j, k, x, m, n, o == 1, p, q, r, s)
        for a, b, c, d, e, f, g, h, i, j, k, x, m, n, o, p, q, r, s in rows
    ]


@lru_cache(maxsize=2 * ROWS_PER_INSERT)
def _insert_sql(rows: int, *, is_keyed: bool) -> str:
    values = [_KEYED if is_keyed else _UNKEYED, *[_UNKEYED] * (rows - 1)]
    return f"INSERT INTO events ({', '.join(_WRITTEN)}) VALUES {', '.join(values)}"


@lru_cache(maxsize=16)
def _columns_sql(own: tuple[str, ...]) -> str:
    cut = {name: f":{name}" for name in _OFTEN_SHARED}
    for name in own:
        text = f"rtrim(CAST({_cut(name, f':{name}_width')} AS TEXT), char({ord(_FILL)}))"
        cut[name] = f"CAST({text} AS INTEGER)" if name in _NUMBERS else text
    forms = _COUNTED | cut
    columns, wanted = ", ".join(forms), ", ".join(forms.values())
    return f"INSERT INTO events ({columns}) SELECT {wanted} FROM json_each(:places)"


_ONE: Final = _insert_sql(1, is_keyed=False)
