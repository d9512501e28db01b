"""The fold, which applies events in order to the state of a sprint.

The fold never raises because of an event's content: the event has already happened. The
module of a topic is imported when its first event occurs, because most commands encounter
events of one topic only, and importing all topics takes longer than the command itself.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from operator import length_hint
from typing import Any

from ..judging import events as iterations
from ..judging.tracker import TAKE, Tracker
from ..log.codec import DAMAGE, Codec
from ..log.event import Event, Versioned
from ..log.port import Page
from . import events as f
from .state import knowledge as known
from .state.effective_history import VersionRange
from .state.queue import says_queue
from .state.sprint import Change, Evolve, Learn, Learns, Plan, Sprint, evolve_nothing
from .state.tree import Node, Tree

TOPICS = {
    f.sprint.__name__: ("phases.changes", "plan.document_changes", "state.notes"),
    f.phases.__name__: ("phases.changes", "plan.injection"),
    f.gates.__name__: ("phases.gate_checks",),
    f.loop.__name__: ("iterations.loop_changes",),
    f.goal.__name__: (
        *("iterations.goal", "iterations.hook_tasks", "iterations.loop_changes"),
        "plan.goal_steps",
    ),
    f.snapshots.__name__: ("iterations.snapshots",),
    f.queue.__name__: ("queue.requests",),
    f.history.__name__: ("iterations.rollback", "iterations.snapshots"),
    iterations.__name__: (),
}
"""For each module of events, the topics that handle its events. `EVOLVE` changes the plan,
`LEARN` changes the knowledge, which rollbacks do not affect, and `CHANGE` handles events
that change only a leaf and its counts."""

Handlers = tuple[Change | None, Learn | None, Evolve | None]
EventHandler = tuple[
    Callable[[Any], Any], Change | None, tuple[Learn | None, Evolve | None]
]
"""An event's decoder, and its handlers for a single leaf and for all other effects."""
Row = tuple[Any, Any, Any]
"""An event's time, format and payload."""
Part = tuple[Sequence[int], Sequence[Row]]
"""The versions of consecutive events, and their rows."""

ALL_VERSIONS: VersionRange = (0, 2**63)
"""The range of all versions."""
AT_ONCE = 128
"""The batch size used if the caller passes single events."""
_nothing: dict[str, Node] = {}
"""An empty set of independent leaves, for ranges of discarded events."""


def _tracked(take: Callable[[Tracker, Any, int], None]) -> Learn:
    """Return a handler that passes an event to the iteration tracker."""
    return lambda knowledge, event, version: take(knowledge.tracker, event, version)


_LEARN: Learns = {
    f.AgentRan: known.record_spent,
    f.RunStarted: known.record_began,
    f.RunEnded: known.record_ended,
    f.BudgetsSet: known.record_budgets,
    f.BudgetWarned: known.record_warned,
    **{event: _tracked(take) for event, take in TAKE.items()},
}
"""The handlers that update the knowledge for events without a topic."""


class _ByEvent(dict[type[Event], Handlers]):
    """The handlers of each event type, looked up on first use."""

    def __missing__(self, kind: type[Event]) -> Handlers:
        """Return the handlers from the first topic that handles this event type."""
        found: Handlers = None, _LEARN.get(kind), None
        for name in () if kind in _LEARN else TOPICS.get(kind.__module__, ()):
            topic = vars(import_module(f".{name}", __package__))
            learn = topic.get("LEARN", {}).get(kind)
            evolve = topic.get("EVOLVE", {}).get(kind)
            if learn is not None or evolve is not None:
                # An event with a LEARN handler cannot take the fast path.
                change = topic.get("CHANGE", {}).get(kind) if learn is None else None
                found = change, learn, evolve
                break
        self[kind] = found
        return found


HANDLERS = _ByEvent()
"""The handlers for a single leaf, the knowledge, and the entire plan, by event type."""


def fold(
    sprint: Sprint, events: Iterable[Versioned], live: Sequence[VersionRange] | None = None
) -> Sprint:
    """Return the sprint after applying, in place, the events that follow its version.

    The plan applies only the execution events with versions in `live` (by default all),
    while the knowledge applies all events, so neither may read the other.
    """
    apply_all(sprint, _in_parts(events), _TAKERS, live)
    sprint.plan.finish_fold()
    return sprint


def apply_all(
    sprint: Sprint,
    parts: Iterable[Part],
    takers: dict[Any, EventHandler],
    live: Sequence[VersionRange] | None = None,
) -> None:
    """Change the sprint as `fold` does; `takers` decode and handle each form of event.

    Every fold calls this function. Most events in a long stream change a leaf that affects
    only its own count. These events are applied inline, and the plan's `finish_fold` then
    computes the values that depend only on the last event. The plan must not be read before
    then.
    """
    plan, knowledge = sprint.plan, sprint.knowledge
    tree, alone, latest, changed = _at_hand(plan)
    last_at: str | None = None
    # In CPython, lookups in a subclass of dict are slower.
    met: dict[Any, EventHandler] = {}
    whole = ((True, *part) for part in parts if part[0])
    for in_force, versions, rows in whole if live is None else _in_turns(parts, live):
        find, left = (alone if in_force else _nothing).get, iter(rows)
        for at, form, payload in left:
            try:
                decode, change, others = met[form]
            except KeyError:
                decode, change, others = met[form] = takers[form]
            if type(at) is not str:
                raise TypeError("the time of an event is text")
            event = decode(payload)
            if change is not None and (node := find(event.phase)) is not None:
                if node.counted is None:
                    node.counted = node.data["status"]
                    changed.append(node)
                node.data["status"] = change(node, event, plan, at)
                latest[node.address] = event
                last_at = at
            else:
                learn, evolve = others
                if learn is not None:
                    learn(knowledge, event, versions[-1 - length_hint(left)])
                if evolve is evolve_nothing and in_force:
                    last_at = at
                elif evolve is not None and in_force:
                    if last_at is not None:
                        plan.touched, plan.last_at = True, last_at
                    _evolve(plan, evolve, event, versions[-1 - length_hint(left)], at)
                    last_at = None
                    if plan.index is not tree:
                        tree, alone, latest, changed = _at_hand(plan)
                        find = alone.get
        sprint.version = versions[-1]
    if last_at is not None:
        plan.touched, plan.last_at = True, last_at


def fold_ahead(sprint: Sprint, events: Iterable[Event], at: str) -> None:
    """Apply copies of events that are not yet recorded, since a fold may modify events."""
    # Imported here: recorded events are folded without a copy.
    from copy import deepcopy

    news = enumerate(deepcopy(list(events)), sprint.version + 1)
    fold(sprint, [(version, at, event) for version, event in news])


def _evolve(plan: Plan, evolve: Evolve, event: Event, version: int, at: str) -> None:
    """Apply an event that may change more than a single leaf."""
    if type(event) is f.SprintImported:
        # The event may contain a patch against the plan after the fold.
        plan.finish_fold()
        begin_anew(plan, event, version)
    else:
        plan.touched = True
    evolve(plan, event, at)
    plan.last_at = at


def _at_hand(plan: Plan) -> tuple[Tree | None, dict[str, Node], dict[str, Any], list[Node]]:
    """Return the plan's index, independent leaves, last events, and changed leaves."""
    if (tree := plan.index) is None:
        return None, {}, plan.last.nodes, []
    return tree, tree.alone, plan.last.nodes, tree.changed


def _in_parts(events: Iterable[Versioned]) -> Iterator[Part]:
    """Yield events in batches, using each event's class as its form."""
    events = iter(events)
    while some := [*islice(events, AT_ONCE)]:
        versions, times, own = zip(*some, strict=True)
        yield versions, [*zip(times, map(type, own), own, strict=True)]


def _in_turns(
    parts: Iterable[Part], live: Sequence[VersionRange]
) -> Iterator[tuple[bool, Sequence[int], Sequence[Row]]]:
    """Yield batches of events, each batch flagged as entirely effective or discarded."""
    turns, in_force, turn = _turns(live), False, 0
    for versions, rows in parts:
        while versions and versions[-1] >= turn:
            if cut := bisect_left(versions, turn):
                yield in_force, versions[:cut], rows[:cut]
                versions, rows = versions[cut:], rows[cut:]
            in_force, turn = next(turns)
        if versions:
            yield in_force, versions, rows


def _turns(live: Sequence[VersionRange]) -> Iterator[tuple[bool, int]]:
    """Yield alternating states, effective or discarded, with the version that ends each."""
    for first, last in live:
        yield False, first
        yield True, last + 1
    yield False, ALL_VERSIONS[1] + 1


def begin_anew(plan: Plan, event: Any, version: int) -> None:
    """Discard earlier decisions if an imported document contains the operator queue."""
    if event.document is not None or says_queue(event.patch or ()):
        plan.imported_at = version
        plan.decisions.clear()


class _Takers(dict[Any, EventHandler]):
    """The decoder and the handlers for each form of event, looked up on first use."""

    def __init__(self, reader: Callable[[Any], tuple[Callable[[Any], Any], type[Event]]]):
        super().__init__()
        self._reader = reader

    def __missing__(self, form: Any) -> EventHandler:
        decode, kind = self._reader(form)
        change, learn, evolve = HANDLERS[kind]
        self[form] = found = decode, change, (learn, evolve)
        return found


def _as_it_is(event: Event) -> Event:
    return event


_TAKERS = _Takers(lambda kind: (_as_it_is, kind))
"""The handlers of decoded events, by class."""


class RowFold:
    """Folds stored rows, decoding and applying one event at a time."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._takers = _Takers(codec.reader)

    def __call__(
        self,
        sprint: Sprint,
        pages: Iterable[Page],
        live: Sequence[VersionRange] | None = None,
    ) -> Sprint:
        """Return the sprint as `fold` does; raise the same errors as `Codec.decode`."""
        self.take_in(sprint, pages, live)
        sprint.plan.finish_fold()
        return sprint

    def take_in(
        self,
        sprint: Sprint,
        pages: Iterable[Page],
        live: Sequence[VersionRange] | None = None,
    ) -> None:
        """Apply the rows without calling `finish_fold`, because more events follow."""
        page = Page((), (), ())

        def parts() -> Iterator[Part]:
            nonlocal page
            for page in pages:
                if len(page.versions) != len(page.rows):
                    raise ValueError("a page has a row for each version")
                yield page.versions, page.rows

        try:
            apply_all(sprint, parts(), self._takers, live)
        except DAMAGE:
            for row, position in zip(page.rows, page.positions, strict=True):
                self._codec.event_of(row, position)
            # All events are valid, so the error is in our own code.
            raise
