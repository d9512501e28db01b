"""Runs a program as a separate process, and ends all processes that the program started.

`supervised.py` starts this process and sends it this source code, followed by the order as
one line of JSON; the answer is also one line, with a format number. Standard input and
output are a single socket, which, unlike a pipe, other processes cannot open by its number.
Another byte requests the end of the program. On Linux, the supervisor is a subreaper and
adopts the processes that the program leaves or hides, so that none escapes; elsewhere, it
ends the program's process group. If the other end of the socket is closed, the parent has
ended, and the supervisor ends all processes, immediately or gracefully, as ordered. This
module uses only the standard library.
"""

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

Order = dict[str, Any]
"""The arguments and descriptors passed by `supervised.run_kept`."""

FORMAT = 1
"""The format of orders and answers; increment it when the meaning of either changes."""
CONTROL, ANSWER = 0, 1
NOT_STARTED = 126
"""The exit code for a program that could not be started, as in a shell."""
KILL_SECONDS = 5.0
"""The time limit for killing processes; those that remain cannot be killed."""
REAPED_AT_ONCE = 1000
"""The maximum number of children reaped at once, so that a fork bomb cannot delay the time
limit."""

SET_CHILD_SUBREAPER, _SET_DUMPABLE, SET_PDEATHSIG = 36, 4, 1


class Supervisor:
    """The program and every process that has become the supervisor's child."""

    def __init__(self) -> None:
        self.program = 0
        self.exit: int | None = None
        """The program's exit code, or the negative signal number."""
        self.abandoned = False
        """Whether the parent has ended or requested the program's end."""
        self._reaped = 0
        self._adopts = prctl(SET_CHILD_SUBREAPER, 1)
        # The program must not inspect this process's memory or descriptors.
        prctl(_SET_DUMPABLE, 0)
        self._wake, wake = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._abandon)

    def start(self, order: Order) -> None:
        """Start the program in a new session."""
        self.program = os.fork()
        if self.program == 0:
            try:
                _become(order)
            except OSError as error:
                os.write(2, f"the program could not be started: {error}\n".encode())
            finally:
                os._exit(NOT_STARTED)

    def wait(
        self, until: float, is_over: Callable[[], bool], *, though_abandoned: bool = False
    ) -> bool:
        """Sleep until a condition holds; return False if the time runs out first."""
        heard = [self._wake] if though_abandoned else [self._wake, CONTROL]
        while True:
            if is_over():
                return True
            left = until - time.monotonic()
            if left <= 0 or (self.abandoned and not though_abandoned):
                return False
            ready, _, _ = select.select(heard, [], [], min(left, 1.0))
            if self._wake in ready:
                os.read(self._wake, 4096)
            if CONTROL in ready:
                if os.read(CONTROL, 1):
                    # The program is ended as at its time limit.
                    return False
                self.abandoned = True

    def has_ended(self) -> bool:
        """Return whether the program has ended."""
        self._reap()
        return self.exit is not None

    def is_alone(self) -> bool:
        """Return whether all of the program's processes have ended."""
        if self._reap():
            return False
        return self._adopts or not self._signal_group(0)

    def end(self, grace: float, *, though_abandoned: bool = False) -> int:
        """End the remaining processes, gracefully or by force; return their number."""
        if self.is_alone():
            return 0
        before = self._reaped
        self._tell(signal.SIGTERM if grace else signal.SIGKILL)
        until = time.monotonic() + grace
        self.wait(until, self.is_alone, though_abandoned=though_abandoned)
        last = time.monotonic() + KILL_SECONDS
        while not self.is_alone() and time.monotonic() < last:
            self._tell(signal.SIGKILL)
            select.select([self._wake], [], [], 0.01)
            with suppress(BlockingIOError):
                os.read(self._wake, 4096)
        return max(self._reaped - before, 1)

    def left(self) -> list[int]:
        """Return the child processes, whose ids remain valid until they are reaped here.

        When they end, their descendants become children of this process.
        """
        return children() if self._adopts else []

    def _tell(self, number: signal.Signals) -> None:
        """Send a signal to the program's group and to all adopted processes."""
        told = [self.program] if self._signal_group(number) else []
        for pid in self.left():
            if pid not in told:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)

    def _signal_group(self, number: int) -> bool:
        # Once the program has been reaped, its id may belong to another process.
        if self.exit is not None and self._adopts:
            return False
        try:
            os.killpg(self.program, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _reap(self) -> bool:
        """Reap the children that have ended; return whether any others remain."""
        for _ in range(REAPED_AT_ONCE):
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self._reaped += 1
            if pid == self.program:
                self.exit = os.waitstatus_to_exitcode(status)
        return True

    def _abandon(self, *_: object) -> None:
        self.abandoned = True


def keep(order: Order) -> dict[str, Any] | None:
    """Run a program within a time limit, and end its remaining processes.

    Return the result, or None if the program was ended early, because the result is then
    unknown.
    """
    supervisor = Supervisor()
    began = time.monotonic()
    supervisor.start(order)
    for descriptor in {order["output"], order["errors"]}:
        os.close(descriptor)
    ended = supervisor.wait(began + order["seconds"], supervisor.has_ended)
    duration = time.monotonic() - began
    if ended:
        # The process that writes the last output may be about to end.
        supervisor.wait(time.monotonic() + order["linger"], supervisor.is_alone)
    stopping = order["stopping"]
    grace = stopping if supervisor.abandoned else order["grace"]
    told = supervisor.end(grace, though_abandoned=stopping > 0)
    if supervisor.abandoned:
        return None
    return {
        "format": FORMAT,
        "exit": supervisor.exit if supervisor.exit is not None else -signal.SIGKILL,
        "timed_out": not ended,
        "seconds": duration,
        "left_behind": told if ended else 0,
        "unkillable": len(supervisor.left()),
    }


def _become(order: Order) -> None:
    """Replace this process with the program."""
    os.setsid()
    # If the supervisor is killed, the program ends as well.
    prctl(SET_PDEATHSIG, signal.SIGKILL)
    # Python ignores these signals; a program expects their default effect.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    given, output, errors = order["given"], order["output"], order["errors"]
    os.dup2(os.open(os.devnull, os.O_RDONLY) if given is None else given, 0)
    os.dup2(output, 1)
    os.dup2(errors, 2)
    os.closerange(3, max(output, errors, given or 0, *order["held"], 2) + 1)
    os.chdir(order["folder"])
    arguments = order["arguments"]
    os.execvpe(arguments[0], arguments, order["environment"])


def children() -> list[int]:
    """Return the ids of this process's children, if the system lists them."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        with suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:
            # Process id, name (which may contain anything), state and parent.
            parent = stat.read().rpartition(b")")[2].split()[1]
            if int(parent) == os.getpid():
                found.append(int(name))
    return found


def prctl(option: int, value: int) -> bool:
    """Set an attribute of this process; return whether the system supports it."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        system = _system()
    except ImportError:
        return False
    return bool(system.prctl(option, value, 0, 0, 0) == 0)


@cache
def _system() -> Any:
    # Each type is a new class, and a long loop would accumulate them.
    import ctypes

    return ctypes.CDLL(None)


def main(order: Order) -> None:
    """Carry out an order, and send the answer."""
    if (answer := keep(order)) is not None:
        with suppress(ConnectionError):
            os.write(ANSWER, json.dumps(answer).encode())
