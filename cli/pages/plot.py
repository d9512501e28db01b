"""The quality plot in a terminal: a character for each iteration, lines to compare with."""

from collections.abc import Sequence
from typing import NamedTuple

HEIGHT = 9
"""So many lines are drawn, without those around them."""
LABEL = 5
"""The columns before the plot."""
GAP = 3
"""The columns that an iteration takes; with long numbers more."""


class IterationDot(NamedTuple):
    """An iteration in the plot."""

    number: int
    score: float | None
    is_best: bool = False
    is_off: bool = False
    is_worse: bool = False


class PlotMarks(NamedTuple):
    """The characters of a plot."""

    point: str
    best: str
    worse: str
    off: str
    level: str


BARE = PlotMarks("o", "*", "x", ".", "-")
RICH = PlotMarks("\N{BLACK CIRCLE}", "\N{BLACK STAR}", "\N{BALLOT X}", "\N{WHITE CIRCLE}",
             "\N{BOX DRAWINGS LIGHT QUADRUPLE DASH HORIZONTAL}")  # fmt: skip


def quality_lines(
    dots: Sequence[IterationDot],
    levels: Sequence[float],
    *,
    width: int,
    marks: PlotMarks = RICH,
) -> list[str]:
    """Return the last iterations that there is room for; none before there are two."""
    gap = max(GAP, len(str(dots[-1].number)) + 1) if dots else GAP
    room = max((width - LABEL) // gap, 2)
    shown = dots[-room:]
    known = [one.score for one in shown if one.score is not None]
    if len(known) < 2:
        return []
    low, high = min([*known, *levels]), max([*known, *levels])
    low, high = (low, high) if high > low else (low - 0.05, high + 0.05)
    rows = [[" "] * (gap * len(shown)) for _ in range(HEIGHT)]

    def line_of(value: float) -> int:
        return round((high - value) / (high - low) * (HEIGHT - 1))

    for level in levels:
        rows[line_of(level)] = [marks.level] * (gap * len(shown))
    for at, one in enumerate(shown):
        if one.score is not None:
            rows[line_of(one.score)][gap * at + 1] = _mark(one, marks)
    labels = {0: f"{high:.2f}", HEIGHT - 1: f"{low:.2f}"}
    lines = [
        f"{labels.get(at, '').rjust(LABEL - 1)} {''.join(row)}".rstrip()
        for at, row in enumerate(rows)
    ]
    numbers = "".join(str(one.number).center(gap) for one in shown)
    return [*lines, f"{' ' * LABEL}{numbers}".rstrip()]


def _mark(one: IterationDot, marks: PlotMarks) -> str:
    if one.is_off:
        return marks.off
    if one.is_best:
        return marks.best
    return marks.worse if one.is_worse else marks.point
