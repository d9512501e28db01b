"""The calls in what an agent's command prints, as its hooks would have told of them."""

from msgspec.structs import replace

from ...sessions.names import session_stream
from ..agents.items import Item, Session
from .hook_calls import HookPlace
from .told import CallsTold, KeptCall

AGENTS = ("claude", "codex", "copilot", "gemini", "opencode")
"""The agents whose streams name calls by what their hooks or transcripts say, too."""
SESSIONS_MAX = 100
"""So many sessions in what one command prints."""


class StreamCalls:
    """Takes what the output of a command says, and keeps the calls of each session."""

    def __init__(self) -> None:
        self._now: dict[str, CallsTold] = {}
        """By agent: the calls of the session that it is in."""
        self._stream: dict[str, str] = {}
        self._told: list[tuple[str, str, CallsTold]] = []

    def take(self, agent: str, item: Item) -> None:
        """Take the next item of an agent."""
        if agent not in AGENTS or len(self._told) >= SESSIONS_MAX:
            return
        if isinstance(item, Session):
            if item.id:
                self._session(agent, session_stream(agent, item.id))
            return
        if agent not in self._now:
            self._now[agent] = CallsTold(agent, HookPlace(), found_in="stream")
        self._now[agent].take(item)

    def _session(self, agent: str, stream: str) -> None:
        if agent == "copilot":
            # It says at its end which session it was.
            self._stream[agent] = stream
            self._close(agent)
        elif self._stream.get(agent) != stream or agent == "codex":
            # Codex counts its calls anew each time it goes on with a session.
            self._close(agent)
            self._stream[agent] = stream

    def _close(self, agent: str) -> None:
        told, stream = self._now.pop(agent, None), self._stream.pop(agent, None)
        if told is not None and stream is not None and told.calls:
            self._told.append((agent, stream, told))

    def sessions(self, agent: str | None, place: HookPlace) -> dict[str, list[KeptCall]]:
        """Return the calls of an agent by the streams of their sessions.

        Paths are told from `place`. What is said without a session is nobody's.
        """
        if agent is not None:
            self._close(agent)
        found: dict[str, list[KeptCall]] = {}
        for whose, stream, told in self._told:
            if whose == agent:
                calls = (_placed(one, place) for one in told.calls.values())
                found.setdefault(stream, []).extend(calls)
        return found


def _placed(kept: KeptCall, place: HookPlace) -> KeptCall:
    files = tuple(replace(x, path=place.shown(x.path)) for x in kept.call.files)
    return KeptCall(replace(kept.call, files=files), kept.at)
