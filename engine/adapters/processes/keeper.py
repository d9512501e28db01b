"""Starts a command, and says when it stops and ends: a process between us and it.

In a terminal of its own it leads the session there. So the command is in a group that
its terminal can stop, and what it leaves running keeps that terminal.
"""

import os
import signal
import struct
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Self

from .own_terminal import OwnTerminal
from .waiting_signals import FORWARDED

STARTED, STOPPED, EXITED = 1, 2, 3
_NEWS = struct.Struct("!Bi")
NOT_FOUND, NOT_STARTED = 127, 126
"""The exit codes of a shell for a command that is not there, or cannot be run."""


class Keeper:
    """The process that started the command, as we see it."""

    def __init__(self, pid: int, news: int, *, leads: bool) -> None:
        self.news = news
        """The descriptor on which something is said of the command."""
        self._pid = pid
        self._leads = leads
        self._command = 0

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        terminal: OwnTerminal | None,
        streams: Mapping[int, int],
        ours: Collection[int],
    ) -> Self:
        """Start a command with descriptors for some of its standard streams.

        Of those that are `ours` alone it holds none: the command is to meet our end of a
        pipe closed when we close it.
        """
        reading, writing = os.pipe()
        leads = terminal is not None and terminal.reads
        pid = os.fork()
        if pid == 0:
            code = NOT_STARTED
            try:
                for descriptor in (reading, *ours):
                    os.close(descriptor)
                if terminal is not None and leads:
                    terminal.lead()
                code = _keep(command, environment, streams, writing, leads=leads)
            finally:
                os._exit(code)
        os.close(writing)
        if terminal is not None:
            os.close(terminal.slave)
        return cls(pid, reading, leads=leads)

    def read(self) -> tuple[int, int]:
        """Return what is new of the command, with an exit code or a signal's number."""
        said = b""
        while len(said) < _NEWS.size:
            if not (more := os.read(self.news, _NEWS.size - len(said))):
                # It was killed: what became of the command, nobody knows any more.
                return EXITED, -signal.SIGKILL
            said += more
        kind, number = _NEWS.unpack(said)
        if kind == STARTED:
            self._command = number
        return kind, number

    def tell(self, number: int) -> None:
        """Send the command a signal; in a terminal of its own its whole group."""
        if self._command:
            with suppress(OSError):
                (os.killpg if self._leads else os.kill)(self._command, number)

    def close(self) -> None:
        """Let the keeper go, once the command has ended."""
        with suppress(OSError):
            os.kill(self._pid, signal.SIGKILL)
        with suppress(OSError):
            os.waitpid(self._pid, 0)


def _keep(
    command: Sequence[str],
    environment: Mapping[str, str],
    streams: Mapping[int, int],
    news: int,
    *,
    leads: bool,
) -> int:
    # What a terminal or a person tells the whole group is for the command.
    ours = [n for n in FORWARDED if signal.getsignal(n) != signal.SIG_IGN]
    for number in ours:
        signal.signal(number, signal.SIG_IGN if number != signal.SIGCONT else _nothing)
    pid = os.fork()
    if pid == 0:
        _become(command, environment, streams, own=ours, leads=leads)
    for descriptor in {*streams.values()}:
        os.close(descriptor)
    os.write(news, _NEWS.pack(STARTED, pid))
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            os.write(news, _NEWS.pack(STOPPED, os.WSTOPSIG(status)))
            continue
        os.write(news, _NEWS.pack(EXITED, os.waitstatus_to_exitcode(status)))
        if leads:
            # The terminal goes when its leader goes; others may still be in it.
            signal.pause()
        return 0


def _become(
    command: Sequence[str],
    environment: Mapping[str, str],
    streams: Mapping[int, int],
    *,
    own: Sequence[int],
    leads: bool,
) -> None:
    """Become the command; does not return."""
    code = NOT_STARTED
    try:
        if leads:
            os.setpgid(0, 0)
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.tcsetpgrp(streams[1], os.getpid())
        for number, descriptor in sorted(streams.items()):
            os.dup2(descriptor, number)
        for descriptor in {*streams.values()}:
            if descriptor > 2:
                os.close(descriptor)
        # Python ignores the first two; the command is to meet them as we did.
        for one in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTTOU, *own):
            signal.signal(one, signal.SIG_DFL)
        os.execvpe(command[0], [*command], dict(environment))
    except FileNotFoundError:
        code = NOT_FOUND
        _complain(f"{command[0]}: not found")
    except OSError as error:
        _complain(f"{command[0]}: {error.strerror}")
    finally:
        os._exit(code)


def _nothing(number: int, frame: object) -> None:
    """Take notice of a signal without being ended by it."""


def _complain(problem: str) -> None:
    with suppress(OSError):
        os.write(2, f"sprintlog: {problem}\n".encode(errors="surrogateescape"))
