"""The turns of a session: from a prompt to the agent's answer, pure.

A turn ends with the agent's answer, its failure, the end of the session or the next prompt.
An answer while background tasks are running does not end the turn, and the prompt that
reports their results does not start another. Tool calls after an answer continue its turn:
another tool's Stop hook made the agent go on. Subagents and compaction belong to the turn.
"""

from collections.abc import Iterable

import msgspec

from . import events as f

_AGAIN = ("compact", None)
"""The kinds of session start that do not interrupt a turn."""


class SessionTurn(msgspec.Struct):
    """A turn of a session; versions are those of the session's stream."""

    first: int
    """The version of the event that starts the turn, which identifies it."""
    began_at: str
    last_at: str
    """The time of its latest event."""
    prompt: f.PromptGiven | None = None
    ended: int | None = None
    """The version of the event that ends the turn; None while it is running."""
    end: f.TurnEnded | None = None
    """The answer or failure that ended it; None if its outcome is unknown."""
    calls: int = 0
    commands: int = 0
    """The number of tool calls that ran a command or an unknown tool."""
    subagents: int = 0
    compactions: int = 0
    how: str | None = None
    """How the session started, if the turn is its first one: `startup`, `resume`, ..."""
    model: str | None = None
    transcript: str | None = None


class _Turns:
    """Collects the turns of a session from its events."""

    def __init__(self) -> None:
        self.found: list[SessionTurn] = []
        self._how: str | None = None
        self._model: str | None = None
        self._transcript: str | None = None

    def _open(self) -> SessionTurn | None:
        last = self.found[-1] if self.found else None
        return last if last is not None and last.ended is None else None

    def _begin(
        self, version: int, at: str, prompt: f.PromptGiven | None = None
    ) -> SessionTurn:
        turn = SessionTurn(version, at, at, prompt, how=self._how, model=self._model)
        self._how = None
        self.found.append(turn)
        return turn

    def _close(self, version: int) -> None:
        if (turn := self._open()) is not None:
            turn.ended = version

    def take(self, version: int, at: str, event: f.SessionEvent | None) -> None:
        """Process the next event; None for one that was erased."""
        match event:
            case f.SessionStarted():
                self._model = event.model or self._model
                self._transcript = event.transcript or self._transcript
                if event.how not in _AGAIN:
                    self._close(version)
                    self._how = event.how
            case f.PromptGiven():
                if event.form != f.TASK_NOTIFICATION or self._open() is None:
                    self._close(version)
                    self._begin(version, at, event)
            case f.ToolCalled() if event.found_in is None or self._contains(at):
                turn = self._open() or self._continued(at) or self._begin(version, at)
                turn.calls += 1
                turn.commands += event.command is not None or not event.files
                turn.last_at = max(turn.last_at, at)
            case f.TurnEnded():
                turn = self._open() or self._continued(at) or self._begin(version, at)
                turn.end = None if event.waits_for else event
                turn.ended = None if event.waits_for else version
                turn.last_at = max(turn.last_at, at)
                self._transcript = event.transcript or self._transcript
            case f.SessionEnded():
                self._close(version)
            case f.SubagentStarted() | f.SubagentEnded() | f.ContextCompacted():
                if (current := self._open()) is not None:
                    current.subagents += isinstance(event, f.SubagentEnded)
                    current.compactions += isinstance(event, f.ContextCompacted)
                    current.last_at = max(current.last_at, at)
            case _:
                pass
        if self.found:
            self.found[-1].transcript = self._transcript

    def _contains(self, at: str) -> bool:
        """Return whether a call from a transcript belongs to the open turn."""
        return (turn := self._open()) is not None and at >= turn.began_at

    def _continued(self, at: str) -> SessionTurn | None:
        """Reopen the latest turn if its answer came before a time; return it, or None."""
        last = self.found[-1] if self.found else None
        if last is None or last.end is None or at < last.last_at:
            return None
        last.end = last.ended = None
        return last


def turns_of(events: Iterable[tuple[int, str, f.SessionEvent | None]]) -> list[SessionTurn]:
    """Return the turns in a session's events, given with their versions and times."""
    turns = _Turns()
    for version, at, event in events:
        turns.take(version, at, event)
    return turns.found
