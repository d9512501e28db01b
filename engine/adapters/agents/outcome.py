"""The outcome of a run, computed from its items: the answer, the figures and the activity.

A tool call counts once, even if it is reported several times. A figure that is not reported
is absent, not 0.
"""

from collections import defaultdict
from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec
from msgspec.structs import replace

from sprintlog.answers import Answer, Refusal
from sprintlog.usage import ModelCall, Usage, known_sum, merged, summed

from . import items as out
from .values import stated

_NOTHING = Usage()
TEXT_CHARS_MAX = 4 * 1024 * 1024
"""The maximum length of the answer; only the end of a longer text is kept."""


def key_of(name: str) -> str:
    """Return a call's key: 16 hexadecimal digits of the SHA-256 of its id."""
    return sha256(name.encode(errors="replace")).hexdigest()[:16]


class AnswerCollector:
    """Collects an agent's answer and figures from a sequence of items."""

    def __init__(self) -> None:
        self._session = ""
        self._words: list[str] = []
        self._chars = 0
        self._last: out.Item | None = None
        self._ended: out.AgentEnded | None = None
        self._error = ""
        self._refused: out.Refused | None = None
        """The refusal, unless the agent continued its work afterwards."""
        self._used: dict[tuple[out.FigureSpan, str, int | None], Usage] = {}
        self._calls: dict[tuple[out.FigureSpan, str], str | None] = {}
        """The model for each call and turn that has an id."""

    def take(self, item: out.Item) -> None:
        """Process the next item."""
        match item:
            case out.Session():
                self._session = item.id
            case out.Said():
                self._hear(item)
            case out.Called():
                self._ended = self._refused = None
            case out.Refused():
                self._refused = item
                return
            case out.Used():
                self._count(item)
            case out.Prompted() | out.Returned() | out.FileChanged() | out.CallsCounted():
                return
            case out.AgentEnded():
                was_stopped = self._ended is not None and self._ended.is_stopped
                if was_stopped and item.failed:
                    # A program may also print its own message about the interruption.
                    item = replace(item, is_stopped=True)
                self._ended = item
                self._error = item.error or (self._error if item.failed else "")
        if not isinstance(item, out.Used | out.Session):
            self._last = item

    def answer(self, *, unknown: int = 0) -> Answer:
        """Return the answer, with the figures from all items."""
        ended, said = self._ended, "".join(self._words)[-TEXT_CHARS_MAX:]
        usage = self._usage()
        if ended is None:
            return Answer(said, usage=usage, is_cut=True, unknown=unknown)
        final = said if ended.text is None else ended.text
        error = refusal = None
        if ended.failed:
            error = self._error or "the agent gave no reason"
            refusal = self._refusal(ended)
        elif not final.strip():
            # A successful agent always prints a message, so its answer was lost.
            error = "the agent ended without saying anything"
            refusal = Refusal(kind="no_answer")
        return Answer(
            final,
            error=error,
            usage=usage,
            unknown=unknown,
            refusal=refusal,
            is_stopped=ended.is_stopped,
        )

    def calls(self) -> tuple[ModelCall, ...]:
        """Return the calls with ids, including the durations of turns with ids."""
        found = []
        for (span, key), model in self._calls.items():
            figures = merged(self._used[span, key, None], _NOTHING)
            if span is out.FigureSpan.TURN:
                figures = {n: x for n, x in figures.items() if n == "duration_ms"}
            if figures or span is out.FigureSpan.CALL:
                found.append(ModelCall(key=key_of(key), model=model, **figures))
        return tuple(found)

    def _refusal(self, ended: out.AgentEnded) -> Refusal | None:
        refused = self._refused or out.Refused()
        status = ended.status if ended.status is not None else refused.status
        if status is None and self._refused is None:
            return None
        return Refusal(status, refused.kind, refused.fields)

    def _hear(self, said: out.Said) -> None:
        if not (said.goes_on and isinstance(self._last, out.Said)):
            self._words, self._chars, self._ended = [], 0, None
        self._words.append(said.text)
        self._chars += len(said.text)
        if self._chars > 2 * TEXT_CHARS_MAX:
            self._words = ["".join(self._words)[-TEXT_CHARS_MAX:]]
            self._chars = TEXT_CHARS_MAX

    def _count(self, used: out.Used) -> None:
        if (key := used.key) is None and used.usage == _NOTHING:
            return
        if key is None:
            is_total = used.span is out.FigureSpan.SESSION
            key = self._session if is_total else f"#{len(self._used)}"
        elif used.span is not out.FigureSpan.SESSION and used.part is None:
            key = key if used.is_unique else f"{self._session}\n{key}"
            self._calls[used.span, key] = used.model or self._calls.get((used.span, key))
        at = (used.span, key, used.part)
        self._used[at] = Usage(**merged(used.usage, self._used.get(at, _NOTHING)))

    def _usage(self) -> Usage | None:
        """Return the figures, each from the widest scope that reports it."""
        found: dict[str, Any] = {}
        bounds: set[str] = set()
        for span in sorted(out.FigureSpan):
            several = [
                one
                for (of, key, part), one in self._used.items()
                if of is span and (part is None or self._has_all_before(key))
            ]
            # Only calls are uniform: each states the same figures.
            total = summed(several) if span is out.FigureSpan.CALL else known_sum(several)
            stated = merged(total, _NOTHING)
            bounds = (bounds - stated.keys()) | set(total.at_least)
            found |= stated
        return Usage(**found, at_least=tuple(sorted(bounds))) if found else None

    def _has_all_before(self, key: str) -> bool:
        """Return whether all turns of the session with this key have been read."""
        parts = {
            part for of, one, part in self._used if of is out.FigureSpan.TURN and one == key
        }
        return parts == set(range(len(parts)))


CALLS_MAX = 10_000
"""The maximum number of calls that are listed; all calls are counted."""
CHANGES_MAX = 1_000
"""The maximum number of changed files that are listed per call."""
NAMES_MAX = 100
"""The maximum number of sessions, models, versions and subagents that are listed."""


class ToolCall(msgspec.Struct, omit_defaults=True):
    """One call to a tool."""

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
    """An agent's activity, as reported in its output."""

    agent: str | None = None
    """The agent that printed the output; None for plain text without a named agent."""
    versions: list[str] = []
    sessions: list[str] = []
    models: list[str] = []
    commit: str | None = None
    """The commit of the repository at the start, if stated."""
    prompts: int = 0
    tool_calls: int = 0
    calls: list[ToolCall] = []
    """The latest calls, in order."""
    lines: int = 0
    unknown: int = 0
    """The number of lines that were not recognized."""
    tells_calls: bool = False
    """Whether the output reports calls, so that a missing call was not made."""
    subagents: int = 0
    """The number of subagents."""
    is_own: bool = False
    """Whether a line was printed by the agent itself rather than a subagent."""
    counted: tuple[ModelCall, ...] = ()
    """The model calls and the turns that have ids, with their figures."""


class ActivityCollector:
    """Collects the activity from a sequence of items."""

    def __init__(self) -> None:
        self._found = Activity()
        self._calls: dict[str, ToolCall] = {}
        self._prompts: dict[tuple[str, str | None], None] = {}
        self._names = defaultdict[str, dict[str, None]](dict)

    def take(self, item: out.Item) -> None:
        """Process the next item."""
        found = self._found
        found.tells_calls |= isinstance(item, out.Said | out.Called | out.CallsCounted)
        is_own = isinstance(item, out.Said | out.Prompted | out.AgentEnded)
        by = item.by if isinstance(item, out.Called | out.Used) else None
        found.is_own |= is_own or (isinstance(item, out.Called) and by is None)
        self._name(subagents=by)
        match item:
            case out.Session():
                self._name(sessions=item.id, versions=item.version, models=item.model)
                found.commit = found.commit or item.commit
            case out.Used():
                self._name(models=item.model)
            case out.Prompted():
                if len(self._prompts) < NAMES_MAX:
                    self._prompts[item.text[:NAMES_MAX], item.at] = None
            case out.Called():
                self._called(item)
            case out.CallsCounted():
                found.tool_calls += item.tool_calls
            case out.Returned():
                self._returned(item)
            case out.FileChanged():
                self._changed(item)
            case _:
                pass

    def activity(self, *, agent: str | None, lines: int, unknown: int) -> Activity:
        """Return the activity reported by all items."""
        for call in self._calls.values():
            call.duration_ms = _duration(call)
        return replace(
            self._found,
            agent=agent,
            versions=[*self._names["versions"]],
            sessions=[*self._names["sessions"]],
            models=[*self._names["models"]],
            prompts=len(self._prompts),
            calls=[*self._calls.values()],
            lines=lines,
            unknown=unknown,
            subagents=len(self._names["subagents"]),
        )

    def _name(self, **named: str | None) -> None:
        for kind, name in named.items():
            if name and len(self._names[kind]) < NAMES_MAX:
                self._names[kind][name] = None

    def _called(self, item: out.Called) -> None:
        key = item.key if item.key is not None else f"#{self._found.tool_calls}"
        if (call := self._calls.get(key)) is None:
            self._found.tool_calls += 1
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
        for name, value in stated(item).items():
            setattr(call, name, value)
        call.ended_at = call.ended_at or item.at

    def _changed(self, item: out.FileChanged) -> None:
        call = self._calls.get(item.key) if item.key is not None else None
        if call is None:
            return
        # A later report of the same file is more accurate.
        others = [one for one in call.changes if one.path != item.path]
        call.changes = [*others, item][:CHANGES_MAX]


def _duration(call: ToolCall) -> int | None:
    """Return a call's duration, as reported or as computed from its start and end."""
    if call.duration_ms is not None or not call.began_at or not call.ended_at:
        return call.duration_ms
    try:
        took = datetime.fromisoformat(call.ended_at) - datetime.fromisoformat(call.began_at)
    except (ValueError, TypeError):
        return None
    return max(0, round(took.total_seconds() * 1000))
