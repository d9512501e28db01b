"""Signals that end a process, taken at places where nothing is half done."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

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
