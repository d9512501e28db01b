"""Which topic says what an event changes: it is imported with the first of its events.

Most commands meet events of one topic, and a process that imports all of them takes
longer for that than for the command.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..iterations import events as iterations
from ..iterations.tracker import TAKE, Tracker
from ..log.event import Event
from . import events as f
from .state.knowledge import (
    record_began,
    record_budgets,
    record_ended,
    record_spent,
    record_warned,
)
from .state.sprint import Change, Evolve, Learn, Learns

TOPICS = {
    f.sprint.__name__: ("phases.sprint_changes", "plan.document_changes"),
    f.phases.__name__: ("phases.leaf_changes", "phases.sprint_changes", "plan.injection"),
    f.gates.__name__: ("gates.checks",),
    f.loop.__name__: ("iterations.loop_changes",),
    f.goal.__name__: (
        *("goal.goal", "goal.dynamic_steps", "goal.hook_tasks", "goal.reflection"),
    ),
    f.snapshots.__name__: ("iterations.snapshots",),
    f.queue.__name__: ("queue.requests",),
    f.history.__name__: ("iterations.rollback", "iterations.snapshots"),
    iterations.__name__: (),
}
"""For the events of a module the topics whose `EVOLVE` says how they change a plan, and
whose `LEARN` what the knowledge keeps of them, whatever was rolled back since. Where all
that is evolved is a leaf and what is counted of it, `CHANGE` says that, too."""

Handlers = tuple[Change | None, Learn | None, Evolve | None]


def _tracked(take: Callable[[Tracker, Any, int], None]) -> Learn:
    """Return how an event about iterations changes the knowledge: through its tracker."""
    return lambda knowledge, event, version: take(knowledge.tracker, event, version)


_LEARN: Learns = {
    f.AgentRan: record_spent,
    f.RunStarted: record_began,
    f.RunEnded: record_ended,
    f.BudgetsSet: record_budgets,
    f.BudgetWarned: record_warned,
    **{event: _tracked(take) for event, take in TAKE.items()},
}
"""What is kept of events of no topic."""


class _ByEvent(dict[type[Event], Handlers]):
    """What each event does; it is looked for when the event is first met."""

    def __missing__(self, event: type[Event]) -> Handlers:
        handlers = self[event] = _handlers_of(event)
        return handlers


def _handlers_of(kind: type[Event]) -> Handlers:
    """Ask the topics one after another: an event is of one of them, or of none."""
    if kind in _LEARN:
        return None, _LEARN[kind], None
    for name in TOPICS.get(kind.__module__, ()):
        topic = vars(import_module(f".{name}", __package__))
        learn = topic.get("LEARN", {}).get(kind)
        evolve = topic.get("EVOLVE", {}).get(kind)
        if learn is not None or evolve is not None:
            # What somebody learns from goes the longer way.
            change = topic.get("CHANGE", {}).get(kind) if learn is None else None
            return change, learn, evolve
    return None, None, None


HANDLERS = _ByEvent()
"""What an event does to a leaf alone, to the knowledge, and to the plan as a whole."""
