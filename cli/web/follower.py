"""What follows the log for all open pages: one thread, with a log of its own."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.streams.subscription import PAUSE_SECONDS, follow
from sprintlog.projections.views.events import EventLine, event_line
from sprintlog.projections.workspace import Workspace

from .reader import OpenWorkspace
from .tail import Tail

AGAIN_SECONDS = 1.0
"""How long after a log that could not be read it is tried again."""

Tell = Callable[[str], None]


class _StoppedError(Exception):
    """Nobody wants any more."""


class LogFollower:
    """Follows a log and hands what is appended to the loop of the server."""

    def __init__(self, open_workspace: OpenWorkspace, tail: Tail, *, tell: Tell) -> None:
        self._open, self._tail, self._tell = open_workspace, tail, tell
        self._after = tail.position
        self._stopped = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Stop, and wait until the log is closed."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._follow()
            except _StoppedError:
                return
            except SprintlogError as error:
                self._tell(error.message)
                self._hand(self._tail.fail, error.message)
                self._stopped.wait(AGAIN_SECONDS)

    def _follow(self) -> None:
        with self._open() as workspace:
            self._hand(self._tail.take, [])
            for page in follow(workspace.log, after=self._after, pause=self._pause):
                self._hand(self._tail.take, [*map(line_of, page)])
                self._after = page[-1].position

    def _pause(self) -> None:
        if self._stopped.wait(PAUSE_SECONDS):
            raise _StoppedError

    def _hand(self, take: Callable[..., None], *given: object) -> None:
        # The loop may be over already.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(take, *given)


def line_of(recorded: RecordedEvent) -> EventLine:
    """Return an event in a line, also one that only a newer version understands."""
    try:
        return event_line(recorded)
    except SprintlogError:
        return event_line(recorded, said=recorded.type)


def lines_after(workspace: Workspace, after: int, limit: int) -> list[EventLine]:
    """Return the events after a position in a line each, at most so many."""
    found = islice(workspace.log.read(after=after), limit)
    return [*map(line_of, found)]
