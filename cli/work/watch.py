"""`status --watch`: the status and the quality plot, redrawn after each change."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import click

from sprintlog.engine.judging.tracker import BASELINE_NUMBER
from sprintlog.engine.service.streams.evaluation import Judged
from sprintlog.projections.workspace import Workspace

from ..output import shows_bars
from ..screen.terminal import STDOUT, is_dumb, pause, terminal

PAUSE_SECONDS = 0.25
PAUSES_MAX = 20
"""The number of pauses after which the screen is redrawn because displayed times change."""
_TOP, _REST, _LINE = "\x1b[H", "\x1b[J", "\x1b[K"
_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"


def watch(workspace: Workspace, lines: Callable[[], Iterable[str]]) -> None:
    """Show lines until Ctrl-C, and refresh them whenever the log has grown."""
    if not sys.stdout.isatty() or is_dumb():
        raise click.UsageError(
            "--watch requires a terminal; use `sprintlog log --follow --json` in scripts"
        )
    _write(f"{_HIDE}{_TOP}{_REST}")
    try:
        while True:
            before = workspace.log.head().position
            _draw(lines())
            for _ in range(PAUSES_MAX):
                pause(PAUSE_SECONDS)
                if workspace.log.head().position != before:
                    break
    except KeyboardInterrupt:
        return
    finally:
        _write(_SHOW)


def plot_lines(judged: Judged) -> list[str]:
    """Return a plot of the iterations' quality for this terminal."""
    best, off_path = judged.tracker.best, judged.off_path()
    dots = [
        IterationDot(
            one.number,
            None if one.score.value is None else float(one.score.value),
            best is not None and best.number == one.number,
            one.number in off_path,
            bool(one.alerts),
        )
        for one in judged.all()
        if one.number != BASELINE_NUMBER
    ]
    base = judged.baseline()
    levels = [] if base is None or base.score.value is None else [float(base.score.value)]
    marks = RICH if shows_bars() else BARE
    found = quality_lines(dots, levels, width=terminal().width or 80, marks=marks)
    if not found:
        return []
    said = f"{marks.best} best  {marks.point} iteration  {marks.worse} something got worse"
    said += f"  {marks.off} rolled back" if off_path else ""
    said += f"  {marks.level * 2} baseline" if levels else ""
    return ["", *found, f"     {said}"]


def _draw(lines: Iterable[str]) -> None:
    """Write lines over the previous ones, limited to the terminal's height."""
    rows = os.get_terminal_size(STDOUT).lines or 24
    shown = list(lines)[: rows - 1]
    _write(_TOP + "".join(f"{line}{_LINE}\n" for line in shown) + _REST)


def _write(text: str) -> None:
    os.write(STDOUT, text.encode())


HEIGHT = 9
"""The height of the plot in lines, without the lines around it."""
LABEL = 5
"""The width of the labels to the left of the plot."""
GAP = 3
"""The minimum number of columns per iteration; long numbers require more."""


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
    """Return a plot of the last iterations that fit; empty if there are not two scores."""
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
