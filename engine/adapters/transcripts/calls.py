"""The calls of tools in a transcript, as a hook would have told of them."""

from collections.abc import Iterable

import msgspec

from ...sessions.events import FILES_MAX, ToolCalled, TouchedFile
from ...sessions.names import session_stream
from ..agents import claude, codex_rollout, copilot, gemini_session
from ..agents.hook_calls import HookPlace, call_in
from ..agents.items import Called, FileChanged, Item, Returned, Session
from ..agents.values import mapping, parse

READERS = {
    "claude": claude.read,
    "codex": codex_rollout.read,
    "copilot": copilot.read,
    "gemini": gemini_session.read,
}
"""The agents that keep a transcript which can be compared with their hooks."""
CALLS_MAX = 100_000
"""So many calls of a session are compared; no session has more events."""


class KeptCall(msgspec.Struct):
    """A call that a transcript tells of."""

    call: ToolCalled
    at: str | None = None
    """When it ended, else when it began; the agent's own clock."""


class TranscriptCalls:
    """Takes the lines of a session's transcript and keeps its calls."""

    def __init__(self, agent: str, stream: str, place: HookPlace) -> None:
        self._agent = agent
        self._stream = stream
        self._place = place
        self._is_own = False
        self.is_own = False
        """Whether the first session that is named is the one that is meant."""
        self.calls: dict[str, KeptCall] = {}
        """By the agent's own id of the call, in their order."""
        self.sessions: dict[str, None] = {}
        """The sessions that the lines name, in their order."""

    def take(self, lines: Iterable[bytes]) -> None:
        """Take the lines of a file; one that is cut or strange is passed over."""
        self._is_own = False
        has_named = False
        for line in lines:
            for item in READERS[self._agent](mapping(parse(line))) or ():
                if isinstance(item, Session) and item.id:
                    # A thread of Codex that was forked repeats where it comes from.
                    if self._agent != "codex" or not has_named:
                        self._is_own = session_stream(self._agent, item.id) == self._stream
                        self.is_own = self._is_own if not self.sessions else self.is_own
                        self.sessions[item.id[:80]] = None
                    has_named = True
                elif self._is_own:
                    self._take(item)

    def _take(self, item: Item) -> None:
        if isinstance(item, Called):
            self._called(item)
        elif isinstance(item, Returned | FileChanged) and item.key in self.calls:
            kept = self.calls[str(item.key)]
            if isinstance(item, Returned):
                kept.call = _returned(kept.call, item)
                kept.at = item.at or kept.at
            else:
                kept.call = self._changed(kept.call, item)

    def _called(self, item: Called) -> None:
        if item.key is None or item.key in self.calls or len(self.calls) >= CALLS_MAX:
            return
        message = {
            "tool_name": item.tool,
            "tool_use_id": item.key,
            "tool_input": item.given,
            "agent_id": item.by,
        }
        call = call_in(message, self._agent, self._place, failed=False)
        call = msgspec.structs.replace(
            call, ok=None, is_unfinished=True, found_in="transcript"
        )
        self.calls[item.key] = KeptCall(call, item.at)

    def _changed(self, call: ToolCalled, item: FileChanged) -> ToolCalled:
        path = self._place.shown(item.path)
        others = [x for x in call.files if x.path != path]
        file = TouchedFile(path, item.kind, item.added, item.removed)
        return msgspec.structs.replace(call, files=(*others, file)[:FILES_MAX])


def _returned(call: ToolCalled, item: Returned) -> ToolCalled:
    """Return a call with what is said of its end; said again, it is said better."""
    return msgspec.structs.replace(
        call,
        is_unfinished=False,
        ok=call.ok if item.ok is None else item.ok,
        exit_code=call.exit_code if item.exit_code is None else item.exit_code,
        duration_ms=call.duration_ms if item.duration_ms is None else item.duration_ms,
    )
