"""A terminal of 24 lines and 100 columns, with simulated typing and reading."""

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

PATIENCE_SECONDS = 120
"""How long a test waits for what never comes where there is a fault."""
SPRINTLOG = [sys.executable, "-m", "sprintlog.cli"]


class Terminal:
    """A terminal with a command in it, which leads a session there."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str], words: Sequence[str]
    ) -> None:
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            size = struct.pack("HHHH", 24, 100, 0, 0)
            fcntl.ioctl(1, termios.TIOCSWINSZ, size)
            os.execvpe(words[0], [*words], {**environment, "TERM": "xterm", "PS1": "$ "})
        self.seen = b""

    def until(self, wanted: bytes) -> bytes:
        """Return everything shown, once the given text appears."""
        end = time.monotonic() + PATIENCE_SECONDS
        while wanted not in self.seen and time.monotonic() < end:
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    more = os.read(self.master, 1 << 16)
                except OSError:
                    break
                self.seen += more
                if not more:
                    break
        assert wanted in self.seen, self.seen
        return self.seen

    def type(self, keys: bytes) -> None:
        """Type on it."""
        while keys:
            keys = keys[os.write(self.master, keys) :]

    def end(self) -> int:
        """Return the exit code, or minus the signal."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if select.select([self.master], [], [], 0.05)[0]:
                try:
                    self.seen += os.read(self.master, 1 << 16)
                except OSError:
                    time.sleep(0.05)
        raise AssertionError(self.seen)

    def close(self) -> None:
        """Close the terminal."""
        os.close(self.master)


def wrapped(*command: str) -> list[str]:
    """Return the words that wrap a command."""
    return [*SPRINTLOG, "wrap", "--", *command]


def in_a_shell(script: str, *command: str) -> list[str]:
    """Return the words of a shell in whose script `"$@"` is the wrapped command."""
    return ["bash", "-c", script, "bash", *wrapped(*command)]
