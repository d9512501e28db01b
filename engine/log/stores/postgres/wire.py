"""Values as PostgreSQL's protocol has them, for the statements that every event passes.

The driver asks of each value what it is; here that is known of each statement.
"""

from collections.abc import Callable, Iterable, Sequence
from struct import Struct
from typing import Any, NamedTuple

from .... import hashes

BOOL, BYTES, INT8, INT4, TEXT = 16, 17, 20, 23, 25
"""The types of values, by their numbers, which never change."""

_ARRAYS = {BOOL: 1000, BYTES: 1001, INT4: 1007, TEXT: 1009, INT8: 1016}
BINARY = 1
_int4, _int8 = Struct("!i").pack, Struct("!q").pack
_array = Struct("!iiiii").pack
_field = Struct("!Ii").unpack_from

Value = bytes | None


class Statement(NamedTuple):
    """A statement with the types of its values."""

    name: bytes
    """What it is called once it is prepared: by its digest."""
    sql: bytes
    types: list[int]
    formats: list[int]
    encoders: list[Callable[[Any], Value]]

    def encoded(self, values: Iterable[Any]) -> list[Value]:
        """Return what is sent for its values."""
        return [
            None if value is None else encode(value)
            for encode, value in zip(self.encoders, values, strict=True)
        ]


def call_of(
    function: str,
    values: Sequence[int],
    arrays: Sequence[int] = (),
) -> Statement:
    """Return the call of a function that takes values, and arrays behind them."""
    asked = f"SELECT * FROM {function}({marks(len(values) + len(arrays))})"
    return statement_of(asked, values, arrays, function)


def row_of(function: str, values: Sequence[int], arrays: Sequence[int] = ()) -> Statement:
    """Return the call of a function whose row comes as one value, without a table of it."""
    asked = f"SELECT {function}({marks(len(values) + len(arrays))})"
    return statement_of(asked, values, arrays, function)


def marks(count: int) -> str:
    """Return the marks of so many values."""
    return ", ".join(f"${number}" for number in range(1, count + 1))


def statement_of(
    sql: str,
    values: Sequence[int] = (),
    arrays: Sequence[int] = (),
    named: str = "sprintlog",
) -> Statement:
    """Return a statement whose numbered marks are values, and arrays behind them."""
    types = [*values, *(_ARRAYS[kind] for kind in arrays)]
    text = sql.encode()
    digest = hashes.sha256(text + repr(types).encode()).hexdigest()[:16]
    encoders = [*(_ENCODERS[kind] for kind in values), *map(_array_of, arrays)]
    formats = [BINARY] * len(types)
    return Statement(f"{named}-{digest}".encode(), text, types, formats, encoders)


def _same(value: bytes) -> bytes:
    return value


def _bool(value: bool) -> bytes:
    return b"\1" if value else b"\0"


_ENCODERS: dict[int, Callable[[Any], Value]] = {
    BOOL: _bool, BYTES: _same, INT4: _int4, INT8: _int8, TEXT: str.encode,
}  # fmt: skip


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
    """Return the fields of a row: each comes with its type and its length."""
    found: list[Value] = []
    at, end = 4, len(row)
    while at < end:
        _, length = _field(row, at)
        at += 8
        found.append(None if length < 0 else row[at : at + length])
        at += max(length, 0)
    return found


def number(value: Value) -> int:
    """Return a number that the server answered."""
    return int.from_bytes(value or b"", signed=True)
