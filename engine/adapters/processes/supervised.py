"""Runs programs under a supervisor process, which ends all remaining processes.

The supervisor starts the program and enforces its time limit (see `supervisor.py`); this
module reads the output in the meantime. The supervisor adopts the program's orphaned
processes, unless the program kills it first. Therefore, on Linux, this process is a
subreaper as well while supervisors run, and ends the orphans of a dead supervisor.
"""

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Required, Self, TypedDict

from ...errors import SprintlogError
from ...own_files import keep_ours, own_text
from .output import Output
from .supervisor import FORMAT, KILL_SECONDS, SET_CHILD_SUBREAPER, children, prctl

_LOCK = Lock()
_supervisors: set[int] = set()
"""The running supervisors of all threads."""
LINGER_SECONDS = 0.5
"""How long a program's remaining processes may take to end."""
GRACE_SECONDS = 2.0
"""The number of seconds between SIGTERM and SIGKILL."""
PATIENCE_SECONDS = 15.0
"""How long a supervisor may take to answer after the time limit."""

_START = """\
import json, os
with os.fdopen(os.dup(0), "rb") as told:
    line = told.readline()
if line:
    source, order = json.loads(line)
    exec(source)
    main(order)
"""
_SUPERVISOR = [sys.executable, "-I", "-S", "-c", _START]
"""The supervisor's command; its source is sent with the order, because `pkill -f` would
match words in an argument."""
_SOURCE = own_text(__name__, "supervisor.py")
"""The source, read on import, because an upgrade may replace the file later."""
_PIPE_BYTES_MAX = 1024 * 1024
TICK_SECONDS = 60.0


class OutcomeUnknownError(SprintlogError):
    """A program ended, but its supervisor's answer has an unknown format."""


class ProgramEnded(NamedTuple):
    """The outcome of a program."""

    exit: int
    """The program's exit code, or the negative signal number."""
    timed_out: bool
    seconds: float
    left_behind: int
    """The number of remaining processes, which were ended."""
    unkillable: int


class Orphans:
    """A context in which orphans of a dead supervisor become children of this process."""

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
        """Start a supervisor, which is never treated as an orphan."""
        with _LOCK:
            prctl(SET_CHILD_SUBREAPER, 1)
            supervisor = subprocess.Popen(command, **options)
            self._supervisor = supervisor.pid
            _supervisors.add(supervisor.pid)
        return supervisor

    def end(self) -> None:
        """Kill all processes adopted since entry, including any adopted during the call."""
        last = time.monotonic() + KILL_SECONDS
        while time.monotonic() < last and (found := self._found()):
            for pid in found:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            time.sleep(0.005)

    def _found(self) -> list[int]:
        """Return the orphans; a program's processes are always in another session."""
        with _LOCK:
            known = self._known | _supervisors
            return [pid for pid in children() if pid not in known and _is_elsewhere(pid)]


def _is_elsewhere(pid: int) -> bool:
    try:
        return os.getsid(pid) != os.getsid(0)
    except (ProcessLookupError, PermissionError):
        return False


_LIMITS = {"linger": LINGER_SECONDS, "grace": GRACE_SECONDS}


class RunOptions(TypedDict, total=False):
    """The options of `run_kept` that its callers pass on."""

    folder: Required[Path]
    environment: Required[Mapping[str, str]]
    timeout_seconds: Required[float]
    held: Collection[int]
    tick: Callable[[], None]
    watch: Callable[[int, bool], float]
    stop: int | None
    started: Callable[[int], None]


def run_kept(
    arguments: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    timeout_seconds: float,
    output: Output,
    errors: Output | None = None,
    given: str | None = None,
    held: Collection[int] = (),
    tick: Callable[[], None] = lambda: None,
    watch: Callable[[int, bool], float] = lambda pid, has_printed: TICK_SECONDS,
    stop: int | None = None,
    stopping_seconds: float = 0.0,
    started: Callable[[int], None] = lambda pid: None,
) -> ProgramEnded | None:
    """Run a program until all its processes have ended, and return its result.

    Return None if the result is unknown. The program reads the text `given`, if any, on
    standard input. Its output goes to `output`, and its standard error to `errors` if that
    is passed. The descriptors in `held` stay open until the end. Raise
    `OutcomeUnknownError` if the supervisor's answer has an unknown format. `tick` is called
    every `TICK_SECONDS`, and `started` with the supervisor's process id. `watch` is called
    with that id and with whether the program has printed anything; it returns the seconds
    until its next call, or 0 to end the program. An exception in this call, or a readable
    `stop`, ends the program: immediately, or with SIGTERM and `stopping_seconds` to react.
    """
    keep_ours()
    with ExitStack() as opened:
        reading, writing = _pipe(opened)
        feeds, ends = {reading: output}, [writing, writing]
        if errors is not None:
            reading, ends[1] = _pipe(opened)
            feeds[reading] = errors
        told = None if given is None else opened.enter_context(_file_with(given))
        order = {
            "format": FORMAT,
            "arguments": list(arguments),
            "folder": str(folder),
            "environment": dict(environment),
            "given": told,
            "output": ends[0].fileno(),
            "errors": ends[1].fileno(),
            "held": list(held),
            "seconds": timeout_seconds,
            "stopping": stopping_seconds,
            **_LIMITS,
        }
        ours, theirs = (opened.enter_context(end) for end in socket.socketpair())
        orphans = opened.enter_context(Orphans())
        passed = {*held, *filter(None, [told]), *(end.fileno() for end in ends)}
        pipes: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "pass_fds": passed}
        supervisor = orphans.start(_SUPERVISOR, **pipes, start_new_session=True)
        try:
            # If the supervisor has ended already, the missing answer reveals that.
            with suppress(ConnectionError):
                ours.sendall(json.dumps([_SOURCE, order]).encode() + b"\n")
            theirs.close()
            for end in ends:
                end.close()
            started(supervisor.pid)
            until = time.monotonic() + timeout_seconds + PATIENCE_SECONDS
            look = partial(watch, supervisor.pid)
            answer = _listen(ours, feeds, until=until, tick=tick, look=look, stop=stop)
        finally:
            _leave(supervisor, ours)
            if supervisor.returncode:
                orphans.end()
    return _understood(answer) if answer else None


def _understood(answer: bytes) -> ProgramEnded:
    """Return a supervisor's answer; raise `OutcomeUnknownError` if it is malformed."""
    try:
        said = json.loads(answer)
        if said.pop("format") == FORMAT:
            return ProgramEnded(**said)
    except (AttributeError, LookupError, TypeError, ValueError):
        pass
    raise OutcomeUnknownError(
        "ended, outcome unknown: its supervisor answered in a format that this sprintlog "
        "does not know",
        hint="check what it did, then repeat or complete it by hand",
    )


def _pipe(opened: ExitStack) -> tuple[FileIO, FileIO]:
    reading, writing = os.pipe()
    ends = FileIO(reading, "rb"), FileIO(writing, "wb")
    for end in ends:
        opened.enter_context(end)
    return ends


@contextmanager
def _file_with(text: str) -> Iterator[int]:
    """Yield a descriptor for reading text from a file; a pipe could block the writer."""
    # Imported here: a gate's script has no input.
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.write(text.encode("utf-8", "surrogateescape"))
        file.seek(0)
        yield file.fileno()


def _listen(
    ours: socket.socket,
    feeds: Mapping[FileIO, Output],
    *,
    until: float,
    tick: Callable[[], None],
    look: Callable[[bool], float],
    stop: int | None,
) -> bytes:
    """Read the program's output as it arrives, until its supervisor has answered."""
    answer, ticked, pause, is_told = b"", time.monotonic(), 0.0, False
    with selectors.DefaultSelector() as selector:
        for reading, feed in feeds.items():
            selector.register(reading, selectors.EVENT_READ, feed)
        selector.register(ours, selectors.EVENT_READ)
        if stop is not None:
            selector.register(stop, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0:
            has_printed = False
            for key, _ in selector.select(min(left, pause, TICK_SECONDS)):
                if key.fd == stop:
                    return b""
                chunk = _read(key.fd)
                if key.data is not None:
                    key.data.feed(chunk)
                    has_printed |= bool(chunk)
                    if not chunk:
                        selector.unregister(key.fileobj)
                elif chunk:
                    answer += chunk
                else:
                    _drain(feeds)
                    return answer
            if not is_told and (pause := look(has_printed)) <= 0:
                is_told, pause = True, TICK_SECONDS
                until = min(until, time.monotonic() + PATIENCE_SECONDS)
                with suppress(OSError):
                    ours.sendall(b"\0")
            if time.monotonic() - ticked >= TICK_SECONDS:
                ticked = time.monotonic()
                tick()
    return b""


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except ConnectionResetError:
        # The supervisor was killed before it read its order.
        return b""


def _drain(feeds: Mapping[FileIO, Output]) -> None:
    """Read the rest of the pipes, at most one pipe's capacity from each."""
    for reading, feed in feeds.items():
        os.set_blocking(reading.fileno(), False)
        room = _PIPE_BYTES_MAX
        # None means an empty pipe that still has a writer.
        while room > 0 and (chunk := reading.read(1 << 16)):
            feed.feed(chunk)
            room -= len(chunk)


def _leave(supervisor: "subprocess.Popen[bytes]", ours: socket.socket) -> None:
    """Release the supervisor; if it is still running, it first ends all processes."""
    with suppress(OSError):
        ours.shutdown(socket.SHUT_WR)
    # The program may have stopped the supervisor.
    supervisor.send_signal(signal.SIGCONT)
    try:
        supervisor.wait(timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        supervisor.kill()
        supervisor.wait()
