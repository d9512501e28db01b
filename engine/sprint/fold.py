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
from .state.sprint import Evolves, Knowledge, Learn, Learns, Sprint

_TOPICS = (
    *(create, sprint_changes, leaf_changes, injection, checks, loop),
    *(reflection, dynamic_steps, goal, hook_tasks, requests),
)
EVOLVE: Evolves = {
    event: evolve for topic in _TOPICS for event, evolve in topic.EVOLVE.items()
}
"""How each execution event changes the plan."""

Seen = Callable[[int, Event], None]
"""Told version and event after each event."""


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
    if live is not None and len(live) == 1:
        # One stretch from the root: everything that comes is in force.
        live = None
    create, knowledge, version = sprint.plan, sprint.knowledge, sprint.version
    for version, at, event in events:
        kind = type(event)
        if kind in LEARN:
            LEARN[kind](knowledge, event, version)
        evolve = EVOLVE.get(kind)
        if evolve is not None and (live is None or rollback.lies_on(live, version)):
            if kind is not f.SprintImported:
                create.touched = True
            elif _says_all(event):
                # What its queue says stands for all that was queued and decided before.
                create.imported_at = version
                create.decisions.clear()
            evolve(create, event, at)
            # Last: a patch was made against the document as the event before left it.
            create.last_at = at
        if seen is not None:
            seen(version, event)
    sprint.version = version
    return sprint


def _says_all(event: Event) -> bool:
    """Tell whether a document that came in says anything of the operator queue."""
    return isinstance(event, f.SprintImported) and (
        event.document is not None or says_queue(event.patch or ())
    )


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
