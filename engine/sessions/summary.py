"""What a session comes to: how many calls, which of them failed, what changed."""

from collections.abc import Iterable

import msgspec

from .events import (
    ContextCompacted,
    PromptGiven,
    SessionEnded,
    SessionEvent,
    SessionStarted,
    SubagentStarted,
    ToolCalled,
    TurnEnded,
)


class Summary(msgspec.Struct):
    """A session, or a part of it, in figures."""

    started_at: str = ""
    last_at: str = ""
    events: int = 0
    starts: int = 0
    prompts: int = 0
    tool_calls: int = 0
    failed_calls: int = 0
    """Those of which the agent says so."""
    unknown_calls: int = 0
    """Those of which nobody says how they ended."""
    turns: int = 0
    failed_turns: int = 0
    erased: int = 0
    """Events of which it was erased what they said."""
    subagents: int = 0
    compactions: int = 0
    files_changed: list[str] = []
    """Their paths, in the order in which they were changed first."""
    lines_added: int = 0
    lines_removed: int = 0
    ended_at: str | None = None
    """When it ended; None while it goes on, or since nobody saw its end."""
    reason: str | None = None
    model: str | None = None
    version: str | None = None
    transcript: str | None = None

    def take(self, at: str, event: SessionEvent | None) -> None:
        """Take the next event; of one that was erased it is only known that it was."""
        self.started_at = min(filter(None, (self.started_at, at)))
        self.last_at = max(self.last_at, at)
        self.events += 1
        if event is None:
            self.erased += 1
            return
        # What comes after an end goes on with it.
        self.ended_at = self.reason = None
        match event:
            case ToolCalled():
                self._called(event)
            case SessionStarted():
                self.starts += 1
                self.model = event.model or self.model
                self.version = event.version or self.version
                self.transcript = event.transcript or self.transcript
            case PromptGiven():
                self.prompts += 1
            case TurnEnded():
                self.turns += 1
                self.failed_turns += event.failed
                self.transcript = event.transcript or self.transcript
            case SubagentStarted():
                self.subagents += 1
            case ContextCompacted():
                self.compactions += 1
            case SessionEnded():
                self.ended_at, self.reason = at, event.reason
            case _:
                # A subagent's end.
                pass

    def _called(self, event: ToolCalled) -> None:
        self.tool_calls += 1
        self.failed_calls += event.ok is False
        self.unknown_calls += event.ok is None
        for file in event.files:
            self.lines_added += file.added or 0
            self.lines_removed += file.removed or 0
            if file.change and file.path not in self.files_changed:
                self.files_changed.append(file.path)


def summary_of(events: Iterable[tuple[str, SessionEvent | None]]) -> Summary:
    """Return what events of a session come to; each is given with its time."""
    found = Summary(files_changed=[])
    for at, event in events:
        found.take(at, event)
    return found
