"""How budgets are told to people: what is spent of each, and what is left."""

from collections.abc import Iterable, Iterator

from sprintlog.engine.sprint.runs.budgets import (
    ITERATIONS,
    OF_SPRINT,
    WARNED_PERCENT,
    BudgetState,
    said,
)

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
