"""The loop's iterations: 1-based numbers that are never given twice; rules and evolve."""

from collections.abc import Callable
from typing import Any

from ..errors import RefusedError
from ..log.fact import Fact
from .facts import IterationStarted
from .state import Plan, Record, Sprint
from .transitions import check_running

NUMBER_MAX = 1_000_000_000


def start_iteration(
    sprint: Sprint, *, number: int | None = None, max_iterations: int | None = None
) -> list[Fact]:
    """Begin a loop iteration: the next number, unless a higher one is given (P36)."""
    highest = sprint.record.iteration_max
    given = highest + 1 if number is None else number
    fact = IterationStarted(given, max_iterations)
    if number is not None and sprint.plan.was_said("\niteration", fact):
        return []
    check_running(sprint, "start an iteration")
    if not highest < given <= NUMBER_MAX:
        raise RefusedError(
            f"iteration {given} cannot start: iteration {highest} was given before and "
            f"numbers are never used again; allowed: {highest + 1} to {NUMBER_MAX}",
            iteration=given,
            wish="start",
            allowed=[highest + 1],
        )
    if max_iterations is not None and not 0 < max_iterations <= NUMBER_MAX:
        raise RefusedError(
            f"max-iterations {max_iterations} is not allowed: 1 to {NUMBER_MAX}",
            field="max-iterations",
        )
    return [fact]


def _evolve_started(plan: Plan, fact: IterationStarted, at: str) -> None:
    plan.stats["current-iteration"] = fact.number
    if fact.max_iterations is not None:
        plan.stats["max-iterations"] = fact.max_iterations
    # No address holds a control character, so this one is nobody else's.
    plan.say("\niteration", fact)


def record_started(record: Record, fact: IterationStarted, version: int) -> None:
    """Keep the number and where it began: rollbacks never give it back."""
    record.iterations.append((fact.number, version))
    record.iteration_max = max(record.iteration_max, fact.number)


EVOLVE: dict[type[Fact], Callable[[Plan, Any, str], None]] = {
    IterationStarted: _evolve_started
}
