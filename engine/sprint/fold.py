"""Fold: from facts in order to the state of a sprint.

It never raises for what a fact says: the fact has happened.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..iterations.tracker import TAKE, Tracker
from ..log.fact import Fact
from . import (
    dynamic_steps,
    gate_checks,
    hook_tasks,
    injection,
    lifecycle,
    loop,
    phases,
    plan,
    queue,
    ralph,
    reflection,
    rollback,
    snapshots,
    spent,
)
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
from .queue_view import says_queue
from .rollback import Interval
from .state import Plan, Record, Sprint

EVOLVE: dict[type[Fact], Callable[[Plan, Any, str], None]] = {
    **plan.EVOLVE,
    **lifecycle.EVOLVE,
    **phases.EVOLVE,
    **injection.EVOLVE,
    **gate_checks.EVOLVE,
    **loop.EVOLVE,
    **reflection.EVOLVE,
    **dynamic_steps.EVOLVE,
    **ralph.EVOLVE,
    **hook_tasks.EVOLVE,
    **queue.EVOLVE,
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
    plan, record, version = sprint.plan, sprint.record, sprint.version
    for version, at, fact in events:
        kind = type(fact)
        if kind in RECORD:
            RECORD[kind](record, fact, version)
        evolve = EVOLVE.get(kind)
        if evolve is not None and (live is None or rollback.lies_on(live, version)):
            if kind is not SprintImported:
                plan.touched = True
            elif _says_all(fact):
                # What its queue says stands for all that was queued and decided before.
                plan.imported_at = version
                plan.decisions.clear()
            evolve(plan, fact, at)
            # Last: a patch was made against the document as the fact before left it.
            plan.last_at = at
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
    queue.record_ids(record, fact)


def _record_compiled(record: Record, fact: SprintCompiled, version: int) -> None:
    queue.record_ids(record, fact)


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
    **queue.RECORD,
    **{fact: _tracked(take) for fact, take in TAKE.items()},
}
"""What the Record keeps of a fact, whatever was rolled back since."""
