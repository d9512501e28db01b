"""A terminal of the command's own, which is like ours: a pty."""

import fcntl
import os
import struct
import termios
import tty
from contextlib import suppress
from typing import Any, Self

_OPOST = 1
"""Where the output flags stand in what `termios` says."""


class OwnTerminal:
    """A terminal that behaves like ours; ours then hands on each key as it is typed."""

    def __init__(
        self, master: int, slave: int, settings: list[Any], *, reads: bool
    ) -> None:
        self.master = master
        self.slave = slave
        self.reads = reads
        """Whether what is typed on our terminal is for the command."""
        self._settings = settings
        self._is_taken = False

    @property
    def is_behind(self) -> bool:
        """Tell whether what is typed is for somebody else until we are in front again."""
        return self.reads and not self._is_taken

    @classmethod
    def like_this(cls) -> Self:
        """Make a terminal like the one on standard output."""
        settings = termios.tcgetattr(1)
        reads = os.isatty(0) and is_in_foreground(0)
        master, slave = os.openpty()
        # Whoever reads there may be busy: what was typed then waits with us.
        os.set_blocking(master, False)
        termios.tcsetattr(slave, termios.TCSANOW, settings)
        terminal = cls(master, slave, settings, reads=reads)
        terminal.resize()
        if not reads:
            terminal.leave_lines_alone()
        return terminal

    def take(self) -> bool:
        """Let every key of our terminal go to the command; tell whether that is so now.

        From behind, it is somebody else's who would be disturbed by that.
        """
        if self.reads and is_in_foreground(0):
            with suppress(termios.error):
                tty.setraw(0, termios.TCSADRAIN)
            self._is_taken = True
            self.resize()
        return self._is_taken

    def give_back(self) -> None:
        """Set our terminal as it was."""
        if self._is_taken:
            with suppress(termios.error):
                termios.tcsetattr(0, termios.TCSADRAIN, self._settings)
            self._is_taken = False

    def leave_lines_alone(self) -> None:
        """Let our own terminal turn ends of lines into what it needs."""
        with suppress(termios.error):
            settings = termios.tcgetattr(self.master)
            settings[_OPOST] &= ~termios.OPOST
            termios.tcsetattr(self.master, termios.TCSANOW, settings)

    def resize(self) -> None:
        """Make it as large as ours."""
        with suppress(OSError):
            size = fcntl.ioctl(1, termios.TIOCGWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)

    def lead(self) -> None:
        """Become the leader of a session in it."""
        os.setsid()
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)


def is_in_foreground(number: int) -> bool:
    """Tell whether we may read and set a terminal, or whether it is not our own one."""
    try:
        return os.tcgetpgrp(number) == os.getpgrp()
    except OSError:
        return True
