"""Fold: from facts in order to the state of a sprint.

It never raises for what a fact says: the fact has happened.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..log.fact import Fact, Kind
from . import lifecycle, loop, phases, plan, rollback
from .facts import IterationStarted, RolledBack, SprintImported
from .loop import record_started
from .rollback import Interval, record_rollback
from .state import Plan, Record, Sprint

EVOLVE: dict[type[Fact], Callable[[Plan, Any, str], None]] = {
    **plan.EVOLVE,
    **lifecycle.EVOLVE,
    **phases.EVOLVE,
    **loop.EVOLVE,
}
"""How each execution fact changes the Plan."""

Event = tuple[int, str, Fact]
"""Version, time it happened, and the fact."""


def fold(
    sprint: Sprint, events: Iterable[Event], live: Sequence[Interval] | None = None
) -> Sprint:
    """Return the sprint, changed in place by events that follow its version.

    The Plan takes the execution facts whose version lies in `live` (all without it), the
    Record takes all facts, so neither reads the other.
    """
    for version, at, fact in events:
        evolve_record(sprint.record, fact, version)
        if fact.kind is Kind.EXECUTION and (
            live is None or rollback.lies_on(live, version)
        ):
            evolve_plan(sprint.plan, fact, at)
        sprint.version = version
    return sprint


def evolve_plan(plan: Plan, fact: Fact, at: str) -> None:
    """Change the Plan by one execution fact that happened at this time."""
    if type(fact) is not SprintImported:
        plan.touched = True
    EVOLVE[type(fact)](plan, fact, at)
    # Last: a patch was made against the document as the fact before it had left it.
    plan.last_at = at


def evolve_record(record: Record, fact: Fact, version: int) -> None:
    """Change the Record by one fact of any kind."""
    match fact:
        case RolledBack():
            record_rollback(record, fact, version)
        case IterationStarted():
            record_started(record, fact, version)
        case SprintImported():
            record.iteration_max = max(record.iteration_max, fact.iteration)
            record.imported_at = version
        case _:
            return
