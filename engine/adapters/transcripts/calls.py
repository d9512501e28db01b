"""The calls of tools in a transcript, as a hook would have told of them."""

from collections.abc import Iterable

from ...sessions.names import session_stream
from ..agents import claude, codex_rollout, copilot, gemini_session
from ..agents.items import Fork, Session
from ..agents.values import mapping, parse
from .hook_calls import HookPlace
from .told import CallsTold, KeptCall

READERS = {
    "claude": claude.read,
    "codex": codex_rollout.read,
    "copilot": copilot.read,
    "gemini": gemini_session.read,
}
"""The agents that keep a transcript which can be compared with their hooks."""


class TranscriptCalls:
    """Takes the lines of a session's transcript and keeps its calls."""

    def __init__(self, agent: str, stream: str, place: HookPlace) -> None:
        self._agent = agent
        self._stream = stream
        self._told = CallsTold(agent, place, found_in="transcript")
        self._is_own = False
        self.is_own = False
        """Whether the first session that is named is the one that is meant."""
        self.sessions: dict[str, None] = {}
        """The sessions that the lines name, in their order."""

    @property
    def calls(self) -> dict[str, KeptCall]:
        """Return the calls by the agent's own id, in their order."""
        return self._told.calls

    def take(self, lines: Iterable[bytes]) -> None:
        """Take the lines of a file; one that is cut or strange is passed over."""
        self._is_own, fork = False, Fork()
        for line in lines:
            message = mapping(parse(line))
            for item in fork.own(message, READERS[self._agent](message) or ()):
                if isinstance(item, Session) and item.id:
                    self._is_own = session_stream(self._agent, item.id) == self._stream
                    self.is_own = self._is_own if not self.sessions else self.is_own
                    self.sessions[item.id[:80]] = None
                elif self._is_own:
                    self._told.take(item)
