"""Repeated signatures: a loop that goes in circles, and one that never will end."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from .metrics import Figures

WINDOW = 5
"""How many iterations are looked at."""
MESSAGE = "Infinite loop detected: metrics cycling"

Signature = tuple[int, Fraction, Fraction, int]


class Loop(NamedTuple):
    """What repeats."""

    is_infinite: bool
    """False for a pattern that is seen before it is certain."""
    why: str


def signature(now: Figures) -> Signature | None:
    """Return what makes two iterations alike; None when a part of it is missing."""
    parts = (now.test_count, now.pass_rate, now.coverage, now.error_count)
    if None in parts:
        return None
    return parts  # type: ignore[return-value]


def find_loop(
    number: int, signatures: Sequence[Signature | None], *, after: int
) -> Loop | None:
    """Return what repeats in the last five iterations, the newest one last.

    Later than iteration `after` any repeat with another signature in between is an
    infinite loop; before, only A-B-A-B and five alike are a pattern.
    """
    window = list(signatures[-WINDOW:])
    if not window or window[-1] is None:
        return None
    is_late = number > after
    if len(window) == WINDOW and set(window) == {window[-1]}:
        return Loop(is_late, f"the last {WINDOW} iterations are alike")
    if is_late:
        return _repeat(number, window)
    if len(window) >= 4 and None not in window[-4:]:
        a, b, c, d = window[-4:]
        if a == c and b == d and a != b:
            return Loop(False, "the last 4 iterations go to and fro")
    return None


def _repeat(number: int, window: list[Signature | None]) -> Loop | None:
    """Return the loop where the newest signature was left and came back."""
    newest = window[-1]
    earlier = window[:-1]
    if newest not in earlier:
        return None
    back = len(earlier) - earlier.index(newest)
    between = {one for one in window[-back:-1] if one is not None} - {newest}
    if not between:
        return None
    return Loop(True, f"iteration {number} is like the one {back} before it")
