"""Processes whose supervisor died before them: they become our children, and are ended.

A supervisor adopts what a program leaves, unless the program kills it first. So while
supervisors run we adopt as well (a sub-reaper, on Linux): what was below a dead one comes
to us.
"""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock
from typing import Any, Self

from .supervisor import KILL_SECONDS, SET_CHILD_SUBREAPER, children, prctl

_LOCK = Lock()
_supervisors: set[int] = set()
"""Those of all threads that are not waited for yet."""


class Orphans:
    """While it is entered, whatever a dead supervisor left becomes our child."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._supervisor = 0

    def __enter__(self) -> Self:
        with _LOCK:
            self._known = set(children())
        return self

    def __exit__(self, *error: object) -> None:
        with _LOCK:
            _supervisors.discard(self._supervisor)
            if not _supervisors:
                prctl(SET_CHILD_SUBREAPER, 0)

    def start(self, command: Sequence[str], **options: Any) -> "subprocess.Popen[bytes]":
        """Start a supervisor, which is never taken for an orphan."""
        with _LOCK:
            prctl(SET_CHILD_SUBREAPER, 1)
            supervisor = subprocess.Popen(command, **options)
            self._supervisor = supervisor.pid
            _supervisors.add(supervisor.pid)
        return supervisor

    def end(self) -> None:
        """End all that became our child since, and what becomes so while they end."""
        last = time.monotonic() + KILL_SECONDS
        while time.monotonic() < last and (found := self._found()):
            for pid in found:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            time.sleep(0.005)

    def _found(self) -> list[int]:
        """Return the orphans: what a program starts is never in our own session."""
        with _LOCK:
            known = self._known | _supervisors
            return [pid for pid in children() if pid not in known and _is_elsewhere(pid)]


def _is_elsewhere(pid: int) -> bool:
    try:
        return os.getsid(pid) != os.getsid(0)
    except (ProcessLookupError, PermissionError):
        return False
