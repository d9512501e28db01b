"""Where iterations began: a few bytes each, so that a state of 10,000 is read at once."""

from collections.abc import Iterator
from struct import Struct

_START = Struct("<qQ")
_NUMBER_MAX = 2**63 - 1


def add(starts: bytearray, number: int, version: int) -> None:
    """Keep the version that started an iteration."""
    # Whatever another tool counted: a fold never fails.
    starts += _START.pack(max(-_NUMBER_MAX, min(number, _NUMBER_MAX)), version)


def newest_first(starts: bytearray) -> Iterator[tuple[int, int]]:
    """Yield number and version of every iteration, beginning with the last one."""
    for place in range(len(starts) - _START.size, -1, -_START.size):
        yield _START.unpack_from(starts, place)
