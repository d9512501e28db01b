"""Runs a user-defined command for each notice, without affecting the loop.

The command runs in parallel with the loop, for one notice at a time. It receives a JSON
object on standard input, and is stopped when its time limit is reached. If it fails, only a
warning is printed.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, Full, Queue

import msgspec

from ...adapters.processes.programs import run_hook_command
from ...sprint.agent.actions import NOTICES, Notice, is_wanted

TIMEOUT_SECONDS = 30.0
"""The command's time limit for one notice, in seconds."""
PATIENCE_SECONDS = 60.0
"""The maximum wait for pending notices at the end of a loop, in seconds."""
SIGNAL_PATIENCE_SECONDS = 5.0
"""The maximum wait for pending notices if a signal ended the loop, in seconds."""
QUEUE_MAX = 16
"""The maximum number of pending notices; further notices are dropped with a warning."""


class Notices(msgspec.Struct, eq=False):
    """A shell command, and the notices to send to it."""

    command: str
    folder: Path
    environment: Mapping[str, str]
    tell: Callable[[str], None]
    """Prints a warning."""
    of: Collection[str] = tuple(NOTICES)
    """The names of the notices to send, from `NOTICES`."""
    queue: Queue[Notice | None] = msgspec.field(default_factory=lambda: Queue(QUEUE_MAX))
    failures: Queue[str] = msgspec.field(default_factory=Queue)
    thread: threading.Thread | None = None

    def send(self, notice: Notice) -> None:
        """Send a notice without waiting; ignore a notice that was not selected."""
        self._warn()
        if not is_wanted(notice.notice, self.of):
            return
        if self.thread is None:
            # A daemon thread, so that the command cannot keep the loop's process alive.
            self.thread = threading.Thread(target=self._work, daemon=True)
            self.thread.start()
        try:
            self.queue.put_nowait(notice)
        except Full:
            self.tell(
                f"warning: the notice {notice.notice!r} was skipped: other notices "
                "are waiting"
            )

    def end(self, *, patience: float = PATIENCE_SECONDS) -> None:
        """Wait at most `patience` seconds for the pending notices; drop the rest."""
        if self.thread is None:
            return
        until = time.monotonic() + patience
        with suppress(Full):
            self.queue.put(None, timeout=patience)
            self.thread.join(max(until - time.monotonic(), 0.0))
        self._warn()
        if self.thread.is_alive():
            self.tell("warning: the command of --notify missed some notices")

    def _warn(self) -> None:
        """Report failures; called by the loop's own thread, the only thread that prints."""
        while True:
            try:
                failed = self.failures.get_nowait()
            except Empty:
                return
            self.tell(f"warning: the command of --notify failed: {failed}")

    def _work(self) -> None:
        while (notice := self.queue.get()) is not None:
            try:
                failed = self._run(notice)
            except Exception as error:  # noqa: BLE001 (whatever it is, the loop goes on)
                failed = str(error) or type(error).__name__
            if failed:
                self.failures.put(failed)

    def _run(self, notice: Notice) -> str | None:
        return run_hook_command(
            self.command,
            prompt=msgspec.json.encode(notice).decode() + "\n",
            folder=self.folder,
            environment=self.environment,
            timeout_seconds=TIMEOUT_SECONDS,
            transcript=None,
        )
