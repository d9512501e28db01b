"""Fold: from events in order to the state of a sprint.

It never raises for what an event says: the event has happened.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..log.event import Event, Versioned
from .events import SprintImported
from .iterations.stretches import Interval
from .queue.view import says_queue
from .state.sprint import Change, Evolve, Learn, Plan, Sprint, evolve_nothing
from .state.tree import Node, Tree
from .topics import HANDLERS

Seen = Callable[[int, Event], None]
"""Told version and event after each event."""

Taker = tuple[Callable[[Any], Any], Change | None, Learn | None, Evolve | None]
"""What makes an event of a payload, and what that changes."""
Row = tuple[int, tuple[str, Any, Any]]
"""Version, and then time, form and payload of an event."""

EVERY: Interval = (0, 2**63)
"""The stretch that holds every version."""


def fold(
    sprint: Sprint,
    events: Iterable[Versioned],
    live: Sequence[Interval] | None = None,
    *,
    seen: Seen | None = None,
) -> Sprint:
    """Return the sprint, changed in place by events that follow its version.

    The plan takes the execution events whose version lies in `live` (all without it), the
    knowledge all events, so neither reads the other.
    """
    rows = ((version, (at, type(event), event)) for version, at, event in events)
    return take_in(sprint, rows, _TAKERS, live, seen=seen)


def take_in(
    sprint: Sprint,
    rows: Iterable[Row],
    takers: dict[Any, Taker],
    live: Sequence[Interval] | None = None,
    *,
    seen: Seen | None = None,
) -> Sprint:
    """Return the sprint as `fold` does; `takers` say by its form what an event is.

    Every fold comes by here. Most events of a long stream are about a leaf that counts
    for itself alone: what those change is done without a call, and what only the last
    one decides is left to the end.
    """
    plan, knowledge, version = sprint.plan, sprint.knowledge, sprint.version
    turns, in_force, turn = _turns(live), False, 0
    tree, alone, latest, changed = _at_hand(plan)
    last_at: str | None = None
    for version, (at, form, payload) in rows:
        while version >= turn:
            in_force, turn = next(turns)
        decode, change, learn, evolve = takers[form]
        if type(at) is not str:
            raise TypeError("the time of an event is text")
        event = decode(payload)
        if change is not None and in_force and (node := alone.get(event.phase)) is not None:
            data = node.data
            if node.counted is None:
                node.counted = data["status"]
                changed.append(node)
            data["status"] = change(node, event, plan, at)
            latest[node.address] = event
            last_at = at
        else:
            if learn is not None:
                learn(knowledge, event, version)
            if evolve is evolve_nothing and in_force:
                last_at = at
            elif evolve is not None and in_force:
                if type(event) is SprintImported:
                    # It may be a patch, made against what was there before.
                    plan.settle(last_at)
                    begin_anew(plan, event, version)
                else:
                    plan.touched = True
                evolve(plan, event, at)
                plan.last_at, last_at = at, None
                if plan.index is not tree:
                    tree, alone, latest, changed = _at_hand(plan)
        if seen is not None:
            plan.settle(last_at)
            seen(version, event)
    plan.settle(last_at)
    sprint.version = version
    return sprint


def _at_hand(plan: Plan) -> tuple[Tree | None, dict[str, Node], dict[str, Any], list[Node]]:
    """Return the index, if there is one, its leaves that are alone, and what notes them."""
    if (tree := plan.index) is None:
        return None, {}, plan.last.nodes, []
    return tree, tree.alone, plan.last.nodes, tree.changed


def _turns(live: Sequence[Interval] | None) -> Iterator[tuple[bool, int]]:
    """Yield in turns whether events are in force, and before which version that ends."""
    for first, last in (EVERY,) if live is None else live:
        yield False, first
        yield True, last + 1
    yield False, EVERY[1] + 1


def begin_anew(plan: Plan, event: Any, version: int) -> None:
    """Let a document that says anything of the operator queue stand for all before it."""
    if event.document is not None or says_queue(event.patch or ()):
        plan.imported_at = version
        plan.decisions.clear()


class _Takers(dict[type[Event], Taker]):
    """What is to be done with an event that is decoded, by its class."""

    def __missing__(self, kind: type[Event]) -> Taker:
        self[kind] = taker = (_as_it_is, *HANDLERS[kind])
        return taker


def _as_it_is(event: Event) -> Event:
    return event


_TAKERS = _Takers()
