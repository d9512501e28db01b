"""Runs a command transparently with respect to streams, terminal, signals and exit code.

The command's output is passed on immediately and copied to the listener. If the output is a
terminal, the command gets its own pseudo-terminal, so that it detects a terminal. This
module is imported before the command starts, so it uses only the standard library.
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
    """The command's standard streams."""

    terminal: OwnTerminal | None
    pipes: dict[int, tuple[int, int]]
    """The reading and writing ends of each pipe, by stream number."""
    joined: bool
    """Whether standard error is joined with standard output."""


def start_transparently(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    hear: Hear,
    signals: WaitingSignals,
) -> Relay:
    """Start a command; call `run` on the returned object to wait for the command to end.

    If the command cannot be started, its exit code is 127 or 126, as in a shell. Raise
    `OSError` if no more processes can be started.
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
    """End this process in the same way as the command ended."""
    # A stream that was closed at startup has no object.
    with suppress(AttributeError, OSError, ValueError):
        sys.stdout.flush()
    if exit_code < 0:
        # The parent process sees the signal, and does not need a core file.
        with suppress(ImportError, OSError, ValueError):
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError, ValueError):
            signal.signal(-exit_code, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {-exit_code})
        os.kill(os.getpid(), -exit_code)
    os._exit(exit_code & 0xFF if exit_code >= 0 else 128 - exit_code)


def _ways() -> _Ways:
    """Return standard streams for the command that resemble sprintlog's own."""
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
    # A background process that reads or sets a terminal is stopped, and there may be no
    # other terminal: leave it unchanged.
    return _Ways(None, {}, joined=False)


def _streams(ways: _Ways) -> dict[int, int]:
    """Return the descriptors for the standard streams that the command does not inherit."""
    streams = {number: writing for number, (_, writing) in ways.pipes.items()}
    if (terminal := ways.terminal) is not None:
        streams[OUT] = terminal.slave
        if terminal.reads:
            streams[0] = terminal.slave
    if ways.joined:
        streams[ERR] = streams[OUT]
    return streams
