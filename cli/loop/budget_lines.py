"""How budgets are told to people: what is spent of each, and what is left."""

from collections.abc import Iterable, Iterator

from sprintlog.engine.sprint.events import Budgets
from sprintlog.engine.sprint.runs.budgets import (
    FIELDS,
    ITERATIONS,
    OF_SPRINT,
    WARNED_PERCENT,
    BudgetState,
    said,
    standings,
)
from sprintlog.engine.sprint.state.money import is_less, plus
from sprintlog.engine.sprint.state.sprint import Sprint

from ..output import coloured, wrapped
from ..screen.terminal import ATTENTION, BAD


def budget_lines(budgets: Iterable[BudgetState]) -> Iterator[str]:
    """Yield each budget in lines; how many iterations there may be is told elsewhere."""
    for one in budgets:
        if (one.of, one.budget) == (OF_SPRINT, ITERATIONS):
            continue
        near = ATTENTION if one.percent >= WARNED_PERCENT else None
        tone = BAD if one.is_spent else near
        for line in wrapped(f"budget: {said(one)}", indent="  "):
            yield coloured(line, tone)


def raising_lines(sprint: Sprint, budgets: Budgets, now: str) -> Iterator[str]:
    """Yield which budgets of a run are above what the sprint has left."""
    for one in standings(sprint, now, of=OF_SPRINT):
        limit = getattr(budgets, FIELDS[one.budget])
        if limit is None or one.budget == ITERATIONS:
            continue
        if is_less(one.left, plus(None, limit)):
            yield (
                f"--budget-{one.budget} is of this run alone and does not raise that of "
                f"the sprint, as `sprintlog rules set` does: {said(one)}"
            )
