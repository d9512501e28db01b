"""Signals that end a process, taken at places where nothing is half done."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

FORWARDED = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGTSTP,
    signal.SIGCONT,
)
"""What is handed on to the command when it is sent to us alone."""
OURS = (signal.SIGWINCH, signal.SIGCONT)
"""What we have to do something about ourselves."""
_STOP = signal.SIGURG
"""Ends the waiting; it means nothing to anybody else."""
_SENT = (0, -1, -6)
"""SI_USER, SI_QUEUE, SI_TKILL: another process sent it, not the terminal."""
HandOn = Callable[[int, bool], None]
"""Is given a signal, and whether it was sent to us alone."""


class WaitingSignals:
    """Holds signals back, from before anything is started until all of it has ended.

    Whatever comes before there is somebody to hand it to waits for that.
    """

    def __init__(self) -> None:
        # What we were started to ignore stays ignored, by the command, too.
        self._numbers = {
            number for number in FORWARDED if signal.getsignal(number) != signal.SIG_IGN
        } | {signal.SIGWINCH}
        self.descriptor, self._writing = os.pipe()
        """Where those are read that are `OURS`."""
        self.before: Any = set()
        """What was held back already: so it is to be for whatever is started."""
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Hold the signals back from now on."""
        if signal.SIGINT in self._numbers:
            # Before and after, an interrupt ends us plainly, not within Python.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        self.before = signal.pthread_sigmask(signal.SIG_BLOCK, {*self._numbers, _STOP})
        return self

    def start(self, hand_on: HandOn) -> None:
        """Hand on what has come and what comes, whatever else we wait for meanwhile."""
        thread = threading.Thread(target=self._wait, args=(hand_on,), daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # Where there can be no further thread, a signal ends us as it does anybody.
            signal.pthread_sigmask(signal.SIG_SETMASK, self.before)
        else:
            self._thread = thread

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let them be as before."""
        if self._thread is not None:
            signal.pthread_kill(self._thread.ident or 0, _STOP)
            self._thread.join()
        signal.pthread_sigmask(signal.SIG_SETMASK, self.before)

    def read(self) -> bytes:
        """Return the numbers of those that came and are `OURS`."""
        return os.read(self.descriptor, 1024)

    def _wait(self, hand_on: HandOn) -> None:
        while True:
            if hasattr(signal, "sigwaitinfo"):
                info = signal.sigwaitinfo({*self._numbers, _STOP})
                number, is_alone = info.si_signo, info.si_code in _SENT
            else:
                # Where nobody says who sent it, it was the terminal, which tells all.
                number = signal.sigwait({*self._numbers, _STOP})
                is_alone = number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
            if number == _STOP:
                return
            if number in FORWARDED:
                hand_on(number, is_alone)
            if number in OURS:
                os.write(self._writing, bytes([number]))


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InterruptedBySignal(BaseException):
    """A signal asked this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Signals:
    """While it is entered, signals wait until `interruptible` is entered as well."""

    def __init__(self) -> None:
        self._came: int | None = None
        self._is_open = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in ENDING:
            # A signal that is ignored, as by nohup, stays so.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Raise `InterruptedBySignal` in here when a signal comes, or came before."""
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
