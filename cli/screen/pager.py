"""A pager for long answers on a terminal, and pauses between answers."""

import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from . import terminal as of_terminal
from .terminal import STDOUT, is_dumb, wants_pager

LESS = "FRX"
"""Flags of `less`: exit if the text fits on one screen, show colours, keep the text
visible."""


@contextmanager
def paged(*, wanted: bool = True) -> Iterator[None]:
    """Send standard output through $PAGER (default: `less`) within the block.

    The pager is used only if stdout is a terminal and --no-pager is not given. Quitting the
    pager is not an error.
    """
    is_read = wanted and wants_pager() and sys.stdout.isatty() and not is_dumb()
    command = _pager() if is_read else None
    if command is None:
        yield
        return
    # Determine the terminal's width and colours before the pager hides the terminal.
    of_terminal.terminal()
    environment = {"LESS": LESS, **os.environ}
    pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    assert pager.stdin is not None
    terminal = os.dup(STDOUT)
    # Ctrl-C belongs to the pager while it runs.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        os.dup2(pager.stdin.fileno(), STDOUT)
        with suppress(BrokenPipeError):
            yield
    finally:
        os.dup2(terminal, STDOUT)
        os.close(terminal)
        with suppress(BrokenPipeError):
            pager.stdin.close()
        pager.wait()
        signal.signal(signal.SIGINT, before)


def _pager() -> list[str] | None:
    """Return the pager command; None if there is none, or it is `cat`."""
    try:
        words = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:
        return None
    if not words or words == ["cat"] or shutil.which(words[0]) is None:
        return None
    return words


def pause(seconds: float, held: int = -1) -> None:
    """Wait for some time, or until the descriptor `held`, if any, can be read.

    Raise `BrokenPipeError` if the output's reader has exited.
    """
    waiting = select.poll()
    # With no events requested, `poll` reports only that the other end was closed.
    waiting.register(STDOUT, 0)
    if held >= 0:
        waiting.register(held, select.POLLIN)
    if any(found == STDOUT for found, _ in waiting.poll(seconds * 1000)):
        raise BrokenPipeError
