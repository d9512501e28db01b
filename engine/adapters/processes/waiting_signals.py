"""Signals that do not end us while a command runs: they are read, with who sent them."""

import os
import signal
import threading
from types import TracebackType
from typing import Any

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
_STOP = signal.SIGURG
"""Ends the waiting; it means nothing to anybody else."""
_SENT = (0, -1, -6)
"""SI_USER, SI_QUEUE, SI_TKILL: another process sent it, not the terminal."""


class WaitingSignals:
    """Reads signals one after another; a descriptor says that there are some."""

    def __init__(self) -> None:
        # What we were started to ignore stays ignored, by the command, too.
        self._numbers = {
            number for number in FORWARDED if signal.getsignal(number) != signal.SIG_IGN
        } | {signal.SIGWINCH}
        self.descriptor, self._writing = os.pipe()
        os.set_inheritable(self.descriptor, False)
        self._thread = threading.Thread(target=self._wait, daemon=True)
        self._before: Any = None

    def __enter__(self) -> None:
        """Hold the signals back from now on."""
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, {*self._numbers, _STOP})
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let them be as before."""
        signal.pthread_kill(self._thread.ident or 0, _STOP)
        self._thread.join()
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)

    def read(self) -> list[tuple[int, bool]]:
        """Return the signals that came, and whether each was sent to us alone."""
        said = os.read(self.descriptor, 1024)
        return [
            (number, bool(alone))
            for number, alone in zip(said[::2], said[1::2], strict=True)
        ]

    def _wait(self) -> None:
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
            os.write(self._writing, bytes([number, is_alone]))
