"""A log that stays open in a program that stays: for its questions, and to follow it."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.place.location import REDACTION, Location
from sprintlog.engine.service.streams.subscription import PAUSE_SECONDS, follow
from sprintlog.projections.workspace import Workspace

from .context import open_workspace
from .record import check_is_on

AGAIN_SECONDS = 1.0
"""The pause before a log that could not be read is tried again."""

OpenWorkspace = Callable[[], Workspace]
Stamp = tuple[tuple[int, int] | None, ...]


class ResidentLog:
    """A log that is opened once, and again if another one has taken its place.

    A store belongs to the thread that opened it. Each question sees what other processes
    append, roll back or erase; a log that was moved or recreated, or from which somebody
    is erasing, is opened again, as a command would open it.
    """

    def __init__(self, opens: OpenWorkspace = open_workspace) -> None:
        self._open = opens
        self._held = ExitStack()
        self._workspace: Workspace | None = None
        self._stamp: Stamp = ()
        self._is_at_hand = False

    @contextmanager
    def together(self, commit: AbstractContextManager[None]) -> Iterator[None]:
        """Check the log and the settings once for everything recorded in one commit.

        Nothing is done beside the log until then, since nothing is durable yet.
        """
        workspace = self.to_record()
        self._is_at_hand = workspace.is_side_by_side = True
        try:
            with commit:
                yield
        finally:
            self._is_at_hand = workspace.is_side_by_side = False

    def to_record(self) -> Workspace:
        """Return the current log; raise `RefusedError` if recording is off."""
        if not self._is_at_hand:
            check_is_on()
        return self.workspace()

    def workspace(self) -> Workspace:
        """Return the current log."""
        if self._workspace is not None:
            if self._is_at_hand or self._is_here(self._workspace.location):
                return self._workspace
            self.close()
        self._workspace = self._held.enter_context(self._open())
        self._stamp = _stamp_of(self._workspace.location)
        return self._workspace

    def _is_here(self, location: Location) -> bool:
        is_same = _stamp_of(location) == self._stamp
        return is_same and not os.path.lexists(location.folder / REDACTION)

    def close(self) -> None:
        """Close the log; the next question opens it."""
        self._workspace = None
        self._held.close()


def _stamp_of(location: Location) -> Stamp:
    """Return the identities of the log's files."""
    return tuple(map(_identity, (location.folder, location.database)))


def _identity(path: os.PathLike[str]) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class EndedError(Exception):
    """Raised when no more events are wanted."""


class LogFollower:
    """Follows a log in a separate thread, which opens the log again."""

    def __init__(
        self,
        *,
        after: int,
        take: Callable[[list[RecordedEvent]], None],
        fail: Callable[[SprintlogError], None],
        opens: OpenWorkspace = open_workspace,
    ) -> None:
        """Hand events to `take`, and none once the log can be read; it may end this.

        `fail` is called if the log cannot be read. Unless it raises `EndedError`, the log
        is tried again after a while.
        """
        self._after, self._take, self._fail, self._open = after, take, fail, opens
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def end(self) -> None:
        """Stop; once this has returned, nothing more is handed on and the log is closed."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def check_goes_on(self, seconds: float = 0.0) -> None:
        """Raise `EndedError` if this has ended, or does within some time."""
        if self._ended.wait(seconds):
            raise EndedError

    def _run(self) -> None:
        with suppress(EndedError):
            while True:
                try:
                    self._follow()
                except SprintlogError as error:
                    self._fail(error)
                except OSError as error:
                    self._fail(SprintlogError(str(error)))
                self.check_goes_on(AGAIN_SECONDS)

    def _follow(self) -> None:
        pause = partial(self.check_goes_on, PAUSE_SECONDS)
        with self._open() as workspace:
            self._take([])
            for page in follow(workspace.log, after=self._after, pause=pause):
                self._take(page)
                self._after = page[-1].position
