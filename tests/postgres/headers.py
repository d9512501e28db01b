"""Headers as the server makes them, compared with ours."""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from sprintlog.engine.log.chain import encode_header

ROWS_A_CALL, TEXTS_A_LENGTH = 2_000, 500
_KINDS = (
    *("bigint", "text", "bigint", "text", "text", "int", "text", "text", "text", "text"),
    *("text", "text", "bytea", "int", "bool"),
)
_ASKED = (
    "SELECT sprintlog.header(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o) FROM unnest("
    + ", ".join(f"%s::{kind}[]" for kind in _KINDS)
    + ") AS u(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)"
)
_LENGTHS = (0, 1, 31, 32, 33, 63, 64, 127, 128, 159, 160)
_DIGEST_BYTES = (1, 31, 32, 64, 255)
_NUMBERS = (1, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**40)
_LETTERS = "aZ09-/ üß操😀\u2028"


def headers(connection: Any, rows: Sequence[Sequence[Any]]) -> list[bytes]:
    """Return the headers of some envelopes as the server makes them."""
    columns = [[*column] for column in zip(*rows, strict=True)]
    return [header for (header,) in connection.execute(_ASKED, columns, binary=True)]


def compared(
    connection: Any,
    count: int,
    *,
    seed: int,
    tell: Callable[[int], None] = lambda done: None,
) -> int:
    """Return how many of so many random headers are different there and here."""
    made = _random_rows(Random(seed))
    different = 0
    for start in range(0, count, ROWS_A_CALL):
        rows = [next(made) for _ in range(min(ROWS_A_CALL, count - start))]
        theirs = headers(connection, rows)
        ours = map(encode_header, rows)
        different += sum(1 for one, other in zip(theirs, ours, strict=True) if one != other)
        tell(start + len(rows))
    return different


def _random_rows(chance: Random) -> Iterator[tuple[Any, ...]]:
    # Generated once, because generating ten texts for each of a million rows would dominate
    # the measurement.
    texts = ["".join(chance.choices(_LETTERS, k=n)) for n in _LENGTHS * TEXTS_A_LENGTH]

    def text() -> str:
        return chance.choice(texts)

    def number(most: int = 2**40) -> int:
        return min(most, max(0, chance.choice(_NUMBERS) + chance.randrange(-1, 2)))

    while True:
        key = text() if chance.random() < 0.5 else None
        digest = (
            chance.randbytes(chance.choice(_DIGEST_BYTES))
            if chance.random() < 0.5
            else None
        )
        yield (
            number(), text(), number(), text(), text(), number(2**31 - 1), text(), text(),
            text(), text(), text(), key, digest, number(2**31 - 1), chance.random() < 0.5,
        )  # fmt: skip
