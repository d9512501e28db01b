"""The capabilities of standard output: its width, and whether it supports colours."""

import os
import sys
import time
from typing import NamedTuple

import click

from sprintlog.projections.markdown import visible as visible

from ..typed import COLOR, NO_PAGER, UTC_TIMES

STDOUT = 1
COLUMNS_MIN, COLUMNS = 20, 80
AUTO, ALWAYS = "auto", "always"

GOOD, BAD, ATTENTION, QUIET = "green", "red", "yellow", "bright_black"
"""The colour for each meaning; no other colours are used."""

_KEY = "sprintlog.terminal"


class Ready(str):
    """A line that is already escaped and may contain colours."""

    __slots__ = ()


class Terminal(NamedTuple):
    """The capabilities of standard output, before a pager replaces it."""

    width: int | None = None
    """The number of columns; None without a terminal, so that nothing is truncated."""
    is_coloured: bool = False
    has_utc: bool = True
    """Whether times are shown as ISO 8601 in UTC: without a terminal, or with `--utc`."""

    def toned(self, text: str, tone: str | None) -> str:
        """Return the escaped text, coloured according to its tone."""
        return click.style(text, fg=tone) if tone and self.is_coloured else text


def terminal() -> Terminal:
    """Return standard output's capabilities, determined when a command first needs them."""
    context = click.get_current_context(silent=True)
    if context is None:
        return _look(AUTO, wants_utc=False)
    found = context.meta.get(_KEY)
    if not isinstance(found, Terminal):
        wants_utc = bool(context.meta.get(UTC_TIMES))
        found = _look(context.meta.get(COLOR) or AUTO, wants_utc=wants_utc)
        context.meta[_KEY] = found
    return found


def wants_pager() -> bool:
    """Return whether a pager may be used."""
    context = click.get_current_context(silent=True)
    return context is None or not context.meta.get(NO_PAGER)


def is_dumb() -> bool:
    """Return whether TERM names a terminal without cursor control."""
    return os.environ.get("TERM") == "dumb"


def clock() -> float:
    """Return the time in seconds since 1970."""
    return time.time()


def _look(color: str, *, wants_utc: bool) -> Terminal:
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    by_itself = is_terminal and not os.environ.get("NO_COLOR") and not is_dumb()
    is_coloured = color == ALWAYS or (color == AUTO and by_itself)
    width = width_of(STDOUT) if is_terminal else None
    return Terminal(width, is_coloured, has_utc=wants_utc or not is_terminal)


def width_of(descriptor: int) -> int:
    """Return COLUMNS if it is set, otherwise the width of a descriptor's terminal."""
    named = os.environ.get("COLUMNS", "")
    if named.isascii() and named.isdigit() and 0 < len(named) < 6:
        return max(int(named), COLUMNS_MIN)
    try:
        return max(os.get_terminal_size(descriptor).columns or COLUMNS, COLUMNS_MIN)
    except OSError:
        return COLUMNS
