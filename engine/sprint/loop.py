"""The loop's iterations: 1-based numbers that are never given twice; rules and evolve."""

from collections.abc import Callable
from typing import Any

from ..errors import RefusedError
from ..log.fact import Fact
from . import starts
from .facts import IterationEnded, IterationStarted
from .reflection import start_reflection
from .state import Plan, Record, Sprint
from .transitions import check_exists, check_running

NUMBER_MAX = 1_000_000_000
_SAID = "\niteration"
"""Stands for the iteration where addresses stand: none of them holds a line break."""


def start_iteration(
    sprint: Sprint, *, number: int | None = None, max_iterations: int | None = None
) -> list[Fact]:
    """Begin a loop iteration: the next number, unless a higher one is given (P36).

    With it begins reflection, when that is due.
    """
    highest = sprint.record.iteration_max
    given = highest + 1 if number is None else number
    fact = IterationStarted(given, max_iterations)
    if number is not None and sprint.plan.was_said(_SAID, fact):
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
    return [fact, *start_reflection(sprint.plan, number=given)]


def end_iteration(
    sprint: Sprint, *, number: int | None = None, summary: str | None = None
) -> list[Fact]:
    """End the iteration that is under way, whatever became of the sprint meanwhile."""
    check_exists(sprint)
    current = open_iteration(sprint.plan)
    given = current if number is None else number
    if given is None:
        given = sprint.plan.iteration or None
    if given is not None and sprint.plan.was_said(_SAID, IterationEnded(given, summary)):
        return []
    if given is None or given != current:
        now = "none is under way" if current is None else f"{current} is under way"
        what = "an iteration" if given is None else f"iteration {given}"
        raise RefusedError(
            f"cannot end {what}: {now}",
            hint="`sprintlog iteration start` begins one" if current is None else None,
            iteration=given,
            wish="end",
            allowed=[] if current is None else [current],
        )
    return [IterationEnded(given, summary)]


def open_iteration(plan: Plan) -> int | None:
    """Return the number of the iteration that is under way, None between two of them."""
    said = plan.said.get(_SAID)
    tag = said[0] if isinstance(said, tuple) else said.type if said else None
    return None if tag == IterationEnded.type else plan.iteration or None


def _evolve_started(plan: Plan, fact: IterationStarted, at: str) -> None:
    plan.stats["current-iteration"] = fact.number
    if fact.max_iterations is not None:
        plan.stats["max-iterations"] = fact.max_iterations
    plan.turns.begin(fact.number if plan.is_at_goal else 0)
    plan.say(_SAID, fact)


def _evolve_ended(plan: Plan, fact: IterationEnded, at: str) -> None:
    plan.turns.end()
    plan.say(_SAID, fact)


def record_started(record: Record, fact: IterationStarted, version: int) -> None:
    """Keep the number and where it began: rollbacks never give it back."""
    starts.add(record.starts, fact.number, version)
    record.iteration_max = max(record.iteration_max, fact.number)


EVOLVE: dict[type[Fact], Callable[[Plan, Any, str], None]] = {
    IterationStarted: _evolve_started,
    IterationEnded: _evolve_ended,
}
