"""Signal handling: defers signals to safe points, and forwards signals to a child.

If a signal would end this process, `Signals` defers it until the process can end cleanly.
`WaitingSignals` forwards signals to a running command immediately, without ending this
process.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

FORWARDED = (
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP, signal.SIGCONT),
)
"""The signals that are forwarded to the command if only this process received them."""
OURS = (signal.SIGWINCH, signal.SIGCONT)
"""The signals that this process handles itself."""
_STOP = signal.SIGURG
"""The signal that ends the wait; it has no other use here."""
_SENT = (0, -1, -6)
"""SI_USER, SI_QUEUE and SI_TKILL: the signal was sent by a process, not the terminal."""
HandOn = Callable[[int, bool], None]
"""A function called with a signal, and whether only this process received it."""
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class WaitingSignals:
    """Blocks signals from before a command starts until all its processes have ended.

    Signals that arrive before the command runs are delivered after its start.
    """

    def __init__(self) -> None:
        # Signals ignored at startup stay ignored, in the command as well.
        self._numbers = {
            number for number in FORWARDED if signal.getsignal(number) != signal.SIG_IGN
        } | {signal.SIGWINCH}
        self.descriptor, self._writing = os.pipe()
        """The descriptor that becomes readable when signals in `OURS` arrive."""
        self.before: Any = set()
        """The signal mask on entry, which a started command inherits."""
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Block the signals."""
        if signal.SIGINT in self._numbers:
            # Before and after, an interrupt ends this process without a traceback.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        self.before = signal.pthread_sigmask(signal.SIG_BLOCK, {*self._numbers, _STOP})
        return self

    def start(self, hand_on: HandOn) -> None:
        """Forward pending and future signals from a separate thread."""
        thread = threading.Thread(target=self._wait, args=(hand_on,), daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # If no thread can be started, signals have their default effect.
            signal.pthread_sigmask(signal.SIG_SETMASK, self.before)
        else:
            self._thread = thread

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Restore the signal mask."""
        if self._thread is not None:
            signal.pthread_kill(self._thread.ident or 0, _STOP)
            self._thread.join()
        signal.pthread_sigmask(signal.SIG_SETMASK, self.before)

    def read(self) -> bytes:
        """Return the numbers of the `OURS` signals that arrived."""
        return os.read(self.descriptor, 1024)

    def _wait(self, hand_on: HandOn) -> None:
        while True:
            if hasattr(signal, "sigwaitinfo"):
                info = signal.sigwaitinfo({*self._numbers, _STOP})
                number, is_alone = info.si_signo, info.si_code in _SENT
            else:
                # If the sender is unknown, assume the terminal, which signals the group.
                number = signal.sigwait({*self._numbers, _STOP})
                is_alone = number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
            if number == _STOP:
                return
            if number in FORWARDED:
                hand_on(number, is_alone)
            if number in OURS:
                os.write(self._writing, bytes([number]))


class InterruptedBySignal(BaseException):
    """A signal requested that this process end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Signals:
    """A context in which signals are deferred until `interruptible` is also entered."""

    def __init__(self) -> None:
        self._came: int | None = None
        self._is_open = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in ENDING:
            # An ignored signal, as with nohup, stays ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Within the block, raise `InterruptedBySignal` for any pending or new signal."""
        self._is_open = True
        try:
            if self._came is not None:
                raise InterruptedBySignal(self._came)
            yield
        finally:
            self._is_open = False

    def _take(self, number: int, frame: FrameType | None) -> None:
        self._came = number
        if self._is_open:
            self._is_open = False
            raise InterruptedBySignal(number)
