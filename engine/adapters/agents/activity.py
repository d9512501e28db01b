"""What an agent did: its calls of tools, the files it changed, the models it asked.

Every call is one, however often it is spoken of: in a request, at its beginning, at its
end. A figure that nobody states is absent, never 0.
"""

from datetime import datetime

import msgspec

from sprintlog.usage import ModelCall

from . import items as out

CALLS_MAX = 10_000
"""So many calls are told one by one; all are counted."""
CHANGES_MAX = 1_000
"""So many changed files are told of one call."""
NAMES_MAX = 100
"""So many sessions, models, versions and subagents are named."""


class ToolCall(msgspec.Struct, omit_defaults=True):
    """One call of a tool."""

    key: str | None
    tool: str
    command: str | None = None
    by: str | None = None
    """The subagent that called it."""
    ok: bool | None = None
    exit_code: int | None = None
    duration_ms: int | None = None
    began_at: str | None = None
    ended_at: str | None = None
    changes: list[out.FileChanged] = []


class Activity(msgspec.Struct, omit_defaults=True):
    """What an agent's output says that it did."""

    agent: str | None = None
    """Whose output it is; None for plain words of nobody who was named."""
    versions: list[str] = []
    sessions: list[str] = []
    models: list[str] = []
    commit: str | None = None
    """Where the repository stood when it began, where it says so."""
    prompts: int = 0
    tool_calls: int = 0
    calls: list[ToolCall] = []
    """The latest of the calls, in their order."""
    lines: int = 0
    unknown: int = 0
    """How many of the lines were not understood."""
    tells_calls: bool = False
    """Whether it tells what was called, so that no call is none."""
    subagents: int = 0
    """How many subagents worked."""
    is_own: bool = False
    """Whether a line is of the agent itself and not of a subagent."""
    counted: tuple[ModelCall, ...] = ()
    """The calls of models and the turns that have ids, with their figures."""


class Watching:
    """Takes items as they come, and keeps what was done."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolCall] = {}
        self._tool_calls = 0
        self._commit: str | None = None
        self._counted = 0
        self._prompts: dict[tuple[str, str | None], None] = {}
        self._tells_calls = self._is_own = False
        self._names: dict[str, dict[str, None]] = {
            "sessions": {},
            "models": {},
            "versions": {},
            "subagents": {},
        }

    def take(self, item: out.Item) -> None:
        """Take the next item."""
        self._tells_calls = self._tells_calls or isinstance(item, out.Said | out.Called)
        is_own = isinstance(item, out.Said | out.Prompted | out.AgentEnded)
        by = item.by if isinstance(item, out.Called | out.Used) else None
        self._is_own |= is_own or (isinstance(item, out.Called) and by is None)
        self._name(subagents=by)
        match item:
            case out.Session():
                self._name(sessions=item.id, versions=item.version, models=item.model)
                self._commit = self._commit or item.commit
            case out.Used():
                self._name(models=item.model)
            case out.Prompted():
                if len(self._prompts) < NAMES_MAX:
                    self._prompts[item.text[:NAMES_MAX], item.at] = None
            case out.Called():
                self._called(item)
            case out.CallsCounted():
                self._counted += item.tool_calls
                self._tells_calls = True
            case out.Returned():
                self._returned(item)
            case out.FileChanged():
                self._changed(item)
            case _:
                pass

    def activity(self, *, agent: str | None, lines: int, unknown: int) -> Activity:
        """Return what all of it comes to."""
        for call in self._calls.values():
            call.duration_ms = _duration(call)
        return Activity(
            agent=agent,
            versions=[*self._names["versions"]],
            sessions=[*self._names["sessions"]],
            models=[*self._names["models"]],
            commit=self._commit,
            prompts=len(self._prompts),
            tool_calls=self._tool_calls + self._counted,
            calls=[*self._calls.values()],
            lines=lines,
            unknown=unknown,
            tells_calls=self._tells_calls,
            subagents=len(self._names["subagents"]),
            is_own=self._is_own,
        )

    def _name(self, **named: str | None) -> None:
        for kind, name in named.items():
            if name and len(self._names[kind]) < NAMES_MAX:
                self._names[kind][name] = None

    def _called(self, item: out.Called) -> None:
        key = item.key if item.key is not None else f"#{self._tool_calls}"
        call = self._calls.get(key)
        if call is None:
            self._tool_calls += 1
            if len(self._calls) >= CALLS_MAX:
                del self._calls[next(iter(self._calls))]
            self._calls[key] = ToolCall(
                item.key, item.tool, item.command, item.by, began_at=item.at
            )
            return
        call.tool = call.tool or item.tool
        call.command = call.command or item.command
        call.by = call.by or item.by

    def _returned(self, item: out.Returned) -> None:
        call = self._calls.get(item.key) if item.key is not None else None
        if call is None:
            return
        for name in ("ok", "exit_code", "duration_ms"):
            if (value := getattr(item, name)) is not None:
                setattr(call, name, value)
        call.ended_at = call.ended_at or item.at

    def _changed(self, item: out.FileChanged) -> None:
        call = self._calls.get(item.key) if item.key is not None else None
        if call is None:
            return
        # Said again, it is said better.
        others = [one for one in call.changes if one.path != item.path]
        call.changes = [*others, item][:CHANGES_MAX]


def _duration(call: ToolCall) -> int | None:
    """Return how long a call took, as it is stated or by when it began and ended."""
    if call.duration_ms is not None or not call.began_at or not call.ended_at:
        return call.duration_ms
    try:
        took = datetime.fromisoformat(call.ended_at) - datetime.fromisoformat(call.began_at)
    except (ValueError, TypeError):
        return None
    return max(0, round(took.total_seconds() * 1000))
