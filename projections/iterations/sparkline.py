"""A row of numbers as a line of bars, one character each."""

from collections.abc import Sequence
from fractions import Fraction

BARS = "▁▂▃▄▅▆▇█"
PLAIN = "_.-=+*#@"
"""For terminals that cannot show the bars."""
WIDTH_MAX = 60
"""Of more numbers only the last ones are drawn."""


def sparkline(values: Sequence[Fraction | None], marks: str = BARS) -> str:
    """Return the numbers as marks between the smallest and the greatest of them.

    A missing one leaves a gap; equal ones stand in the middle.
    """
    drawn = values[-WIDTH_MAX:]
    known = [value for value in drawn if value is not None]
    if not known:
        return " " * len(drawn)
    low, span, top = min(known), max(known) - min(known), len(marks) - 1
    return "".join(
        " "
        if value is None
        else marks[int((value - low) / span * top + Fraction(1, 2)) if span else top // 2]
        for value in drawn
    )
