"""Where iterations began: two bytes for most of them, so that a state stays small.

The last one stands at the end in full. Before it stand the steps back to those before it,
newest last: how many versions earlier the iteration one below began, or 0 behind one that
stands there in full.
"""

from collections.abc import Iterator
from struct import Struct

_START = Struct("<qQ")
_STEP = Struct("<H")
_STEP_MAX = 2**16 - 1
_IN_FULL = 0
_NUMBER_MAX = 2**63 - 1


def add(starts: bytearray, number: int, version: int) -> None:
    """Keep the version that started an iteration."""
    # Whatever another tool counted: a fold never fails.
    number = max(-_NUMBER_MAX, min(number, _NUMBER_MAX))
    if starts:
        last, since = _START.unpack_from(starts, len(starts) - _START.size)
        if number == last + 1 and 0 < version - since <= _STEP_MAX:
            del starts[-_START.size :]
            starts += _STEP.pack(version - since)
        else:
            starts += _STEP.pack(_IN_FULL)
    starts += _START.pack(number, version)


def newest_first(starts: bytearray) -> Iterator[tuple[int, int]]:
    """Yield number and version of every iteration, beginning with the last one."""
    if not starts:
        return
    place = len(starts) - _START.size
    number, version = _START.unpack_from(starts, place)
    yield number, version
    while place > 0:
        place -= _STEP.size
        (step,) = _STEP.unpack_from(starts, place)
        if step == _IN_FULL:
            place -= _START.size
            number, version = _START.unpack_from(starts, place)
        else:
            number, version = number - 1, version - step
        yield number, version
