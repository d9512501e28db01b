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

    @classmethod
    def like_this(cls) -> Self:
        """Make a terminal like the one on standard output."""
        master, slave = os.openpty()
        reads = os.isatty(0) and is_in_foreground(0)
        settings = termios.tcgetattr(1)
        theirs = [*settings]
        if not reads:
            # Our own terminal still turns ends of lines into what it needs.
            theirs[_OPOST] &= ~termios.OPOST
        termios.tcsetattr(slave, termios.TCSANOW, theirs)
        terminal = cls(master, slave, settings, reads=reads)
        terminal.resize()
        terminal.take()
        return terminal

    def take(self) -> None:
        """Let every key of our terminal go to the command as it is typed."""
        if self.reads:
            with suppress(termios.error):
                tty.setraw(0, termios.TCSADRAIN)
            self._is_taken = True
            self.resize()

    def give_back(self) -> None:
        """Set our terminal as it was."""
        if self._is_taken:
            with suppress(termios.error):
                termios.tcsetattr(0, termios.TCSADRAIN, self._settings)
            self._is_taken = False

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


def same_file(one: int, other: int) -> bool:
    """Tell whether two descriptors are of one file, so that their order counts."""
    try:
        return os.path.samestat(os.fstat(one), os.fstat(other))
    except OSError:
        return False
