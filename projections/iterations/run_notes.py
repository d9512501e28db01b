"""What came in the way of the runs of agents, in few words."""

from collections.abc import Iterable, Mapping, Sequence

from sprintlog.engine.sprint.agent.limit_table import NETWORK_DOWN, OVERLOAD, USAGE
from sprintlog.engine.sprint.iterations.agent_runs import RunSeen, is_lost

LIMITS = {
    USAGE: "a usage limit",
    OVERLOAD: "the model did not answer",
    NETWORK_DOWN: "no network",
}
"""What kept a run from working; whether somebody waited then is another matter."""
NAMED_MAX = 5
"""More runs than these are only counted."""


def notes_of(seen: Iterable[RunSeen]) -> list[str]:
    """Return what came in the way of an iteration's runs, each thing once."""
    said = []
    for one in seen:
        if one.limit is not None:
            said.append(_limit(one.limit))
        if one.cut_by is not None:
            said.append("a run was lost" if is_lost(one) else "a run was cut short")
    return list(dict.fromkeys(said))


def unknown_costs(found: Mapping[int, Sequence[RunSeen]]) -> str:
    """Return of which runs nobody knows the cost; empty where all of them said it."""
    named = [
        f"iteration {number}{_which(at, len(seen))} ({_why(one)})"
        for number, seen in found.items()
        for at, one in enumerate(seen, 1)
        if not one.says_cost
    ]
    more = len(named) - NAMED_MAX
    return ", ".join(named[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


def _which(at: int, count: int) -> str:
    return f", run {at} of {count}" if count > 1 else ""


def _why(one: RunSeen) -> str:
    if one.limit is not None:
        return _limit(one.limit)
    if one.cut_by is not None:
        return "lost" if is_lost(one) else "cut short"
    return "it did not say"


def _limit(word: str) -> str:
    return LIMITS.get(word, word)
