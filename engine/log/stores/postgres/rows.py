"""SQL statements for appends, and their values in PostgreSQL's wire format.

The driver determines the type of each value on every call; here, each statement has fixed
types.
"""

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from struct import Struct
from typing import Any, NamedTuple

from sprintlog.stores import Expect, Expected, PreparedAppend, Span

BOOL, BYTES, INT8, INT4, TEXT = 16, 17, 20, 23, 25
"""The OIDs of the value types, which never change."""

_ARRAYS = {BOOL: 1000, BYTES: 1001, INT4: 1007, TEXT: 1009, INT8: 1016}
BINARY = 1
_int4, _int8 = Struct("!i").pack, Struct("!q").pack
_array = Struct("!iiiii").pack
_field = Struct("!Ii").unpack_from

Value = bytes | None


class Statement(NamedTuple):
    """A statement and the types of its values."""

    name: bytes
    """The name of the prepared statement, which contains its digest."""
    sql: bytes
    types: list[int]
    formats: list[int]
    encoders: list[Callable[[Any], Value]]

    def encoded(self, values: Iterable[Any]) -> list[Value]:
        """Return the values in the wire format."""
        return [
            None if value is None else encode(value)
            for encode, value in zip(self.encoders, values, strict=True)
        ]


def call_of(
    function: str,
    values: Sequence[int],
    arrays: Sequence[int] = (),
    form: str = "SELECT {}({})",
) -> Statement:
    """Return a statement that calls a function with values followed by arrays.

    By default, the statement returns the function's row as a single value.
    """
    marks = ", ".join(f"${number + 1}" for number in range(len(values) + len(arrays)))
    return statement_of(form.format(function, marks), values, arrays, function)


def statement_of(
    sql: str,
    values: Sequence[int] = (),
    arrays: Sequence[int] = (),
    named: str = "sprintlog",
) -> Statement:
    """Return a statement with placeholders for values followed by arrays."""
    types = [*values, *(_ARRAYS[kind] for kind in arrays)]
    text = sql.encode()
    digest = sha256(text + repr(types).encode()).hexdigest()[:16]
    encoders = [*(_ENCODERS[kind] for kind in values), *map(_array_of, arrays)]
    formats = [BINARY] * len(types)
    return Statement(f"{named}-{digest}".encode(), text, types, formats, encoders)


_ENCODERS: dict[int, Callable[[Any], Value]] = {
    BOOL: lambda value: b"\1" if value else b"\0",
    **{BYTES: bytes, INT4: _int4, INT8: _int8, TEXT: str.encode},
}


def _array_of(kind: int) -> Callable[[Any], Value]:
    encode = _ENCODERS[kind]

    def encoded(values: Sequence[Any]) -> bytes:
        parts = [_array(1, None in values, kind, len(values), 1)]
        for value in values:
            if value is None:
                parts.append(b"\xff\xff\xff\xff")
            else:
                one = encode(value)
                parts += (_int4(len(one)), one)  # type: ignore[arg-type]
        return b"".join(parts)

    return encoded


def fields(row: bytes) -> list[Value]:
    """Return the fields of a row, each of which was encoded with its type and length."""
    found: list[Value] = []
    at, end = 4, len(row)
    while at < end:
        _, length = _field(row, at)
        at += 8
        found.append(None if length < 0 else row[at : at + length])
        at += max(length, 0)
    return found


def number(value: Value) -> int:
    """Return a number decoded from the wire format."""
    return int.from_bytes(value or b"", signed=True)


_VERSION_MAX = 2**63 - 1
_EVENT = (TEXT, TEXT, INT4, TEXT, TEXT, TEXT, TEXT, BOOL, BYTES, BYTES)
_HEAD = (INT4, INT8, BYTES)
_OF_APPEND = (
    *(*_HEAD, TEXT, INT8, BOOL, TEXT, TEXT, INT8, INT8, TEXT, BYTES, TEXT),
    *_EVENT,
)
APPEND = call_of("sprintlog.append", _OF_APPEND)
APPEND_MANY = call_of("sprintlog.append", _OF_APPEND, _EVENT)
# The result is an output parameter.
APPEND_SHARED = call_of("sprintlog.append_shared", _OF_APPEND, form="CALL {}({}, NULL)")
_OF_NEXT = (*_HEAD, TEXT, TEXT, INT8, TEXT, BYTES, TEXT, *_EVENT)
APPEND_NEXT = call_of("sprintlog.append_next", _OF_NEXT)
ERASE = f"SELECT * FROM sprintlog.erase({', '.join(['%b'] * 5)}, %b::text[], %b::bigint[],\
 %b::bigint[], %s::text[], %s::bytea[], {', '.join(['%b'] * 12)})"
TAKE = call_of(
    "sprintlog.take",
    (INT4,),
    (
        *(INT8, TEXT, INT8, TEXT, TEXT, INT4, TEXT, TEXT, TEXT, TEXT, TEXT),
        *(TEXT, BYTES, INT4, BOOL, BYTES, BYTES, BYTES, BYTES),
    ),
    "SELECT * FROM {}({})",
)


def bounds(expect: Expected) -> tuple[int, int]:
    """Return the lowest and highest version that the stream may have."""
    if isinstance(expect, Expect):
        least = 1 if expect is Expect.EXISTS else 0
        return least, 0 if expect is Expect.NONE else _VERSION_MAX
    return expect, expect


def event_values(prepared: PreparedAppend, index: int = 0) -> tuple[Any, ...]:
    """Return the values of one event in an append, by default the first."""
    new_event, ids = prepared.events[index], prepared.stamps.ids
    return (
        *(ids[index], new_event.type, new_event.schema_version, new_event.at),
        *(new_event.actor, new_event.correlation_id or ids[0]),
        *(new_event.causation_id or ids[0], new_event.observed),
        *(prepared.salts[index], new_event.payload),
    )


def append_answer(answer: Value) -> tuple[str, int, bytes, int, bytes]:
    """Return the fields of the server's answer to an append.

    The fields are the outcome, a position with its hash, a version, and the last hash;
    fields missing from the answer are empty.
    """
    outcome, place, hash_, version, last = fields(answer or b"")
    said, before, end = (outcome or b"").decode(), hash_ or b"", last or b""
    return said, number(place), before, number(version), end


def span_values(spans: Sequence[Span]) -> tuple[list[Any], ...]:
    """Return the fields of event spans, as one list per field."""
    return (
        [span.stream for span in spans],
        [span.first for span in spans],
        [span.last for span in spans],
        [span.only for span in spans],
    )


def columns(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Return rows as one list per field."""
    return [[*column] for column in zip(*rows, strict=True)]
