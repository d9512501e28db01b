"""Runs a command as if nobody stood between: streams, terminal, signals, exit code.

What the command prints goes on at once, and a copy of it to whoever hears. Where it is
printed on a terminal the command gets a terminal of its own (a pty), so that it sees one.
This is imported before the command starts: it uses the standard library alone.
"""

import os
import signal
import sys
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, NoReturn

from .descriptors import is_given, same_file
from .keeper import Keeper, OwnTerminal, is_in_foreground
from .relay import Hear, Relay
from .signals import WaitingSignals

OUT, ERR = 1, 2


class _Ways(NamedTuple):
    """What the command gets as its standard streams."""

    terminal: OwnTerminal | None
    pipes: dict[int, tuple[int, int]]
    """By the number of the stream: the ends that are read and written."""
    joined: bool
    """Whether what is an error goes where all other output goes."""


def start_transparently(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    hear: Hear,
    signals: WaitingSignals,
) -> Relay:
    """Start a command; `run` of what is returned runs it to its end.

    A command that cannot be started has the exit codes of a shell: 127, or 126. Raise
    `OSError` where there can be no further process.
    """
    ways = _ways()
    streams = _streams(ways)
    keeper = Keeper.start(
        command,
        environment,
        terminal=ways.terminal,
        streams=streams,
        held_back=signals.before,
    )
    for theirs in {*streams.values()}:
        os.close(theirs)
    read = {reading: number for number, (reading, _) in ways.pipes.items()}
    if ways.terminal is not None:
        read[ways.terminal.master] = OUT
    return Relay(read, keeper, hear, terminal=ways.terminal, signals=signals)


def end_as(exit_code: int) -> NoReturn:
    """End this process the way that the command ended."""
    # There is none where it was closed when we started.
    with suppress(AttributeError, OSError, ValueError):
        sys.stdout.flush()
    if exit_code < 0:
        # Whoever waits for us sees the signal. A core of ours would tell nobody anything.
        with suppress(ImportError, OSError, ValueError):
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError, ValueError):
            signal.signal(-exit_code, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {-exit_code})
        os.kill(os.getpid(), -exit_code)
    os._exit(exit_code & 0xFF if exit_code >= 0 else 128 - exit_code)


def _ways() -> _Ways:
    """Find out what the command has to get to see what it would see without us."""
    joined = same_file(OUT, ERR)
    if os.isatty(OUT):
        return _ways_on_a_terminal(joined or os.isatty(ERR))
    pipes = {OUT: os.pipe()} if is_given(OUT) else {}
    if not joined and is_given(ERR) and not os.isatty(ERR):
        pipes[ERR] = os.pipe()
    return _Ways(None, pipes, joined=joined and bool(pipes))


def _ways_on_a_terminal(joined: bool) -> _Ways:
    if is_in_foreground(OUT):
        with suppress(OSError, termios.error):
            terminal = OwnTerminal.like_this()
            pipes = {} if joined or not is_given(ERR) else {ERR: os.pipe()}
            return _Ways(terminal, pipes, joined=joined)
    # Who reads or sets a terminal from behind is stopped, and there may be no other
    # one to be had: it is left alone.
    return _Ways(None, {}, joined=False)


def _streams(ways: _Ways) -> dict[int, int]:
    """Return which descriptors stand for the command's standard streams, where not ours."""
    streams = {number: writing for number, (_, writing) in ways.pipes.items()}
    if (terminal := ways.terminal) is not None:
        streams[OUT] = terminal.slave
        if terminal.reads:
            streams[0] = terminal.slave
    if ways.joined:
        streams[ERR] = streams[OUT]
    return streams
