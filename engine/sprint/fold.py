"""Fold: from facts in order to the state of a sprint.

It never raises for what a fact says: the fact has happened.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..iterations.tracker import TAKE, Tracker
from ..log.fact import Fact
from .events import (
    AgentRan,
    DynamicStepAdded,
    IterationStarted,
    PhaseInjected,
    RolledBack,
    SprintCompiled,
    SprintImported,
    StepInjected,
)
from .gates import checks
from .goal import dynamic_steps, goal, hook_tasks, reflection
from .iterations import loop, rollback, snapshots
from .iterations.rollback import Interval
from .phases import leaves, lifecycle
from .plan import create, injection
from .queue import requests
from .queue.view import says_queue
from .state import spent
from .state.sprint import Plan, Record, Sprint

EVOLVE: dict[type[Fact], Callable[[Plan, Any, str], None]] = {
    **create.EVOLVE,
    **lifecycle.EVOLVE,
    **leaves.EVOLVE,
    **injection.EVOLVE,
    **checks.EVOLVE,
    **loop.EVOLVE,
    **reflection.EVOLVE,
    **dynamic_steps.EVOLVE,
    **goal.EVOLVE,
    **hook_tasks.EVOLVE,
    **requests.EVOLVE,
}
"""How each execution fact changes the Plan."""

Event = tuple[int, str, Fact]
"""Version, time it happened, and the fact."""


Seen = Callable[[int, Fact], None]
"""Told version and fact after each fact."""


def fold(
    sprint: Sprint,
    events: Iterable[Event],
    live: Sequence[Interval] | None = None,
    *,
    seen: Seen | None = None,
) -> Sprint:
    """Return the sprint, changed in place by events that follow its version.

    The Plan takes the execution facts whose version lies in `live` (all without it), the
    Record takes all facts, so neither reads the other.
    """
    if live is not None and len(live) == 1:
        # One stretch from the root: everything that comes is in force.
        live = None
    create, record, version = sprint.plan, sprint.record, sprint.version
    for version, at, fact in events:
        kind = type(fact)
        if kind in RECORD:
            RECORD[kind](record, fact, version)
        evolve = EVOLVE.get(kind)
        if evolve is not None and (live is None or rollback.lies_on(live, version)):
            if kind is not SprintImported:
                create.touched = True
            elif _says_all(fact):
                # What its queue says stands for all that was queued and decided before.
                create.imported_at = version
                create.decisions.clear()
            evolve(create, fact, at)
            # Last: a patch was made against the document as the fact before left it.
            create.last_at = at
        if seen is not None:
            seen(version, fact)
    sprint.version = version
    return sprint


def _says_all(fact: Fact) -> bool:
    """Tell whether a document that came in says anything of the operator queue."""
    return isinstance(fact, SprintImported) and (
        fact.document is not None or says_queue(fact.patch or ())
    )


def _record_imported(record: Record, fact: SprintImported, version: int) -> None:
    record.iteration_max = max(record.iteration_max, fact.iteration)
    record.imported_at = version
    requests.record_ids(record, fact)


def _record_compiled(record: Record, fact: SprintCompiled, version: int) -> None:
    requests.record_ids(record, fact)


def _tracked(
    take: Callable[[Tracker, Any, int], None],
) -> Callable[[Record, Any, int], None]:
    """Return how a fact about iterations changes the Record: through its tracker."""
    return lambda record, fact, version: take(record.tracker, fact, version)


RECORD: dict[type[Fact], Callable[[Record, Any, int], None]] = {
    RolledBack: rollback.record_rollback,
    IterationStarted: loop.record_started,
    DynamicStepAdded: dynamic_steps.record_added,
    AgentRan: spent.record_spent,
    PhaseInjected: injection.record_injected,
    StepInjected: injection.record_injected,
    SprintCompiled: _record_compiled,
    SprintImported: _record_imported,
    **snapshots.RECORD,
    **requests.RECORD,
    **{fact: _tracked(take) for fact, take in TAKE.items()},
}
"""What the Record keeps of a fact, whatever was rolled back since."""
