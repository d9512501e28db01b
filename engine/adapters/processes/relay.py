"""Relays a command's output and input until the command has ended.

The streams are independent: a slow reader of one output does not delay other streams.
"""

import errno
import os
import select
import selectors
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from .descriptors import CHUNK_BYTES, hold_only, lead_nowhere, wait_for, write_all
from .keeper import EXITED, STOPPED, Keeper, OwnTerminal
from .signals import FORWARDED, WaitingSignals

DRAINED_BYTES_MAX = 1 << 20
"""The number of bytes read from each stream after the command has ended: a pipe's maximum.

More cannot be read, because remaining processes may print endlessly.
"""
BEHIND_SECONDS = 0.2
"""The interval for checking whether sprintlog is in the foreground again."""
READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
Hear = Callable[[int, bytes], None]
"""A function that is called with a descriptor number and the bytes printed on it."""


class _Stream:
    """An output stream from the command to one of sprintlog's descriptors."""

    def __init__(self, reading: int, number: int, *, waits: bool) -> None:
        self.reading, self.number = reading, number
        self.waits = waits
        """Whether the descriptor can be waited for; a file is always writable."""
        self.left = bytearray()
        """The bytes that were read but not written yet."""


class Relay:
    """A running command and its connections to sprintlog."""

    def __init__(
        self,
        streams: Mapping[int, int],
        keeper: Keeper,
        hear: Hear,
        *,
        terminal: OwnTerminal | None,
        signals: WaitingSignals,
    ) -> None:
        self._selector = selectors.DefaultSelector()
        self._streams = [
            _Stream(reading, number, waits=self._can_wait_for(number))
            for reading, number in streams.items()
        ]
        for reading in streams:
            os.set_blocking(reading, False)
        self._keeper = keeper
        self._hear = hear
        self._terminal = terminal
        self._signals = signals
        self._typed = bytearray()
        """The keys that were typed but not read yet."""
        self._listens = terminal is not None and terminal.take()
        self._exit_code: int | None = None
        signals.start(self._hand_on)

    def run(self) -> int:
        """Wait for the command to end; return its exit code or a negative signal number.

        By then, all output has been passed to the listener and to a terminal. If standard
        output is a pipe, call `deliver`, which may have to wait for the pipe's reader.
        """
        for descriptor in (self._keeper.news, self._signals.descriptor):
            self._selector.register(descriptor, READ)
        try:
            while self._exit_code is None:
                self._turn()
            self._take_the_rest()
            if self._terminal is not None:
                self.deliver()
        finally:
            if self._terminal is not None:
                self._terminal.give_back()
        return self._exit_code

    def deliver(self) -> None:
        """Write the remaining output."""
        for stream in [*self._streams]:
            try:
                write_all(stream.number, stream.left)
                stream.left.clear()
            except OSError:
                self._break(stream)

    def leave(self) -> None:
        """Hand the output of the command's remaining processes over to a separate process.

        The remaining processes may run for days. If there are none, the keeper exits with
        sprintlog.
        """
        with suppress(OSError):
            if not self._streams or os.fork():
                return
            try:
                self._print_for_others()
            finally:
                os._exit(0)

    def _print_for_others(self) -> None:
        for number in FORWARDED:
            signal.signal(number, signal.SIG_IGN)
        if self._terminal is not None:
            self._terminal.leave_lines_alone()
        self._hear = lambda number, chunk: None
        ways = [one for stream in self._streams for one in (stream.reading, stream.number)]
        # The keeper and the terminal remain as long as `life` is open.
        hold_only(*ways, self._keeper.life)
        self._selector = selectors.DefaultSelector()
        self._typed.clear()
        self._listens = False
        while self._streams:
            self._turn()

    def _turn(self) -> None:
        """Wait for events, and handle them."""
        self._wait_for(self._wanted())
        is_behind = (
            self._exit_code is None
            and self._terminal is not None
            and self._terminal.is_behind
        )
        ready = self._selector.select(BEHIND_SECONDS if is_behind else None)
        if is_behind:
            # No signal reports that a shell moved this process to the foreground.
            self._listen()
        for key, events in ready:
            if key.fd == self._keeper.news:
                self._news()
            elif key.fd == self._signals.descriptor:
                self._signalled()
            elif key.fd == 0:
                self._type()
            else:
                self._go_on(key.fd, events)

    def _wanted(self) -> dict[int, int]:
        """Return the events to wait for; pending output is written before more is read."""
        wanted: dict[int, int] = {}
        for stream in self._streams:
            place = (stream.number, WRITE) if stream.left else (stream.reading, READ)
            wanted[place[0]] = place[1]
        if self._typed and self._terminal is not None:
            master = self._terminal.master
            wanted[master] = wanted.get(master, 0) | WRITE
        elif self._listens:
            wanted[0] = READ
        return wanted

    def _wait_for(self, wanted: dict[int, int]) -> None:
        known = {
            number: key.events
            for number, key in self._selector.get_map().items()
            if number not in (self._keeper.news, self._signals.descriptor)
        }
        for number in known.keys() - wanted.keys():
            self._selector.unregister(number)
        for number, events in wanted.items():
            if number not in known:
                self._selector.register(number, events)
            elif known[number] != events:
                self._selector.modify(number, events)

    def _go_on(self, ready: int, events: int) -> None:
        if events & WRITE and self._terminal is not None and ready == self._terminal.master:
            self._hand_over_what_was_typed()
        for stream in [*self._streams]:
            if stream.number == ready and events & WRITE:
                self._write(stream)
            elif stream.reading == ready and events & READ:
                self._print(stream)

    def _print(self, stream: _Stream) -> None:
        """Read the command's output, and write as much of it as is currently possible."""
        if (chunk := self._read(stream)) is None:
            return
        if not chunk:
            self._streams.remove(stream)
            if stream.number == 1 and self._terminal is None and self._exit_code is None:
                # The reader must also detect the end of the output.
                lead_nowhere(1)
            return
        stream.left += chunk
        self._hear(stream.number, chunk)
        if not stream.waits:
            self._write(stream)

    def _read(self, stream: _Stream) -> bytes | None:
        """Return the output; None if none is available yet, empty bytes at its end."""
        try:
            return os.read(stream.reading, CHUNK_BYTES)
        except BlockingIOError:
            return None
        except OSError as error:
            # A terminal reports this error after its other end has been closed.
            if error.errno not in (errno.EIO, errno.EBADF):
                raise
            return b""

    def _write(self, stream: _Stream) -> None:
        try:
            if stream.waits:
                # A writable pipe accepts this many bytes at once.
                written = os.write(stream.number, stream.left[: select.PIPE_BUF])
                del stream.left[:written]
            else:
                write_all(stream.number, stream.left)
                stream.left.clear()
        except BlockingIOError:
            return
        except OSError:
            self._break(stream)

    def _break(self, stream: _Stream) -> None:
        """Signal the command that its reader is gone, as a broken pipe would."""
        self._streams.remove(stream)
        stream.left.clear()
        if self._terminal is not None and stream.reading == self._terminal.master:
            self._listens = False
            self._typed.clear()
        self._wait_for(self._wanted())
        os.close(stream.reading)

    def _take_the_rest(self) -> None:
        """Read all output that has been printed so far."""
        for stream in [*self._streams]:
            most = len(stream.left) + DRAINED_BYTES_MAX
            while len(stream.left) < most and (chunk := self._read(stream)) is not None:
                if not chunk:
                    break
                stream.left += chunk
                self._hear(stream.number, chunk)

    def _news(self) -> None:
        """Handle a state change reported by the keeper."""
        kind, number = self._keeper.read()
        if kind == EXITED:
            self._exit_code = number
        elif kind == STOPPED:
            self._stop(number)

    def _stop(self, number: int) -> None:
        """Stop in the same way as the command, so that the parent notices; resume later."""
        self._take_the_rest()
        for stream in [*self._streams]:
            while stream.left and wait_for(stream.number, WRITE, 0):
                self._write(stream)
        if self._terminal is not None:
            self._terminal.give_back()
        # The system does not stop a process that only the command could continue.
        if number == signal.SIGSTOP:
            os.kill(os.getpid(), number)
        else:
            signal.pthread_kill(threading.get_ident(), number)
            held = signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
        self._listen()
        self._keeper.tell(signal.SIGCONT)

    def _listen(self) -> None:
        """Read keyboard input from now on, unless another process is in the foreground."""
        self._listens = self._terminal is not None and self._terminal.take()

    def _signalled(self) -> None:
        for number in self._signals.read():
            if number == signal.SIGCONT:
                self._listen()
            elif self._terminal is not None:
                self._terminal.resize()
                if not self._terminal.reads:
                    # The command was already notified, but may have checked before that.
                    self._keeper.tell(number)

    def _hand_on(self, number: int, is_ours_alone: bool) -> None:
        """Pass on a signal if the command does not receive it directly."""
        if is_ours_alone or (self._terminal is not None and self._terminal.reads):
            self._keeper.tell(number)

    def _type(self) -> None:
        """Read keyboard input for the command."""
        try:
            self._typed += os.read(0, CHUNK_BYTES)
        except OSError:
            self._listens = False
        if not self._typed:
            # The terminal was closed, or reached the end of its input.
            self._listens = False

    def _hand_over_what_was_typed(self) -> None:
        assert self._terminal is not None
        try:
            del self._typed[: os.write(self._terminal.master, self._typed)]
        except BlockingIOError:
            return
        except OSError:
            self._typed.clear()

    def _can_wait_for(self, number: int) -> bool:
        try:
            self._selector.register(number, WRITE)
        except (OSError, ValueError):
            return False
        self._selector.unregister(number)
        return True
