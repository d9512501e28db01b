"""A sprint followed through its history: every version once, voided ones included.

One fold, in the order of the stream. Where a rollback goes back, the state of its target
is taken up again as it was kept when the fold came by, so it costs no second fold.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol

from ...log.event import Event, Versioned
from ...sprint.fold import fold
from ...sprint.state.sprint import Sprint, pack, unpack


class Follower(Protocol):
    """Whoever looks at the sprint after each event."""

    def begin(self, sprint: Sprint) -> None:
        """Take the sprint as it is before the first event."""

    def seen(self, version: int, event: Event) -> None:
        """Look at the sprint after an event."""

    def keep(self) -> Any:
        """Return what must be known again when somebody goes back to this version."""

    def went_back(self, version: int, sprint: Sprint, kept: Any) -> None:
        """Take the sprint as a rollback made it; `kept` is None before the first one."""


def follow(
    follower: Follower,
    sprint: Sprint,
    events: Iterator[Versioned],
    *,
    until: int,
    rollbacks: Sequence[tuple[int, int]],
) -> None:
    """Fold events that follow a state, which is used up, and let them be looked at.

    `rollbacks` are those among the events, (version, target); no target may lie before
    the state, unless that is the beginning.
    """
    targets, turns = dict(rollbacks), TurningPoints(rollbacks)
    stops = sorted({until, *turns.wanted, *(at - 1 for at in targets)})
    version = sprint.version
    follower.begin(sprint)
    turns.keep(version, sprint, follower.keep)
    while version < until:
        if version + 1 not in targets:
            stop = stops[bisect_right(stops, version)]
            fold(sprint, islice(events, stop - version), seen=follower.seen)
            version = stop
        else:
            event = next(events)
            version += 1
            kept, goes_back = None, targets[version] < version
            # A log that was handed in may name a target yet to come: that voids nothing.
            if goes_back:
                sprint, kept = turns.back(sprint, targets[version])
            fold(sprint, [event])
            if goes_back:
                follower.went_back(version, sprint, kept)
        turns.keep(version, sprint, follower.keep)


class TurningPoints:
    """The states that rollbacks go back to, each kept until the last one went there."""

    def __init__(self, rollbacks: Sequence[tuple[int, int]]) -> None:
        self.wanted = Counter(to for at, to in rollbacks if 1 <= to < at)
        self._kept: dict[int, tuple[bytes, Any]] = {}

    def keep(self, version: int, sprint: Sprint, note: Callable[[], Any]) -> None:
        """Keep a state, and what is noted of it, if somebody will go back to it."""
        if self.wanted[version]:
            self._kept[version] = (pack(sprint), note())

    def back(self, sprint: Sprint, to: int) -> tuple[Sprint, Any]:
        """Return a sprint as it goes back to a target, and what was noted there.

        What was learned meanwhile stays: only the plan goes back.
        """
        target, note = Sprint(sprint.id), None
        if to >= 1:
            state, note = self._kept[to]
            target = unpack(state)
            self.wanted[to] -= 1
            if not self.wanted[to]:
                del self._kept[to]
        target.knowledge = sprint.knowledge
        return target, note
