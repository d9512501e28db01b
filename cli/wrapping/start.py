"""The entry point of `sprintlog wrap`, which runs a command recorded by another process.

This module is imported before the command starts, so it uses only the standard library.
"""

import fcntl
import os
import selectors
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn, Self

from sprintlog.engine.adapters.processes.descriptors import (
    hold_only,
    hold_standard_places,
    wait_for,
)
from sprintlog.engine.adapters.processes.keeper import become
from sprintlog.engine.adapters.processes.signals import WaitingSignals
from sprintlog.engine.adapters.processes.transparent import end_as, start_transparently
from sprintlog.engine.sessions.work import CORRELATION, WITHIN

from ..imports import keep_ours
from .frames import (
    PATIENCE_SECONDS,
    HeldCommand,
    WrapRequest,
    is_run,
    missed,
    printed,
    result,
    work_of,
)

LONG_SECONDS = 1.0
BEFORE_SECONDS = 10.0
"""How long a command may wait until the files before it are saved."""
_PIPE_BYTES = 1 << 20
_SAVING = b"sprintlog: saving the files before the command starts\n"


_FLAGS = {
    f"--{name.replace('_', '-')}": name
    for name in ("snapshot", "state_files", "no_mask", "measure_build", "wait")
}
_VALUES = {"--sprint": "sprint_id", "--measure": "measure", "--report": "reports"}


def parse(arguments: Sequence[str]) -> WrapRequest | None:
    """Return the request in a plain command line, or None if click must process it."""
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
            if not value:
                return None
            if name == "--report":
                reports.append(value)
            else:
                given[_VALUES[name]] = value
        else:
            return None
    if not left or ((reports or "measure_build" in given) and "measure" not in given):
        return None
    return WrapRequest(tuple(left), reports=tuple(reports), **given)  # type: ignore[arg-type]


def main(arguments: Sequence[str]) -> None:
    """Run the wrapped command and exit with its status; return if click must be used."""
    if (asked := parse(arguments)) is not None:
        wrap(asked)


def wrap(asked: WrapRequest) -> NoReturn:
    """Run a command, record it, and exit with its exit status or signal."""
    hold_standard_places()
    if os.environ.get("SPRINTLOG_OFF", "0") not in ("", "0"):
        become(asked.command, os.environ)
    # Read all modules before the command starts, because it may replace the package.
    keep_ours()
    key = os.urandom(8).hex()
    environment = _environment(asked, key)
    # From here on, no signal is lost or ends this process before the command exists.
    with WaitingSignals() as signals:
        recorder = Recorder.start(asked, key, held_back=signals.before)
        recorder.wait_for_files()
        try:
            relay = start_transparently(
                asked.command, environment=environment, hear=recorder.hear, signals=signals
            )
        except OSError:
            relay = None
        if relay is not None:
            exit_code = relay.run()
            recorder.ended(exit_code)
    if relay is None:
        # Without a relay, the command replaces this process.
        become(asked.command, environment)
    relay.deliver()
    relay.leave()
    recorder.wait(asked.patience_seconds)
    if asked.wait and not os.environ.get(WITHIN):
        exit_code = _wait(asked.sprint_id) or exit_code
    end_as(exit_code)


def _wait(sprint_id: str | None) -> int:
    """Wait out a limit that ended the command; return 0, or a negative signal number."""
    try:
        # Imported here: the command has already ended.
        from .limit_wait import wait_after_wrap

        return -wait_after_wrap(sprint_id)
    except Exception as error:  # noqa: BLE001 (the command's exit status must not change)
        with suppress(OSError):
            os.write(2, f"sprintlog: not waiting: {error}\n".encode(errors="replace"))
        return 0


def _environment(asked: WrapRequest, key: str) -> dict[str, str]:
    named = {} if asked.sprint_id is None else {"SPRINTLOG_SPRINT": asked.sprint_id}
    named |= {CORRELATION: work_of(os.environ, key)}
    if not is_run(asked.command):
        within = {WITHIN: os.environ.get(WITHIN) or key}
        named |= {**within, "SPRINTLOG_ACTOR": actor_of(asked.command)}
    return {**os.environ, **named}


def actor_of(command: Sequence[str]) -> str:
    """Return the actor for a wrapped command."""
    return f"agent:{os.path.basename(command[0]) or 'command'}"[:128]


class Recorder:
    """The recording process as seen by `wrap`, which continues even if recording fails."""

    def __init__(self, telling: int | None, said: int, kept: int | None = None) -> None:
        self._telling = telling
        """The pipe to the recorder; None once the recorder has ended."""
        self._said = said
        self._kept = kept
        """The pipe that the recorder closes once the files are saved; None without a
        snapshot."""
        self._left = b""
        """The bytes that have not been sent yet."""
        self._missed: dict[int, int] = {}
        """The number of unsent bytes per descriptor since the recorder stopped
        responding."""
        self._began = time.monotonic()

    @classmethod
    def start(cls, asked: WrapRequest, key: str, *, held_back: Any) -> Self:
        """Start the recorder, detached from the terminal and its signals."""
        heard, telling = os.pipe()
        said, saying = os.pipe()
        # Changes are detected by comparison with the current files. Within an iteration,
        # these were saved when the iteration started.
        saves = asked.snapshot or asked.measure is not None
        waits = saves and not os.environ.get(WITHIN)
        kept, keeping = os.pipe() if waits else (None, None)
        until = time.monotonic() + BEFORE_SECONDS
        os.set_blocking(telling, False)
        with suppress(OSError, AttributeError):
            # The amount that can be printed before the recorder reads.
            fcntl.fcntl(telling, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        try:
            pid = os.fork()
        except OSError as error:
            os.write(saying, f"not recorded: {error.strerror}\n".encode())
            pid = -1
        if pid == 0:
            try:
                _apart(held_back, heard, saying, *filter(None, [keeping]))
                waiting = None if keeping is None else HeldCommand(keeping, until)
                _record(asked, heard, saying, key=key, waiting=waiting)
            finally:
                os._exit(0)
        os.close(heard)
        os.close(saying)
        if keeping is not None:
            os.close(keeping)
        return cls(telling, said, kept)

    def wait_for_files(self) -> None:
        """Wait for a limited time until the existing files have been saved."""
        if self._kept is not None:
            if not wait_for(self._kept, selectors.EVENT_READ, LONG_SECONDS):
                if os.isatty(2):
                    with suppress(OSError):
                        os.write(2, _SAVING)
                wait_for(self._kept, selectors.EVENT_READ, BEFORE_SECONDS - LONG_SECONDS)
            os.close(self._kept)
            self._kept, self._began = None, time.monotonic()

    def hear(self, number: int, chunk: bytes) -> None:
        """Send the recorder a copy of printed bytes unless it has stopped responding."""
        if self._missed:
            self._missed[number] = self._missed.get(number, 0) + len(chunk)
            return
        self._left = printed(number, chunk)
        while not self._tell() and self._telling is not None:
            if not wait_for(self._telling, selectors.EVENT_WRITE, PATIENCE_SECONDS):
                # The recorder has an incomplete frame until it reads the rest.
                self._missed[number] = 0
                return

    def _tell(self) -> bool:
        """Send as much as possible without blocking; return whether everything was sent."""
        try:
            while self._left and self._telling is not None:
                self._left = self._left[os.write(self._telling, self._left) :]
        except BlockingIOError:
            return False
        except OSError:
            self._leave()
        return True

    def _leave(self) -> None:
        if self._telling is not None:
            os.close(self._telling)
        self._telling = None

    def ended(self, exit_code: int) -> None:
        """Send the recorder the exit code of the command."""
        took = round(1000 * (time.monotonic() - self._began))
        if self._missed:
            self._left += missed(self._missed)
        self._left += result(exit_code, took)
        if self._tell():
            self._leave()

    def wait(self, seconds: float) -> None:
        """Wait at most `seconds` for the recorder, and print its messages.

        If the recorder does not respond, the wait is shorter.
        """
        until = time.monotonic() + (PATIENCE_SECONDS if self._missed else seconds)
        said = b""
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._said, selectors.EVENT_READ)
            if self._telling is not None:
                waiting.register(self._telling, selectors.EVENT_WRITE)
            while waiting.get_map() and (left := until - time.monotonic()) > 0:
                for key, _ in waiting.select(left):
                    if key.fd == self._telling:
                        if self._tell():
                            waiting.unregister(key.fd)
                            self._leave()
                    elif more := os.read(self._said, 4096):
                        said += more
                    else:
                        waiting.unregister(self._said)
        for line in said.splitlines():
            with suppress(OSError):
                os.write(2, b"sprintlog: " + line + b"\n")


def _apart(held_back: Any, *kept: int) -> None:
    """Detach from the terminal and the session, and close inherited descriptors."""
    os.setsid()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, held_back)
    hold_only(*kept)


def _record(
    asked: WrapRequest, heard: int, saying: int, *, key: str, waiting: HeldCommand | None
) -> None:
    """Record until the command has ended; report an error in one line."""

    def tell(problem: str) -> None:
        with suppress(OSError):
            # The message must not depend on modules that may fail to import.
            said = " ".join(problem.split())
            line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in said)
            os.write(saying, f"{line}\n".encode(errors="replace"))

    try:
        began = time.time_ns() // 1_000_000
        # Imported here: the command is already running, so the imports do not delay it.
        import threading
        from pathlib import Path

        from sprintlog.engine.adapters.git import untrusted

        stands: list[untrusted.RepositoryState | None] = []

        def look() -> None:
            stands.append(untrusted.repository_state(Path.cwd(), os.environ))

        # Started first, because the command may change the repository at any moment.
        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        from .recorder import record

        def before() -> untrusted.RepositoryState | None:
            looking.join()
            return stands[0] if stands else None

        with open(heard, "rb", buffering=0) as frames:
            record(
                asked, frames, tell, key=key, began=began, before=before, waiting=waiting
            )
    except Exception as error:  # noqa: BLE001 (nothing else reports errors of this process)
        hint = getattr(error, "hint", None)
        kind = "" if hasattr(error, "hint") else f"{type(error).__name__}: "
        tell(f"not recorded: {kind}{error}" + (f" ({hint})" if hint else ""))
