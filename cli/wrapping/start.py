"""`sprintlog wrap`: a command runs at once and untouched; another process records it.

What is imported here is imported before the command starts: the standard library alone.
"""

import fcntl
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Self

from sprintlog.engine.adapters.processes.transparent import end_as, run_transparently

from .frames import FRAME, WITHIN, WrapRequest, result

PATIENCE_SECONDS = 2.0
"""How long the end may wait for what is recorded; that goes on without us then."""
_PIPE_BYTES = 1 << 20


_FLAGS = {"--snapshot": "snapshot", "--state-files": "state_files", "--no-mask": "no_mask"}
_VALUES = {"--sprint": "sprint_id", "--measure": "measure", "--report": "reports"}


def parse(arguments: Sequence[str]) -> WrapRequest | None:
    """Return what is asked for in plain words; None for what click is to explain."""
    given: dict[str, object] = {}
    reports: list[str] = []
    left = [*arguments]
    while left and left[0].startswith("-"):
        name, equals, value = left.pop(0).partition("=")
        if name == "--" and not equals:
            break
        if name in _FLAGS and not equals:
            given[_FLAGS[name]] = True
        elif name in _VALUES and (equals or left):
            value = value if equals else left.pop(0)
            if name == "--report":
                reports.append(value)
            else:
                given[_VALUES[name]] = value
        else:
            return None
    if not left or (reports and "measure" not in given):
        return None
    return WrapRequest(tuple(left), reports=tuple(reports), **given)  # type: ignore[arg-type]


def main(arguments: Sequence[str]) -> None:
    """Run what is wrapped and end as it ends; return where click is to explain."""
    if (asked := parse(arguments)) is not None:
        wrap(asked)


def wrap(asked: WrapRequest) -> None:
    """Run a command, record it, and end as it ends; does not return."""
    if os.environ.get("SPRINTLOG_OFF", "0") not in ("", "0"):
        _become(asked.command)
    environment = {
        **os.environ,
        WITHIN: "wrap",
        "SPRINTLOG_ACTOR": actor_of(asked.command),
    }
    recorder = Recorder.start(asked)
    exit_code = run_transparently(
        asked.command, environment=environment, hear=recorder.hear
    )
    recorder.end(exit_code)
    end_as(exit_code)


def actor_of(command: Sequence[str]) -> str:
    """Return who acts within a wrapped command."""
    return f"agent:{os.path.basename(command[0]) or 'command'}"[:128]


def _become(command: Sequence[str]) -> None:
    with suppress(OSError):
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], [*command])
    # What cannot be started is explained as always.
    end_as(run_transparently(command, environment=os.environ, hear=lambda *_: None))


class Recorder:
    """The process that records, as we see it. Whatever befalls it, we go on."""

    def __init__(self, telling: int, said: int) -> None:
        self._telling = telling
        self._said = said
        self._began = time.monotonic()

    @classmethod
    def start(cls, asked: WrapRequest) -> Self:
        """Start it, apart from our terminal and its signals."""
        heard, telling = os.pipe()
        with suppress(OSError, AttributeError):
            # So much may be printed before the other process reads.
            fcntl.fcntl(telling, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        said, saying = os.pipe()
        if os.fork() == 0:
            try:
                os.close(telling)
                os.close(said)
                _apart()
                _record(asked, heard, saying)
            finally:
                os._exit(0)
        os.close(heard)
        os.close(saying)
        return cls(telling, said)

    def hear(self, number: int, chunk: bytes) -> None:
        """Hand on a copy of what was printed."""
        self._tell(FRAME.pack(number, len(chunk)) + chunk)

    def _tell(self, frame: bytes) -> None:
        if self._telling >= 0:
            try:
                _write(self._telling, frame)
            except OSError:
                os.close(self._telling)
                self._telling = -1

    def end(self, exit_code: int) -> None:
        """Say how the command ended, and wait a little for what is recorded of it."""
        took = round(1000 * (time.monotonic() - self._began))
        self._tell(result(exit_code, took))
        with suppress(OSError):
            os.close(self._telling)
        until = time.monotonic() + PATIENCE_SECONDS
        said = b""
        while (left := until - time.monotonic()) > 0:
            ready, _, _ = select.select([self._said], [], [], left)
            if not ready or not (more := os.read(self._said, 4096)):
                break
            said += more
        for line in said.splitlines():
            with suppress(OSError):
                os.write(2, b"sprintlog: " + line + b"\n")


def _write(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def _apart() -> None:
    """Leave the terminal, the session and the standard streams to the command."""
    os.setsid()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def _record(asked: WrapRequest, heard: int, saying: int) -> None:
    """Record until the command has ended; say in a line what went wrong."""

    def tell(problem: str) -> None:
        with suppress(OSError):
            os.write(saying, f"{' '.join(problem.split())}\n".encode(errors="replace"))

    _recording(asked, heard, tell)


def _recording(asked: WrapRequest, heard: int, tell: Callable[[str], None]) -> None:
    began = time.time_ns() // 1_000_000
    # Imported here: the command runs already.
    import threading
    from pathlib import Path

    from sprintlog.engine.adapters.git.state import RepositoryState, repository_state

    stands: list[RepositoryState | None] = []
    # First of all, since the command may change it at any moment.
    looking = threading.Thread(
        target=lambda: stands.append(repository_state(Path.cwd(), os.environ)), daemon=True
    )
    looking.start()
    from .recorder import record

    def before() -> RepositoryState | None:
        looking.join()
        return stands[0] if stands else None

    with open(heard, "rb", buffering=0) as frames:
        record(asked, frames, tell, began=began, before=before)


if __name__ == "__main__":
    main(sys.argv[1:])
