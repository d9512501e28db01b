"""What a session comes to: how many calls, which of them failed, what changed."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from ...engine import hashes
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


class Compared(NamedTuple):
    """Which of the calls that were kept are known, and which are to be recorded."""

    seen: int
    """Of how many calls hooks told."""
    taken: int
    """How many were taken from a transcript or a stream before."""
    missing: list[ToolCalled]
    only_hooks: int
    """How many calls hooks told of that were not kept."""


def compare(known: Iterable[ToolCalled], kept: Iterable[ToolCalled]) -> Compared:
    """Return what the calls that were kept are to those that are recorded.

    The agent's id of a call tells it; where one side has none, its input does, and where
    one side has no input either, the command or the files. Each stands for one.
    """
    unmatched, left, matched = list(known), list(kept), list[ToolCalled]()
    # The surer ways come first: no call is used up by one that only looks like it.
    for told, is_bare in _WAYS:
        waiting = _Waiting(unmatched, told, is_bare)
        further = list[ToolCalled]()
        for call in left:
            one = waiting.take(call)
            if one is None:
                further.append(call)
            else:
                matched.append(one)
        left, unmatched = further, waiting.rest()
    taken = sum(call.found_in is not None for call in matched)
    only = sum(call.found_in is None for call in unmatched)
    return Compared(len(matched) - taken, taken, left, only)


_Told = Callable[[ToolCalled], object]
_Bare = Callable[[ToolCalled], bool]


def _work(call: ToolCalled) -> object:
    files = tuple(sorted({file.path for file in call.files}))
    return call.command or files or call.tool.rpartition("__")[2]


_WAYS: tuple[tuple[_Told, _Bare], ...] = (
    (lambda call: call.call, lambda call: True),
    (lambda call: call.input_sha256, lambda call: call.call is None),
    (_work, lambda call: call.call is None and call.input_sha256 is None),
)
"""What tells a call, and which calls have nothing surer: one of the two must be such."""


class _Waiting:
    """Calls that are known, by what tells them, each until it is taken out."""

    def __init__(self, known: list[ToolCalled], told: _Told, is_bare: _Bare) -> None:
        self._told = told
        self._is_bare = is_bare
        self._known = known
        self._taken = set[int]()
        self._places: dict[tuple[object, bool], deque[int]] = defaultdict(deque)
        for place, call in enumerate(known):
            self._places[told(call), is_bare(call)].append(place)

    def take(self, call: ToolCalled) -> ToolCalled | None:
        """Return the first call that is the same one, if any is."""
        said = self._told(call)
        if said is None:
            return None
        kinds = (False, True) if self._is_bare(call) else (True,)
        places = next((p for k in kinds if (p := self._places.get((said, k)))), None)
        if not places:
            return None
        place = places.popleft()
        self._taken.add(place)
        return self._known[place]

    def rest(self) -> list[ToolCalled]:
        """Return the calls that are left, in their order."""
        return [x for place, x in enumerate(self._known) if place not in self._taken]


def likeness(agent: str, call: ToolCalled) -> str:
    """Return what calls have in common that no id tells apart; empty where ids do.

    Hooks of some agents name no call, and the stream of Codex names it in its own way.
    """
    if is_named_by_likeness(agent):
        return call.input_sha256 or ""
    if agent == "codex":
        return hashes.sha256(repr(_work(call)).encode("utf-8", "replace")).hexdigest()
    return ""


def is_named_by_likeness(agent: str) -> bool:
    """Tell whether the hooks of an agent name no call."""
    return agent in ("copilot", "gemini")


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
