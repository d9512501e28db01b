"""The process that starts a command and reports when the command stops and ends.

If the command has its own terminal, this process is the session leader. The command is
therefore in a process group that the terminal can stop, and its remaining processes can
still use the terminal.
"""

import errno
import fcntl
import os
import signal
import struct
import termios
import tty
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn, Self

from . import descriptors, signals

_OPOST = 1
"""The index of the output flags in the result of `termios.tcgetattr`."""


class OwnTerminal:
    """A pseudo-terminal with the settings of sprintlog's terminal.

    While a command uses it, sprintlog's terminal passes on each key immediately.
    """

    def __init__(
        self, master: int, slave: int, settings: list[Any], *, reads: bool
    ) -> None:
        self.master = master
        self.slave = slave
        self.reads = reads
        """Whether keys typed on sprintlog's terminal are passed to the command."""
        self._settings = settings
        self._is_taken = False

    @property
    def is_behind(self) -> bool:
        """Return whether input is deferred because sprintlog runs in the background."""
        return self.reads and not self._is_taken

    @classmethod
    def like_this(cls) -> Self:
        """Create a terminal with the settings of the one on standard output."""
        settings = termios.tcgetattr(1)
        reads = os.isatty(0) and is_in_foreground(0)
        master, slave = os.openpty()
        # If the reader is busy, typed keys wait in this process.
        os.set_blocking(master, False)
        termios.tcsetattr(slave, termios.TCSANOW, settings)
        terminal = cls(master, slave, settings, reads=reads)
        terminal.resize()
        if not reads:
            terminal.leave_lines_alone()
        return terminal

    def take(self) -> bool:
        """Start passing each key typed on sprintlog's terminal to the command, if possible.

        Return whether keys are passed on. In the background, they are not, because that
        would disturb the foreground process.
        """
        if self.reads and is_in_foreground(0):
            with suppress(termios.error):
                tty.setraw(0, termios.TCSADRAIN)
            self._is_taken = True
            self.resize()
        return self._is_taken

    def give_back(self) -> None:
        """Restore the settings of sprintlog's terminal."""
        if self._is_taken:
            with suppress(termios.error):
                termios.tcsetattr(0, termios.TCSADRAIN, self._settings)
            self._is_taken = False

    def leave_lines_alone(self) -> None:
        """Disable newline conversion, because sprintlog's terminal already performs it."""
        with suppress(termios.error):
            settings = termios.tcgetattr(self.master)
            settings[_OPOST] &= ~termios.OPOST
            termios.tcsetattr(self.master, termios.TCSANOW, settings)

    def resize(self) -> None:
        """Resize the pseudo-terminal to the size of sprintlog's terminal."""
        with suppress(OSError):
            size = fcntl.ioctl(1, termios.TIOCGWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)

    def lead(self) -> None:
        """Become the leader of a new session in this terminal."""
        os.setsid()
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)


def is_in_foreground(number: int) -> bool:
    """Return whether this process may configure a terminal.

    It may do so if it runs in the foreground or if the terminal is not its controlling
    terminal.
    """
    try:
        return os.tcgetpgrp(number) == os.getpgrp()
    except OSError:
        return True


STARTED, STOPPED, EXITED = 1, 2, 3
_NEWS = struct.Struct("!Bi")
NOT_FOUND, NOT_STARTED = 127, 126
"""A shell's exit codes for a command that does not exist or cannot be run."""


class Keeper:
    """A handle for the process that starts the command."""

    def __init__(self, news: int, life: int, *, leads: bool) -> None:
        self.news = news
        """The descriptor from which the command's state changes are read."""
        self.life = life
        """The descriptor that keeps the command's terminal alive while it remains open."""
        self._leads = leads
        self._command = 0

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        terminal: OwnTerminal | None,
        streams: Mapping[int, int],
        held_back: Any,
    ) -> Self:
        """Start a command with the given descriptors as some of its standard streams.

        Signals must be blocked; `held_back` is the signal mask for the command.
        """
        news, saying = os.pipe()
        living, life = os.pipe()
        leads = terminal is not None and terminal.reads
        if os.fork() == 0:
            try:
                if terminal is not None and leads:
                    terminal.lead()
                if (pid := os.fork()) == 0:
                    _start(command, environment, streams, held_back, leads=leads)
                _keep(pid, saying, living)
            finally:
                os._exit(NOT_STARTED)
        os.close(saying)
        os.close(living)
        keeper = cls(news, life, leads=leads)
        kind, keeper._command = keeper.read()
        if kind != STARTED:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return keeper

    def read(self) -> tuple[int, int]:
        """Return the command's next state change, with an exit code or signal number."""
        said = b""
        while len(said) < _NEWS.size:
            if not (more := os.read(self.news, _NEWS.size - len(said))):
                # The keeper was killed: the result of the command is unknown.
                return EXITED, -signal.SIGKILL
            said += more
        kind, number = _NEWS.unpack(said)
        return kind, number

    def tell(self, number: int) -> None:
        """Send a signal to the command, or to its group if it has its own terminal."""
        with suppress(OSError):
            (os.killpg if self._leads else os.kill)(self._command, number)


def become(command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Replace this process with the command; on failure, exit as a shell would."""
    code = NOT_STARTED
    try:
        # Python ignores these signals; the command must get their default effect.
        for one in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(one, signal.SIG_DFL)
        _execute(command, environment)
    except (FileNotFoundError, NotADirectoryError):
        code = NOT_FOUND
        _complain(f"{command[0]}: not found")
    except (OSError, ValueError) as error:
        _complain(f"{command[0]}: {getattr(error, 'strerror', None) or error}")
    finally:
        os._exit(code)


def _execute(command: Sequence[str], environment: Mapping[str, str]) -> None:
    paths = [command[0]]
    try:
        os.execvpe(command[0], [*command], {**environment})
    except OSError as error:
        if os.path.dirname(command[0]) == "":
            folders = os.get_exec_path({**environment})
            paths = [os.path.join(one, command[0]) for one in folders]
            if not any(map(os.path.exists, paths)):
                # The error concerns a folder that cannot be searched.
                raise FileNotFoundError from error
        if error.errno != errno.ENOEXEC:
            raise
    # Like every shell, run a script without an interpreter line with `sh`.
    found = next(path for path in paths if os.access(path, os.X_OK))
    os.execve("/bin/sh", ["/bin/sh", found, *command[1:]], {**environment})


def _start(
    command: Sequence[str],
    environment: Mapping[str, str],
    streams: Mapping[int, int],
    held_back: Any,
    *,
    leads: bool,
) -> NoReturn:
    """Replace this new process with the command."""
    try:
        if leads:
            os.setpgid(0, 0)
            # A background process that configures a terminal is stopped.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
            os.tcsetpgrp(streams[1], os.getpid())
        for number, descriptor in sorted(streams.items()):
            os.dup2(descriptor, number)
        for descriptor in {*streams.values()}:
            if descriptor > 2:
                os.close(descriptor)
        for one in signals.FORWARDED:
            if signal.getsignal(one) != signal.SIG_IGN:
                signal.signal(one, signal.SIG_DFL)
        # Signals that arrived while they were blocked are meant for the command.
        signal.pthread_sigmask(signal.SIG_SETMASK, held_back)
        become(command, environment)
    finally:
        os._exit(NOT_STARTED)


def _keep(pid: int, saying: int, living: int) -> None:
    """Report the command's state changes; exit when its terminal is no longer needed.

    All signals remain blocked, because signals to the process group are meant for the
    command.
    """
    os.write(saying, _NEWS.pack(STARTED, pid))
    descriptors.hold_only(saying, living)
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            break
        os.write(saying, _NEWS.pack(STOPPED, os.WSTOPSIG(status)))
    os.write(saying, _NEWS.pack(EXITED, os.waitstatus_to_exitcode(status)))
    # The terminal closes when its session leader exits; other processes may still use it.
    os.read(living, 1)


def _complain(problem: str) -> None:
    with suppress(OSError):
        os.write(2, f"sprintlog: {problem}\n".encode(errors="surrogateescape"))
