"""Pure summaries of sessions, and comparison of recorded events with a transcript."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from ...engine import hashes
from . import events as f

Dated = tuple[float, f.SessionEvent]
"""An event and its time, in seconds since 1970."""
_TOLD = (f.PromptGiven, f.TurnEnded, f.SessionStarted, f.SessionEnded)
_FIRST = (None, "new", "startup")
NEAR_SECONDS = 30.0
"""The maximum difference between the times of one event in a hook and in a transcript."""
_Told = Callable[[f.ToolCalled], object]
_Bare = Callable[[f.ToolCalled], bool]


class Compared(NamedTuple):
    """The numbers of known calls, and the calls that have not been recorded."""

    seen: int
    """The number of calls that hooks reported."""
    taken: int
    """The number of calls recorded earlier from a transcript or stream."""
    missing: list[f.ToolCalled]
    only_hooks: int
    """The number of calls that hooks reported but the transcript or stream lacks."""


class Summary(msgspec.Struct):
    """The figures for a session or part of it."""

    started_at: str = ""
    last_at: str = ""
    events: int = 0
    starts: int = 0
    prompts: int = 0
    tool_calls: int = 0
    failed_calls: int = 0
    """The number of calls that the agent reports as failed."""
    unknown_calls: int = 0
    """The number of calls with an unknown outcome."""
    turns: int = 0
    failed_turns: int = 0
    erased: int = 0
    """The number of events whose content was erased."""
    subagents: int = 0
    compactions: int = 0
    files_changed: list[str] = []
    """The paths of the changed files, in order of their first change."""
    lines_added: int = 0
    lines_removed: int = 0
    ended_at: str | None = None
    """The time at which the session ended; None if it continues or its end was not
    recorded."""
    reason: str | None = None
    model: str | None = None
    version: str | None = None
    transcript: str | None = None

    def take(self, at: str, event: f.SessionEvent | None) -> None:
        """Process the next event; pass None for an erased event."""
        self.started_at = min(filter(None, (self.started_at, at)))
        self.last_at = max(self.last_at, at)
        self.events += 1
        if event is None:
            self.erased += 1
            return
        # An event after an end continues the session.
        self.ended_at = self.reason = None
        match event:
            case f.ToolCalled():
                self._called(event)
            case f.SessionStarted():
                self.starts += 1
                self.model = event.model or self.model
                self.version = event.version or self.version
                self.transcript = event.transcript or self.transcript
            case f.PromptGiven():
                self.prompts += 1
            case f.TurnEnded():
                self.turns += 1
                self.failed_turns += event.failed
                self.transcript = event.transcript or self.transcript
            case f.SubagentStarted():
                self.subagents += 1
            case f.ContextCompacted():
                self.compactions += 1
            case f.SessionEnded():
                self.ended_at, self.reason = at, event.reason
            case _:
                # A subagent's end.
                pass

    def _called(self, event: f.ToolCalled) -> None:
        self.tool_calls += 1
        self.failed_calls += event.ok is False
        self.unknown_calls += event.ok is None
        for file in event.files:
            self.lines_added += file.added or 0
            self.lines_removed += file.removed or 0
            if file.change and file.path not in self.files_changed:
                self.files_changed.append(file.path)


def summary_of(events: Iterable[tuple[str, f.SessionEvent | None]]) -> Summary:
    """Return the summary of a session's events, which are paired with their times."""
    found = Summary(files_changed=[])
    for at, event in events:
        found.take(at, event)
    return found


def compare(known: Iterable[f.ToolCalled], kept: Iterable[f.ToolCalled]) -> Compared:
    """Compare the calls in a transcript or stream with the recorded calls.

    Calls are matched by the agent's id; if one side has no id, by input; if one side has no
    input either, by command or files. Each call matches at most one other call.
    """
    unmatched, left, matched = list(known), list(kept), list[f.ToolCalled]()
    # The most reliable identifiers first, so that calls are not matched with similar ones.
    for told, is_bare in _WAYS:
        waiting = _Waiting(unmatched, told, is_bare)
        further = list[f.ToolCalled]()
        for call in left:
            if (one := waiting.take(call)) is None:
                further.append(call)
            else:
                matched.append(one)
        left, unmatched = further, waiting.rest()
    taken = sum(call.found_in is not None for call in matched)
    only = sum(call.found_in is None for call in unmatched)
    return Compared(len(matched) - taken, taken, left, only)


def _work(call: f.ToolCalled) -> object:
    files = tuple(sorted({file.path for file in call.files}))
    return call.command or files or call.tool.rpartition("__")[2]


_WAYS: tuple[tuple[_Told, _Bare], ...] = (
    (lambda call: call.call, lambda call: True),
    (lambda call: call.input_sha256, lambda call: call.call is None),
    (_work, lambda call: call.call is None and call.input_sha256 is None),
)
"""The identifiers of a call, most reliable first, and whether a call lacks better ones.

Of two matching calls, at least one must lack a better identifier.
"""


class _Waiting:
    """The known calls that have not been matched yet, by identifier."""

    def __init__(self, known: list[f.ToolCalled], told: _Told, is_bare: _Bare) -> None:
        self._told = told
        self._is_bare = is_bare
        self._known = known
        self._taken = set[int]()
        self._places: dict[tuple[object, bool], deque[int]] = defaultdict(deque)
        for place, call in enumerate(known):
            self._places[told(call), is_bare(call)].append(place)

    def take(self, call: f.ToolCalled) -> f.ToolCalled | None:
        """Return the first matching call, or None."""
        if (said := self._told(call)) is None:
            return None
        kinds = (False, True) if self._is_bare(call) else (True,)
        places = next((p for k in kinds if (p := self._places.get((said, k)))), None)
        if not places:
            return None
        place = places.popleft()
        self._taken.add(place)
        return self._known[place]

    def rest(self) -> list[f.ToolCalled]:
        """Return the unmatched calls, in order."""
        return [x for place, x in enumerate(self._known) if place not in self._taken]


def likeness(agent: str, event: f.SessionEvent) -> str:
    """Return the property used to match events without shared ids; empty if ids match.

    Some agents' hooks provide no call id, and the Codex stream uses different ids. Other
    events than calls have no ids.
    """
    if not isinstance(event, f.ToolCalled):
        is_told = isinstance(event, _TOLD) and getattr(event, "how", None) in _FIRST
        return event.type if is_told else ""
    if is_named_by_likeness(agent):
        return event.input_sha256 or ""
    if agent == "codex":
        return hashes.sha256(repr(_work(event)).encode("utf-8", "replace")).hexdigest()
    return ""


def lacking(known: Iterable[Dated], kept: Iterable[Dated]) -> list[f.SessionEvent]:
    """Return the events of a transcript, other than calls, that have not been recorded.

    A recorded event matches one of the same type at nearly the same time. A session has one
    start.
    """
    waiting: dict[object, deque[float]] = defaultdict(deque)
    for at, event in sorted(known, key=lambda one: one[0]):
        waiting[type(event)].append(at)
    is_begun, missing = f.SessionStarted in waiting, list[f.SessionEvent]()
    for at, event in kept:
        times = waiting[type(event)]
        while times and times[0] < at - NEAR_SECONDS:
            times.popleft()
        if times and times[0] <= at + NEAR_SECONDS:
            times.popleft()
        elif not (is_begun and isinstance(event, f.SessionStarted)):
            missing.append(event)
    return missing


def is_named_by_likeness(agent: str) -> bool:
    """Return whether an agent's hooks omit the call id."""
    return agent in ("copilot", "gemini")
