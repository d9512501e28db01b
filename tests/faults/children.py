"""Our own processes: forked after the imports, read through pipes, always cleaned up."""

import ctypes
import gc
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from . import clocks

PACKAGE = Path(__file__).resolve().parents[2] / ".package"
_FAILED = 99
_DESCRIPTORS = 1 << 16
_DIE_WITH_PARENT = 1


class Child(NamedTuple):
    """A running process, and the parent's ends of its pipes."""

    pid: int
    stdin: int
    stdout: int

    def signal(self, number: int) -> None:
        """Send a signal; a child that is not waited for cannot have lost its number."""
        os.kill(self.pid, number)

    def wait(self) -> int:
        """Return how it ended: the exit code, or minus the signal's number."""
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)


def fork(body: Callable[[], int], *, root: Path, errors: Path) -> Child:
    """Run a function in a new process in a folder; its result is the exit status.

    No log may be open here: SQLite does not survive a fork.
    """
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = _FAILED
        try:
            _settle(their_in, their_out, root=root, errors=errors)
            code = body()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        except BaseException:  # noqa: BLE001 - this is a process's border
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
        finally:
            os._exit(code)
    os.close(their_in)
    os.close(their_out)
    return Child(pid, our_out, our_in)


def command_line(arguments: list[str], *, seed: int | None = None) -> int:
    """Run one command line in this forked process, with a clock that may be wrong."""
    from sprintlog.cli.main import main

    if seed is not None:
        clocks.install(clocks.lying_clock(random.Random(seed)))
    sys.argv = ["sprintlog", *arguments]
    main()
    return 0


def execute(arguments: list[str]) -> int:
    """Become a new interpreter that runs one command line."""
    words = [sys.executable, "-m", "sprintlog.cli", *arguments]
    os.execve(sys.executable, words, {**os.environ, "PYTHONPATH": str(PACKAGE)})
    return _FAILED


def run(body: Callable[[], int], *, root: Path, errors: Path) -> tuple[int, bytes]:
    """Run a function in a new process to its end; return its exit status and output."""
    child = fork(body, root=root, errors=errors)
    os.close(child.stdin)
    with os.fdopen(child.stdout, "rb") as stdout:
        written = stdout.read()
    return child.wait(), written


class Herd:
    """Children that act simultaneously, each read to its end or killed in time."""

    def __init__(self, *, root: Path, errors: Path, seconds: float) -> None:
        self._root, self._errors = root, errors
        self._until = time.monotonic() + seconds
        self._children: list[Child] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for child in self._children:
            child.signal(signal.SIGKILL)
            child.wait()
            os.close(child.stdout)
        self._children.clear()

    def start(self, body: Callable[[], int]) -> None:
        """Start one more child without input."""
        child = fork(body, root=self._root, errors=self._errors)
        os.close(child.stdin)
        os.set_blocking(child.stdout, False)
        self._children.append(child)

    def hear(self) -> list[tuple[int, bytes]]:
        """Return code and output of each; one that is not done in time was killed."""
        written = {child.pid: b"" for child in self._children}
        codes: dict[int, int] = {}
        while len(codes) < len(self._children):
            late = time.monotonic() > self._until
            for child in self._children:
                if child.pid in codes:
                    continue
                if late:
                    child.signal(signal.SIGKILL)
                written[child.pid] += _read_all(child.stdout)
                done, status = os.waitpid(child.pid, 0 if late else os.WNOHANG)
                if done:
                    written[child.pid] += _read_all(child.stdout)
                    codes[child.pid] = os.waitstatus_to_exitcode(status)
            time.sleep(0.005)
        heard = [(codes[child.pid], written[child.pid]) for child in self._children]
        for child in self._children:
            os.close(child.stdout)
        self._children.clear()
        return heard


def _read_all(descriptor: int) -> bytes:
    chunks = []
    try:
        while chunk := os.read(descriptor, 1 << 16):
            chunks.append(chunk)
    except BlockingIOError:
        pass
    return b"".join(chunks)


def _settle(stdin: int, stdout: int, *, root: Path, errors: Path) -> None:
    """Make the forked process look like one started by a shell."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    # Objects that the parent left unreachable may own descriptors, which must not be closed
    # here.
    gc.freeze()
    stderr = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for ours, number in ((stdin, 0), (stdout, 1), (stderr, 2)):
        os.dup2(ours, number)
    os.closerange(3, _DESCRIPTORS)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    for name in [name for name in os.environ if name.startswith("SPRINTLOG_")]:
        del os.environ[name]
    os.chdir(root)
