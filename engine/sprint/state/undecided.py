"""The requests of the operator queue that wait for a decision."""

from collections.abc import Sequence

from .queue import takes_part
from .sprint import Sprint
from .tree import Data
from .words import DEFERRALS, DEFERRED, PENDING, PRIORITIES

HIGH = PRIORITIES[1]
"""A request of this priority or a higher one is urgent: no sprint is finished over it."""
NEXT_SPRINT = DEFERRALS[-1]


def urgent(sprint: Sprint, *, priority: str = HIGH, put_off: bool = False) -> list[str]:
    """Return the requests of this priority or a higher one that nobody has decided.

    With `put_off` also those that come back when this sprint ends.
    """
    words = PRIORITIES[: PRIORITIES.index(priority) + 1]
    queue = filter(takes_part, sprint.queue)
    waiting = [entry for entry in queue if entry.get("priority") in words]
    return [
        entry["id"]
        for entry in waiting
        if entry["status"] == PENDING or (put_off and _comes_back(entry))
    ]


def undecided_at_end(sprint: Sprint) -> list[str]:
    """Return the requests that somebody must look at before the sprint is finished.

    Those are the urgent ones, and those that were put off until now.
    """
    return list(dict.fromkeys([*urgent(sprint), *came_back(sprint)]))


def listed(requests: Sequence[str]) -> str:
    """Return the first few ids of requests, for one line."""
    return ", ".join(requests[:5]) + (" …" if len(requests) > 5 else "")


def came_back(sprint: Sprint) -> list[str]:
    """Return the requests that were put off, came back, and wait for a decision."""
    returned = [i for i, last in sprint.plan.decisions.items() if last.returned is not None]
    if not returned:
        return []
    there = {entry["id"] for entry in sprint.queue if takes_part(entry)}
    return [identity for identity in returned if identity in there]


def _comes_back(entry: Data) -> bool:
    return entry["status"] == DEFERRED and entry.get("deferred-until") != NEXT_SPRINT
