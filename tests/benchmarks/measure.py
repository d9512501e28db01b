"""How two things are timed side by side, and what a row of the table is made of."""

import gc
import time
from collections.abc import Callable, Iterable
from statistics import median
from typing import NamedTuple

Clock = Callable[[], float]
Work = Callable[[], object]
Pick = Callable[[Iterable[float]], float]

# Of work that only computes, the quickest round was disturbed least by other processes,
# and processor time leaves out what they took. Waiting for a disk differs by its nature.
PROCESSOR: tuple[Clock, Pick] = (time.process_time, min)
WALL: tuple[Clock, Pick] = (time.perf_counter, median)


class Skip(Exception):  # noqa: N818 - not an error
    """A row cannot be measured here; the message says why."""


class Sides(NamedTuple):
    """Seconds that one unit took on either side."""

    ours: float
    theirs: float


class Figure(NamedTuple):
    """What a row found; the ratio is ours to theirs in the sense of its goal."""

    ours: float
    theirs: float
    unit: str
    against: str
    ratio: float
    note: str = ""


class Goal(NamedTuple):
    """What a ratio should be; None where a row is only told."""

    value: float | None = None
    at_most: bool = False
    unit: str = "x"

    def is_met_by(self, ratio: float) -> bool | None:
        """Tell whether a ratio is good enough; None where there is no goal."""
        if self.value is None:
            return None
        return ratio <= self.value if self.at_most else ratio >= self.value


def side_by_side(
    ours: Work,
    theirs: Work,
    *,
    rounds: int,
    by: tuple[Clock, Pick] = PROCESSOR,
    units: tuple[int, int] = (1, 1),
    before: Work = lambda: None,
) -> Sides:
    """Return what one unit takes on either side, measured in turns (AB, BA, AB).

    `units` says how many of them one call does on either side, `before` makes ready what
    a round needs and is not measured.
    """
    clock, pick = by
    took: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds):
        before()
        gc.collect()
        for side in (0, 1) if turn % 2 == 0 else (1, 0):
            work = theirs if side else ours
            began = clock()
            work()
            took[side].append((clock() - began) / units[side])
    return Sides(pick(took[0]), pick(took[1]))


def rate(sides: Sides, against: str, *, unit: str = "/s", size: float = 1) -> Figure:
    """Return both sides as rates; `size` is how much one unit is worth."""
    ours, theirs = size / sides.ours, size / sides.theirs
    return Figure(ours, theirs, unit, against, ours / theirs)


def duration(sides: Sides, against: str) -> Figure:
    """Return both sides in milliseconds; the ratio says how much longer ours takes."""
    ours, theirs = sides.ours * 1000, sides.theirs * 1000
    return Figure(ours, theirs, "ms", against, ours / theirs)


def speed_up(sides: Sides, against: str) -> Figure:
    """Return both sides in milliseconds; the ratio says how much faster ours is."""
    ours, theirs = sides.ours * 1000, sides.theirs * 1000
    return Figure(ours, theirs, "ms", against, theirs / ours)


def shown(number: float, unit: str) -> str:
    """Return a figure with three digits, and its unit."""
    if number >= 100:
        return f"{number:,.0f} {unit}"
    return f"{number:.{2 if number < 10 else 1}f} {unit}"
