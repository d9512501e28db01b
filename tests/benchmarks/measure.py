"""Time two alternatives in turns, and build a row of the table.

Rows about time have two ratios. `processor` compares the least CPU time of either side,
which other processes disturb least. `pairs` is the median of the ratios within the pairs,
by the clock that the row specifies.
"""

import gc
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import median
from typing import NamedTuple

Clock = Callable[[], float]
Work = Callable[[], object]
Pick = Callable[[Iterable[float]], float]

OURS = "ours: "
"""How the baseline of a row begins that runs our own code; a test looks for it."""


def processor_of_all() -> float:
    """Return the CPU time of this process and of all processes it started."""
    living = sum(map(_time_of_living, Path("/proc/self/task").glob("*/children")))
    used = [getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN)]
    return living + sum(part.ru_utime + part.ru_stime for part in used)


def _time_of_living(children: Path) -> float:
    """Return the CPU time of children that are still running, including all threads."""
    return sum(map(_time_of, map(int, children.read_text().split())))


def _time_of(process: int) -> float:
    # Linux derives a process's CPU clock id in this way. The clock has nanoseconds, `/proc`
    # only hundredths of a second.
    try:
        return time.clock_gettime(~process << 3 | 2)
    except OSError:
        return 0.0


class By(NamedTuple):
    """The clock of a row, the function that combines its rounds, and its CPU clock."""

    clock: Clock
    pick: Pick
    processor: Clock = time.process_time


# For pure computation, the fastest round was least disturbed by other processes, and CPU
# time excludes their share. Waiting for a disk varies by nature.
PROCESSOR = By(time.process_time, min)
PROCESSOR_BY_PAIRS = By(time.process_time, median)
"""For what waits for the disk in between, whose least round is that of the quickest disk.

For work of seconds, too: a machine that changes its speed within them is quick for a whole
round of the shorter side more often than of the longer one, so the least do not compare."""
PROCESSES = By(processor_of_all, min, processor_of_all)
"""For what starts processes and awaits their end."""
WALL = By(time.perf_counter, median)
WALL_OF_PROCESSES = By(time.perf_counter, median, processor_of_all)
"""For what talks to a process that stays; its rounds take a tenth of a second or more."""


around: Callable[[Work], Work] = lambda work: work  # noqa: E731 - it is replaced
"""The context of our side of a row: nothing, or a profile."""


class Skip(Exception):  # noqa: N818 - not an error
    """A row cannot be measured here; the message states the reason."""


class Sides(NamedTuple):
    """The seconds per unit on either side, and two ratios of our time to theirs."""

    ours: float
    theirs: float
    processor: float | None = None
    """Ratio of the least processor times."""
    pairs: float | None = None
    """Median of the ratios within the pairs, by the row's clock."""
    is_by_pairs: bool = False

    @property
    def ratio(self) -> float:
        """Return the ratio on which the goal is based."""
        if self.is_by_pairs and self.pairs:
            return self.pairs
        return self.ours / self.theirs


class Figure(NamedTuple):
    """The result of a row; the ratio compares ours with theirs as in its goal."""

    ours: float
    theirs: float
    unit: str
    against: str
    ratio: float
    note: str = ""
    processor: float | None = None
    pairs: float | None = None


class Goal(NamedTuple):
    """The goal for a ratio; None for a row without a goal."""

    value: float | None = None
    at_most: bool = False
    unit: str = "x"

    def is_met_by(self, ratio: float) -> bool | None:
        """Return whether a ratio is good enough; None without a goal."""
        if self.value is None:
            return None
        return ratio <= self.value if self.at_most else ratio >= self.value


def side_by_side(
    ours: Work,
    theirs: Work,
    *,
    rounds: int,
    by: By | tuple[Clock, Pick] = PROCESSOR,
    units: tuple[int, int] = (1, 1),
    before: Work = lambda: None,
) -> Sides:
    """Return the time per unit on either side, measured in turns (AB, BA, AB).

    `units` is the number of units per call. `before` prepares a round and is not measured.
    """
    by, ours = By(*by), around(ours)
    took: tuple[list[float], list[float]] = ([], [])
    used: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds):
        before()
        gc.collect()
        for side in (0, 1) if turn % 2 == 0 else (1, 0):
            seconds, processor = _timed(theirs if side else ours, by)
            took[side].append(seconds / units[side])
            used[side].append(processor / units[side])
    pairs = [ours / theirs for ours, theirs in zip(*took, strict=True) if theirs > 0]
    least = min(used[0]), min(used[1])
    return Sides(
        by.pick(took[0]),
        by.pick(took[1]),
        least[0] / least[1] if min(least) > 0 else None,
        median(pairs) if pairs else None,
        by.pick is median,
    )


def _timed(work: Work, by: By) -> tuple[float, float]:
    """Return the time by the row's clock and the processor time."""
    if by.clock is not time.perf_counter:
        began = by.clock()
        work()
        took = by.clock() - began
        return took, took
    used = by.processor()
    began = by.clock()
    work()
    took = by.clock() - began
    return took, by.processor() - used


def rate(sides: Sides, against: str, *, unit: str = "/s", size: float = 1) -> Figure:
    """Return both sides as rates; `size` is the worth of one unit."""
    return _faster(size / sides.ours, size / sides.theirs, unit, against, sides)


def speed_up(sides: Sides, against: str) -> Figure:
    """Return both sides in milliseconds; the ratio is how much faster ours is."""
    return _faster(sides.ours * 1000, sides.theirs * 1000, "ms", against, sides)


def duration(
    sides: Sides, against: str, *, unit: str = "ms", per_second: float = 1000
) -> Figure:
    """Return both sides as durations; the ratio states how much longer ours takes."""
    ours, theirs = sides.ours * per_second, sides.theirs * per_second
    pairs, processor = sides.pairs, sides.processor
    return Figure(ours, theirs, unit, against, sides.ratio, "", processor, pairs)


def _faster(ours: float, theirs: float, unit: str, against: str, sides: Sides) -> Figure:
    processor, pairs = (
        way and 1 / way  # a missing value remains missing
        for way in (sides.processor, sides.pairs)
    )
    return Figure(ours, theirs, unit, against, 1 / sides.ratio, "", processor, pairs)


def shown(number: float, unit: str = "") -> str:
    """Return a figure with three digits, and its unit."""
    digits = 0 if number >= 100 else 2 if number < 10 else 1
    return f"{number:,.{digits}f} {unit}".rstrip()
