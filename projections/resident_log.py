"""A log that a long-running process keeps open to answer questions and to follow events."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TypeVar

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.place.anchor import file_identity
from sprintlog.engine.service.place.location import REDACTION, Location
from sprintlog.engine.service.port import AloneError
from sprintlog.engine.service.streams.history import PAUSE_SECONDS, follow

from .workspace import Workspace

AGAIN_SECONDS = 1.0
"""The pause before reading is retried after an error."""

OpenWorkspace = Callable[[], Workspace]
Stamp = tuple[tuple[int, int] | None, ...]
Value = TypeVar("Value")


class ResidentLog:
    """A log that is opened once, and reopened if another log has replaced it.

    A store belongs to the thread that opened it. Each question sees events that other
    processes append, roll back or erase. A log is reopened if it was moved or recreated, or
    while events are being erased from it.
    """

    def __init__(
        self, opens: OpenWorkspace, *, check: Callable[[], None] = lambda: None
    ) -> None:
        """Create a log that `opens` opens later; `check` may raise to forbid recording."""
        self._open, self._check = opens, check
        self._held = ExitStack()
        self._workspace: Workspace | None = None
        self._stamp: Stamp = ()
        self._is_at_hand = False

    @contextmanager
    def together(self) -> Iterator[Callable[[Callable[[], Value]], Value | None]]:
        """Commit everything recorded within this context together.

        Yield a function that calls another function and returns its result, or None if that
        function has effects outside the log and must be committed on its own. The log is
        looked up and `check` is called only once. No state file is written before the
        commit.
        """
        workspace = self.to_record()
        self._is_at_hand = workspace.is_side_by_side = True
        try:
            with workspace.log.together():  # type: ignore[attr-defined]
                yield _unless_alone
        finally:
            self._is_at_hand = workspace.is_side_by_side = False

    @property
    def can_commit_together(self) -> bool:
        """Return whether the log's store can commit several appends together."""
        return hasattr(self.workspace().log, "together")

    def to_record(self) -> Workspace:
        """Call `check`, which may raise an error; return the current log for recording."""
        if not self._is_at_hand:
            self._check()
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
        """Close the log; the next question reopens it."""
        self._workspace = None
        self._held.close()


def _unless_alone(record: Callable[[], Value]) -> Value | None:
    with suppress(AloneError):
        return record()
    return None


def _stamp_of(location: Location) -> Stamp:
    """Return the identities of the log's files."""
    return tuple(map(file_identity, (location.folder, location.database)))


class _EndedError(Exception):
    """Raised in a follower's thread to end it."""


class LogFollower:
    """Follows a log in a separate thread, with its own connection to the log."""

    def __init__(
        self,
        opens: OpenWorkspace,
        *,
        after: int,
        take: Callable[[list[RecordedEvent]], bool],
        fail: Callable[[SprintlogError], bool],
    ) -> None:
        """Pass the events after a position to `take`, and an empty list once the log opens.

        If the log cannot be read, `fail` is called, and reading is retried after a while.
        Both functions return whether to continue.
        """
        self._open, self._after, self._take, self._fail = opens, after, take, fail
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)

    def start(self) -> None:
        """Start following the log."""
        self._thread.start()

    def end(self) -> None:
        """Stop; after this call returns, no events are passed on and the log is closed."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def has_ended(self) -> bool:
        """Return whether `end` was called."""
        return self._ended.is_set()

    def _run(self) -> None:
        with suppress(_EndedError):
            while True:
                try:
                    self._follow()
                except SprintlogError as error:
                    _end_unless(self._fail(error))
                except OSError as error:
                    _end_unless(self._fail(SprintlogError(str(error))))
                self._pause(AGAIN_SECONDS)

    def _follow(self) -> None:
        pause = partial(self._pause, PAUSE_SECONDS)
        with self._open() as workspace:
            _end_unless(self._take([]))
            for page in follow(workspace.log, after=self._after, pause=pause):
                _end_unless(self._take(page))
                self._after = page[-1].position

    def _pause(self, seconds: float) -> None:
        _end_unless(not self._ended.wait(seconds))


def _end_unless(goes_on: bool) -> None:
    if not goes_on:
        raise _EndedError
