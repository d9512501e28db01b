"""The turns of a session: from a prompt to the agent's answer, pure.

A turn ends with the agent's answer, its failure, the end of the session or the next prompt.
An answer while background tasks are running does not end the turn, and the prompt that
reports their results does not start another. Tool calls after an answer continue its turn:
another program's hook made the agent go on. Subagents and compaction belong to the turn.
"""

from collections.abc import Iterable

import msgspec

from . import events as f


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
    """Its last answer or failure; None if its outcome is unknown."""
    calls: int = 0
    subagents: set[str] = set()
    compactions: int = 0
    how: str | None = None
    """How the session started, if the turn is its first one: `startup`, `resume`, ..."""
    model: str | None = None
    transcript: str | None = None
    ids: set[str] = set()
    """The agent's ids for the turn, and for the prompts that continued it."""


class _Turns:
    """Collects the turns of a session from its events."""

    def __init__(self) -> None:
        self.found: list[SessionTurn] = []
        self._started = f.SessionStarted()

    def take(self, version: int, at: str, event: f.SessionEvent | None) -> None:
        """Process the next event; None for one that was erased."""
        match event:
            case f.SessionStarted() if event.how != "compact":
                self._close(version)
                self._started = event
            case f.PromptGiven() if not self._goes_on(at, event):
                self._close(version)
                self._begin(version, at, event.turn).prompt = event
            case f.ToolCalled() if event.found_in is None or self._contains(at):
                turn = self._turn(version, at, event.turn)
                turn.calls += 1
                turn.subagents |= {*filter(None, [event.subagent])}
                turn.last_at = max(turn.last_at, at)
            case f.TurnEnded() if not self._is_stray(event):
                turn = self._turn(version, at, event.turn)
                turn.end = event
                if turn is self._last():
                    turn.ended = None if event.waits_for else version
                turn.transcript = event.transcript or turn.transcript
                turn.last_at = max(turn.last_at, at)
            case f.SessionEnded():
                self._close(version)
            case f.ContextCompacted() if (open_turn := self._open()) is not None:
                open_turn.compactions += 1
            case _:
                pass

    def _last(self) -> SessionTurn | None:
        return self.found[-1] if self.found else None

    def _open(self) -> SessionTurn | None:
        last = self._last()
        return last if last is not None and last.ended is None else None

    def _contains(self, at: str) -> bool:
        """Return whether a call from a transcript belongs to the running turn."""
        return (turn := self._open()) is not None and at >= turn.began_at

    def _earlier(self, at: str, turn: str | None) -> SessionTurn | None:
        """Return the turn before the latest one to which a late event belongs, or None."""
        known = (turn in x.ids if turn else x.began_at <= at for x in self.found[::-1])
        back = next((place for place, is_of in enumerate(known) if is_of), 0)
        return self.found[-1 - back] if back else None

    def _goes_on(self, at: str, event: f.PromptGiven) -> bool:
        """Return whether a prompt belongs to a known turn."""
        if (last := self._last()) is None or self._earlier(at, event.turn) is not None:
            return last is not None
        if (event.text or "").startswith(f.REFUSED):
            last.ended = last.end = None
            return True
        is_first = last.prompt is None and last.ended is None and at <= last.began_at
        if event.turn in last.ids or is_first:
            last.prompt = last.prompt or event
            return True
        if last.ended is not None or event.form != f.TASK_NOTIFICATION:
            return False
        last.end = None
        last.ids |= {*filter(None, [event.turn])}
        return True

    def _is_stray(self, event: f.TurnEnded) -> bool:
        """Return whether an answer repeats the last one: the user ran a command."""
        if (last := self._last()) is None or last.ended is None or last.end is None:
            return False
        return event.turn in last.ids and not (event.is_again or event.waits_for)

    def _turn(self, version: int, at: str, turn: str | None) -> SessionTurn:
        """Return the turn that an event belongs to, which may be a new one."""
        last = self._last()
        if (earlier := self._earlier(at, turn)) is not None:
            return earlier
        is_other = last is not None and turn and last.ids and turn not in last.ids
        if last is None or is_other or (last.ended and last.end is None and not turn):
            # The agent began this turn without a prompt, for example for its own goal.
            self._close(version)
            return self._begin(version, at, turn)
        if last.ended is not None and last.end is not None and at >= last.last_at:
            last.ended = last.end = None
        return last

    def _begin(self, version: int, at: str, turn: str | None) -> SessionTurn:
        started = self._started
        new = SessionTurn(version, at, at, how=started.how, model=started.model)
        new.ids = {*filter(None, [turn])}
        last = self._last()
        new.transcript = started.transcript or (last.transcript if last else None)
        self._started = f.SessionStarted(model=started.model)
        self.found.append(new)
        return new

    def _close(self, version: int) -> None:
        if (turn := self._open()) is not None:
            turn.ended = version


def turns_of(events: Iterable[tuple[int, str, f.SessionEvent | None]]) -> list[SessionTurn]:
    """Return the turns in a session's events, given with their versions and times."""
    turns = _Turns()
    for version, at, event in events:
        turns.take(version, at, event)
    return turns.found
