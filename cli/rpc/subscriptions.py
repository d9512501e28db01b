"""Subscriptions: events are told to a client as they come, each once and in order."""

import threading
from collections.abc import Callable
from typing import Any

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.service.streams.subscription import PAUSE_SECONDS, follow
from sprintlog.projections.views.whole_events import envelope

from ..context import open_workspace
from ..output import error_answer
from .channel import GoneError

Tell = Callable[[str, dict[str, Any]], None]


class _EndedError(Exception):
    """Nobody wants any more."""


class Subscription:
    """One client's wish to be told of events, with a log and a thread of its own."""

    def __init__(self, number: int, *, after: int, stream: str | None, tell: Tell) -> None:
        self._number, self._after, self._stream, self._tell = number, after, stream, tell
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follow", daemon=True)

    def start(self) -> None:
        """Begin to tell."""
        self._thread.start()

    def end(self) -> None:
        """Stop; nothing is told once this has returned."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            with open_workspace() as workspace:
                pages = follow(workspace.log, after=self._after, pause=self._pause)
                for page in pages:
                    for event in page:
                        if self._stream in (None, event.stream):
                            self._say("event", event=envelope(event))
        except (_EndedError, GoneError):
            return
        except SprintlogError as error:
            self._last_word(error_answer(error))
        except OSError as error:
            self._last_word(error_answer(SprintlogError(str(error))))

    def _say(self, method: str, **params: Any) -> None:
        if self._ended.is_set():
            raise _EndedError
        self._tell(method, {"subscription": self._number, **params})

    def _last_word(self, error: dict[str, Any]) -> None:
        try:
            self._say("ended", error=error)
        except (_EndedError, GoneError):
            return

    def _pause(self) -> None:
        if self._ended.wait(PAUSE_SECONDS):
            raise _EndedError
