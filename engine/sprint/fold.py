"""Fold: from events in order to the state of a sprint.

It never raises for what an event says: the event has happened.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..iterations.tracker import TAKE, Tracker
from ..log.event import Event, Versioned
from . import events as f
from .gates import checks
from .goal import dynamic_steps, goal, hook_tasks, reflection
from .iterations import loop, rollback, snapshots
from .iterations.rollback import Interval
from .phases import leaf_changes, sprint_changes
from .plan import create, injection
from .queue import requests
from .queue.view import says_queue
from .state.knowledge import record_spent
from .state.sprint import Evolve, Evolves, Knowledge, Learn, Learns, Plan, Sprint

_TOPICS = (
    *(create, sprint_changes, leaf_changes, injection, checks, loop),
    *(reflection, dynamic_steps, goal, hook_tasks, requests),
)
EVOLVE: Evolves = {
    event: evolve for topic in _TOPICS for event, evolve in topic.EVOLVE.items()
}
"""How each execution event changes the plan."""
IMPORT = EVOLVE[f.SprintImported]
"""After it the document is as it came, not touched by events of our own."""

Seen = Callable[[int, Event], None]
"""Told version and event after each event."""

EVERY: Interval = (0, 2**63)
"""The stretch that holds every version."""
NONE_LEFT: Interval = (2**63, 2**63)
"""Stands behind the last stretch."""


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
    plan, knowledge, version = sprint.plan, sprint.knowledge, sprint.version
    stretches = iter((EVERY,) if live is None else live)
    first, last = next(stretches, NONE_LEFT)
    for version, at, event in events:
        learn, evolve = HANDLERS.get(type(event), UNHANDLED)
        if learn is not None:
            learn(knowledge, event, version)
        if evolve is not None:
            while version > last:
                first, last = next(stretches, NONE_LEFT)
            if version >= first:
                if evolve is IMPORT:
                    begin_anew(plan, event, version)
                else:
                    plan.touched = True
                evolve(plan, event, at)
                # Last: a patch was made against the document as the event before left it.
                plan.last_at = at
        if seen is not None:
            seen(version, event)
    sprint.version = version
    return sprint


def begin_anew(plan: Plan, event: Any, version: int) -> None:
    """Let a document that says anything of the operator queue stand for all before it."""
    if event.document is not None or says_queue(event.patch or ()):
        plan.imported_at = version
        plan.decisions.clear()


def _record_imported(knowledge: Knowledge, event: f.SprintImported, version: int) -> None:
    knowledge.iteration_max = max(knowledge.iteration_max, event.iteration)
    knowledge.imported_at = version
    requests.record_ids(knowledge, event, version)


def _tracked(take: Callable[[Tracker, Any, int], None]) -> Learn:
    """Return how an event about iterations changes the knowledge: through its tracker."""
    return lambda knowledge, event, version: take(knowledge.tracker, event, version)


LEARN: Learns = {
    f.RolledBack: rollback.record_rollback,
    f.IterationStarted: loop.record_started,
    f.DynamicStepAdded: dynamic_steps.record_added,
    f.AgentRan: record_spent,
    f.PhaseInjected: injection.record_injected,
    f.StepInjected: injection.record_injected,
    f.SprintCompiled: requests.record_ids,
    f.SprintImported: _record_imported,
    **snapshots.LEARN,
    **requests.LEARN,
    **{event: _tracked(take) for event, take in TAKE.items()},
}
"""What the knowledge keeps of an event, whatever was rolled back since."""

Handlers = tuple[Learn | None, Evolve | None]
"""What an event does to the knowledge, and what to the plan."""
UNHANDLED: Handlers = (None, None)
HANDLERS: dict[type[Event], Handlers] = {
    event: (LEARN.get(event), EVOLVE.get(event)) for event in {*LEARN, *EVOLVE}
}
