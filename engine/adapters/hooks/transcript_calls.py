"""Session events read from an agent's transcript, and tool calls in its output stream.

Each event is converted as if a hook had reported it, so that it can be compared with the
events recorded by hooks.
"""

import re
import shlex
from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from ...sessions.events import FILES_MAX, SessionEvent, ToolCalled, TouchedFile
from ...sessions.names import session_stream
from ..agents import antigravity, claude, codex, copilot, droid, gemini, items
from ..agents.items import Called, FileChanged, Fork, Item, Returned, Session
from ..agents.values import Data, inner, mapping, parse, stated, text
from .hook_calls import HookPlace, call_in
from .hook_input import ENDED, PROMPTED, STARTED, TURN, TURN_FAILED, event_in

CALLS_MAX = 100_000
"""The maximum number of calls compared per session."""
_TIMES = ("timestamp", "created_at", "startTime")
"""The fields that contain a line's time."""
_WORDS_CHARS_MAX = 64 * 1024
READERS = {
    "claude": claude.read,
    "codex": codex.read_rollout,
    "copilot": copilot.read,
    "gemini": gemini.read_session,
}
"""The agents whose transcripts can be compared with their hooks."""
_LINES = {**READERS, "droid": droid.read_session}
AGENTS = ("claude", "codex", "copilot", "gemini", "opencode")
"""The agents whose streams identify calls in the same way as their hooks or transcripts."""
HEAD_LINES = 100
"""The number of lines that are searched for the session and its working directory."""
SESSIONS_MAX = 100
"""The maximum number of sessions in the output of one command."""


class KeptCall(msgspec.Struct):
    """A call reported by a source other than a hook."""

    call: ToolCalled
    at: str | None = None
    """The time at which the call ended, or else started, according to the agent."""


class KeptMoment(msgspec.Struct, frozen=True):
    """The start or end of a session or turn in a transcript."""

    event: SessionEvent
    at: str | None
    """The time according to the agent."""


class CallCollector:
    """Collects one session's calls from a sequence of items."""

    def __init__(self, agent: str, place: HookPlace, *, found_in: str) -> None:
        self._agent = agent
        self._place = place
        self._found_in = found_in
        self.calls: dict[str, KeptCall] = {}
        """The calls by their ids in the source, in the source's order."""

    def take(self, item: Item) -> None:
        """Process the next item; ignore items that do not belong to a call."""
        if isinstance(item, Called):
            self._called(item)
        elif isinstance(item, Returned | FileChanged) and item.key in self.calls:
            kept = self.calls[str(item.key)]
            if isinstance(item, Returned):
                kept.call = replace(kept.call, is_unfinished=False, **stated(item))
                kept.at = item.at or kept.at
            else:
                kept.call = self._changed(kept.call, item)

    def _called(self, item: Called) -> None:
        if item.key is None or item.key in self.calls or len(self.calls) >= CALLS_MAX:
            return
        # The Codex stream numbers its calls and omits their input.
        is_counted = self._agent == "codex" and item.given is None
        given = {"command": _inner(item.command)} if is_counted else item.given
        message = {
            "tool_name": item.tool,
            "tool_use_id": None if is_counted else item.key,
            "tool_input": given,
            "agent_id": item.by,
        }
        call = call_in(message, self._agent, self._place, failed=False)
        call = replace(
            call,
            ok=None,
            is_unfinished=True,
            found_in=self._found_in,
            input_sha256=None if is_counted else call.input_sha256,
        )
        self.calls[item.key] = KeptCall(call, item.at)

    def _changed(self, call: ToolCalled, item: FileChanged) -> ToolCalled:
        path = self._place.shown(item.path)
        others = [x for x in call.files if x.path != path]
        file = TouchedFile(path, item.kind, item.added, item.removed)
        return replace(call, files=(*others, file)[:FILES_MAX])


def _inner(command: str | None) -> str | None:
    """Return the script of a shell command line, or any other command unchanged."""
    shell = re.match(r"(?:/\S+/)?(?:ba|z|da)?sh -l?c ", command or "")
    if command is None or shell is None or len(command) > _WORDS_CHARS_MAX:
        return command
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return words[2] if len(words) == 3 else command


class TranscriptCalls:
    """Collects a session's events from the lines of its transcript."""

    def __init__(self, agent: str, stream: str, place: HookPlace, file: str = "") -> None:
        self._agent = agent
        self._stream = stream
        self._place = place
        self._told = CallCollector(agent, place, found_in="transcript")
        self._is_own = False
        self._about: Data = {"transcript_path": file}
        self._said: str | None = None
        self.is_own = False
        """Whether the first session named in the transcript is the requested one."""
        self.sessions: dict[str, None] = {}
        """The sessions named in the transcript, in order."""
        self.events: list[KeptCall | KeptMoment] = []
        """The events in the source's order, except for the end of the last turn."""
        self.last: KeptMoment | None = None
        """The end of the last turn, unless the turn continues."""

    @property
    def calls(self) -> dict[str, KeptCall]:
        """Return the calls, in order, by the agent's own ids."""
        return self._told.calls

    def take(self, lines: Iterable[bytes]) -> None:
        """Process the lines of a file; ignore truncated and unknown lines."""
        read = _LINES.get(self._agent) or antigravity.TranscriptSteps()
        # Antigravity's lines name no session.
        self._is_own, fork = self._agent not in _LINES, Fork()
        for line in lines:
            message = mapping(parse(line))
            at = next(filter(None, map(text, map(message.get, _TIMES))), None)
            found = read(message) or ()
            if self._is_own and not self.events and found:
                self._tell(STARTED, at)
            for item in fork.own(message, found):
                if isinstance(item, Session) and item.id:
                    self._is_own = session_stream(self._agent, item.id) == self._stream
                    self.is_own = self._is_own if not self.sessions else self.is_own
                    self.sessions[item.id[:80]] = None
                    if self._is_own and not self.events:
                        said = {"model": item.model, "version": item.version}
                        self._tell(STARTED, at, **said)
                elif self._is_own:
                    known = len(self.calls)
                    self._told.take(item)
                    if isinstance(item, Called) and len(self.calls) > known:
                        self.events.append(self.calls[str(item.key)])
                    self._turn(item, at)
            if self._is_own and message.get("type") == "session.shutdown":
                self._close()
                reason = mapping(message.get("data")).get("shutdownType")
                self._tell(ENDED, at, reason=reason)

    def _turn(self, item: Item, at: str | None) -> None:
        """Process an item that can begin, continue or end a turn."""
        match item:
            case items.Prompted():
                self._close()
                self._said = None
                self._tell(PROMPTED, item.at or at, prompt=item.text)
            case items.Said():
                before = self._said if item.goes_on and self._said else ""
                self._said = before + item.text
                if self._agent == "copilot":
                    self.last = self._moment(TURN, at, last_assistant_message=self._said)
            case Called(by=None):
                self.last = None
            case items.AgentEnded(failed=True):
                error = None if item.is_stopped else item.error
                self.last = self._moment(TURN_FAILED, at, error=error)
            case items.AgentEnded() if self._agent != "copilot":
                said = item.text or self._said
                self.last = self._moment(TURN, at, last_assistant_message=said)

    def _close(self) -> None:
        self.events += [self.last] if self.last is not None else []
        self.last = None

    def _tell(self, moment: str, at: str | None, **said: object) -> None:
        self.events.append(self._moment(moment, at, **said))

    def _moment(self, moment: str, at: str | None, **said: object) -> KeptMoment:
        message = {**self._about, **said}
        return KeptMoment(event_in(moment, message, self._agent, self._place), at)


def session_in(agent: str, lines: Iterable[bytes], session: str = "") -> tuple[str, str]:
    """Return the session and the working directory named in a transcript's first lines.

    Gemini CLI names the SHA-256 of its directory instead. For Antigravity, `lines` are the
    history that names the directory of each `session`. Unknown values are empty.
    """
    folder = ""
    for message in map(mapping, map(parse, lines)):
        if agent not in _LINES:
            is_own = message.get("conversationId") == session
            folder = folder or (text(message.get("workspace")) if is_own else "")
            continue
        for item in _LINES[agent](message) or ():
            session = session or (item.id if isinstance(item, Session) else "")
        about = (
            message,
            inner(message, "payload"),
            inner(inner(message, "data"), "context"),
        )
        named = (text(one.get("cwd")) for one in about)
        folder = folder or next(filter(None, named), "") or text(message.get("projectHash"))
        if session and folder:
            break
    return session, folder


class StreamCalls:
    """Collects the calls of each session from a command's output items."""

    def __init__(self) -> None:
        self._now: dict[str, CallCollector] = {}
        """The calls of each agent's current session."""
        self._stream: dict[str, str] = {}
        self._told: list[tuple[str, str, CallCollector]] = []

    def take(self, agent: str, item: Item) -> None:
        """Process an agent's next item."""
        if agent not in AGENTS or len(self._told) >= SESSIONS_MAX:
            return
        if isinstance(item, Session):
            if item.id:
                self._session(agent, session_stream(agent, item.id))
            return
        if agent not in self._now:
            self._now[agent] = CallCollector(agent, HookPlace(), found_in="stream")
        self._now[agent].take(item)

    def _session(self, agent: str, stream: str) -> None:
        if agent == "copilot":
            # Copilot names its session only at the end.
            self._stream[agent] = stream
            self._close(agent)
        elif self._stream.get(agent) != stream or agent == "codex":
            # Codex restarts the numbering of calls each time it resumes a session.
            self._close(agent)
            self._stream[agent] = stream

    def _close(self, agent: str) -> None:
        told, stream = self._now.pop(agent, None), self._stream.pop(agent, None)
        if told is not None and stream is not None and told.calls:
            self._told.append((agent, stream, told))

    def sessions(self, agent: str | None, place: HookPlace) -> dict[str, list[KeptCall]]:
        """Return an agent's calls by session stream.

        Paths are relative to `place`. Calls outside any session are dropped.
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
