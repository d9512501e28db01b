"""What hooks said of a session, compared with its transcript or stream; pure."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from .. import hashes
from .events import ToolCalled


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
