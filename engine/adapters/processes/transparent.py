"""Runs a command as if nobody stood between: streams, terminal, signals, exit code.

What the command prints goes on at once, and a copy of it to whoever hears. Where it is
printed on a terminal the command gets a terminal of its own (a pty), so that it sees one.
This is imported before the command starts: it uses the standard library alone.
"""

import errno
import os
import selectors
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from .keeper import EXITED, STOPPED, Keeper
from .own_terminal import OwnTerminal, is_in_foreground, same_file
from .waiting_signals import FORWARDED, WaitingSignals

CHUNK_BYTES = 1 << 16
OUT, ERR = 1, 2
Hear = Callable[[int, bytes], None]
"""Is given the descriptor on which something was printed, and what."""


class _Ways(NamedTuple):
    """What the command gets as its standard streams."""

    terminal: OwnTerminal | None
    pipes: dict[int, tuple[int, int]]
    """By the number of the stream: the ends that are read and written."""
    joined: bool
    """Whether what is an error goes where all other output goes."""


def run_transparently(
    command: Sequence[str], *, environment: Mapping[str, str], hear: Hear
) -> int:
    """Run a command to its end; return its exit code, or minus its signal's number.

    A command that cannot be started has the codes of a shell: 127, or 126. What it left
    running goes on printing after this has returned.
    """
    ways = _ways()
    signals = WaitingSignals()
    keeper = Keeper.start(
        command,
        environment,
        terminal=ways.terminal,
        streams=_streams(ways),
        ours=_ours(ways),
    )
    for _, writing in ways.pipes.values():
        os.close(writing)
    relay = _Relay(ways, keeper, hear)
    try:
        with signals:
            exit_code = relay.run(signals)
    finally:
        if ways.terminal is not None:
            ways.terminal.give_back()
    relay.leave_to_another()
    keeper.close()
    return exit_code


def end_as(exit_code: int) -> None:
    """End this process the way that the command ended; does not return."""
    with suppress(OSError, ValueError):
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
        if not is_in_foreground(OUT):
            # Who reads or sets a terminal from behind is stopped: it is left alone.
            return _Ways(None, {}, joined=False)
        errors = joined or os.isatty(ERR)
        pipes = {} if errors or not _is_open(ERR) else {ERR: os.pipe()}
        return _Ways(OwnTerminal.like_this(), pipes, joined=errors)
    pipes = {OUT: os.pipe()} if _is_open(OUT) else {}
    if not joined and _is_open(ERR) and not os.isatty(ERR):
        pipes[ERR] = os.pipe()
    return _Ways(None, pipes, joined=joined and bool(pipes))


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


def _ours(ways: _Ways) -> list[int]:
    """Return the descriptors that only we hold."""
    reading = [reading for reading, _ in ways.pipes.values()]
    return [*reading, *([] if ways.terminal is None else [ways.terminal.master])]


class _Relay:
    """Hands on what is printed and typed, until the command has ended."""

    def __init__(self, ways: _Ways, keeper: Keeper, hear: Hear) -> None:
        self._keeper = keeper
        self._terminal = ways.terminal
        self._hear = hear
        self._from: dict[int, int] = {
            reading: number for number, (reading, _) in ways.pipes.items()
        }
        if ways.terminal is not None:
            self._from[ways.terminal.master] = OUT
        self._selector = selectors.DefaultSelector()

    def run(self, signals: WaitingSignals) -> int:
        """Return how the command ended."""
        select, register = self._selector, self._selector.register
        for reading in self._from:
            register(reading, selectors.EVENT_READ)
        register(self._keeper.news, selectors.EVENT_READ)
        register(signals.descriptor, selectors.EVENT_READ)
        is_typed = self._terminal is not None and self._terminal.reads
        if is_typed:
            register(0, selectors.EVENT_READ)
        while True:
            for key, _ in select.select():
                if key.fd == self._keeper.news:
                    if (ended := self._news()) is not None:
                        self._drain()
                        return ended
                elif key.fd == signals.descriptor:
                    self._signalled(signals)
                elif key.fd == 0:
                    self._type()
                elif key.fd in self._from:
                    self._print(key.fd)

    def _news(self) -> int | None:
        """Take what the keeper says; return how the command ended, once it has."""
        kind, number = self._keeper.read()
        if kind == EXITED:
            return number
        if kind == STOPPED:
            self._stop()
        return None

    def _stop(self) -> None:
        """Stop as the command has, so that whoever started us sees it; then go on."""
        if self._terminal is not None:
            self._terminal.give_back()
        # All of our group was told by the terminal; a shell waits for each.
        os.kill(os.getpid(), signal.SIGSTOP)
        if self._terminal is not None:
            self._terminal.take()
        self._keeper.tell(signal.SIGCONT)

    def _signalled(self, signals: WaitingSignals) -> None:
        for number, is_ours_alone in signals.read():
            if number == signal.SIGWINCH:
                if self._terminal is not None:
                    self._terminal.resize()
            elif number in FORWARDED and (is_ours_alone or self._is_apart):
                self._keeper.tell(number)

    @property
    def _is_apart(self) -> bool:
        """Tell whether our terminal's signals do not reach the command by themselves."""
        return self._terminal is not None and self._terminal.reads

    def _type(self) -> None:
        """Hand on what was typed."""
        assert self._terminal is not None
        try:
            typed = os.read(0, 1024)
        except OSError:
            typed = b""
        if not typed:
            # The terminal went away, or says that nothing more comes.
            self._selector.unregister(0)
            return
        with suppress(OSError):
            _write_all(self._terminal.master, typed)

    def _print(self, reading: int) -> bool:
        """Hand on what was printed; tell whether more may come."""
        number = self._from[reading]
        try:
            chunk = os.read(reading, CHUNK_BYTES)
        except OSError as error:
            # Of a terminal of which nobody holds the other end any more.
            if error.errno not in (errno.EIO, errno.EBADF):
                raise
            chunk = b""
        if not chunk:
            self._leave(reading)
            return False
        try:
            _write_all(number, chunk)
        except OSError:
            # Who read it has gone: the command is told as if it wrote there itself.
            self._leave(reading)
            os.close(reading)
            return False
        self._hear(number, chunk)
        return True

    def _leave(self, reading: int) -> None:
        with suppress(KeyError, ValueError):
            self._selector.unregister(reading)
        self._from.pop(reading, None)

    def _drain(self) -> None:
        """Hand on what was printed before the end."""
        with selectors.DefaultSelector() as waiting:
            for reading in [*self._from]:
                waiting.register(reading, selectors.EVENT_READ)
            while self._from and (ready := waiting.select(0)):
                for key, _ in ready:
                    if not self._print(key.fd):
                        waiting.unregister(key.fd)

    def leave_to_another(self) -> None:
        """Leave to a process of its own what others print that the command left running.

        They may do so for days.
        """
        if not self._from or os.fork():
            return
        try:
            for number in FORWARDED:
                signal.signal(number, signal.SIG_IGN)
            self._hear = lambda number, chunk: None
            with selectors.DefaultSelector() as waiting:
                for reading in self._from:
                    waiting.register(reading, selectors.EVENT_READ)
                while self._from:
                    for key, _ in waiting.select():
                        if not self._print(key.fd):
                            waiting.unregister(key.fd)
        finally:
            os._exit(0)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _write_all(number: int, content: bytes) -> None:
    """Write all of it, also where whoever opened the file wants no waiting."""
    left = memoryview(content)
    while left:
        try:
            left = left[os.write(number, left) :]
        except BlockingIOError:
            with selectors.DefaultSelector() as waiting:
                waiting.register(number, selectors.EVENT_WRITE)
                waiting.select()
