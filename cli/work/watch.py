"""`status --watch`: the status and the scores, redrawn after each change."""

import os
import sys
from collections.abc import Callable, Iterable

import click

from sprintlog.engine.service.streams.evaluation import Judged
from sprintlog.projections.workspace import Workspace

from ..iterations.judgements import trajectory_line
from ..screen.pager import pause
from ..screen.terminal import STDOUT, is_dumb

SCORES_MAX = 60
"""The maximum number of scores shown."""
PAUSE_SECONDS = 0.25
PAUSES_MAX = 20
"""The number of pauses after which the screen is redrawn because displayed times change."""
_TOP, _REST, _LINE = "\x1b[H", "\x1b[J", "\x1b[K"
_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"


def watch(workspace: Workspace, lines: Callable[[], Iterable[str]]) -> None:
    """Show lines until Ctrl-C, and refresh them whenever new events are recorded."""
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


def score_lines(judged: Judged) -> list[str]:
    """Return a line with the scores of the last iterations as bars, if there are two."""
    line = trajectory_line(judged.all()[-SCORES_MAX:])
    return [] if line is None else [line]


def _draw(lines: Iterable[str]) -> None:
    """Draw lines over the previous lines, limited to the terminal's height."""
    rows = os.get_terminal_size(STDOUT).lines or 24
    shown = list(lines)[: rows - 1]
    _write(_TOP + "".join(f"{line}{_LINE}\n" for line in shown) + _REST)


def _write(text: str) -> None:
    os.write(STDOUT, text.encode())
