"""`status --watch`: the status and the quality plot, drawn anew when something happens."""

import os
import select
import sys
from collections.abc import Callable, Sequence

import click

from sprintlog.engine.iterations.tracker import BASELINE_NUMBER
from sprintlog.engine.service.streams.judged import Judged
from sprintlog.projections.workspace import Workspace

from ..output import shows_bars
from ..screen.terminal import STDOUT, is_dumb, terminal
from .plot import BARE, RICH, IterationDot, quality_lines

PAUSE_MS = 250
PAUSES_MAX = 20
"""After so many pauses it is drawn anew in any case: times go on."""
_TOP, _REST, _LINE = "\x1b[H", "\x1b[J", "\x1b[K"
_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"


def watch(workspace: Workspace, lines: Callable[[], Sequence[str]]) -> None:
    """Show lines until Ctrl-C; they are asked for again whenever the log has grown."""
    if not sys.stdout.isatty() or is_dumb():
        raise click.UsageError(
            "--watch needs a terminal; `sprintlog log --follow --json` is for scripts"
        )
    _write(f"{_HIDE}{_TOP}{_REST}")
    try:
        while True:
            before = workspace.log.head().position
            _draw(lines())
            for _ in range(PAUSES_MAX):
                _pause()
                if workspace.log.head().position != before:
                    break
    except KeyboardInterrupt:
        return
    finally:
        _write(_SHOW)


def plot_lines(judged: Judged) -> list[str]:
    """Return the quality of the iterations as a plot for this terminal."""
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


def _draw(lines: Sequence[str]) -> None:
    """Write as many lines as the terminal has, over what was there before."""
    rows = os.get_terminal_size(STDOUT).lines or 24
    shown = list(lines)[: rows - 1]
    _write(_TOP + "".join(f"{line}{_LINE}\n" for line in shown) + _REST)


def _pause() -> None:
    """Wait a moment; raise `BrokenPipeError` when the terminal is gone."""
    waiting = select.poll()
    waiting.register(STDOUT, 0)
    if waiting.poll(PAUSE_MS):
        raise BrokenPipeError


def _write(text: str) -> None:
    os.write(STDOUT, text.encode())
