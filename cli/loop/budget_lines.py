"""How budgets are told to people: what is spent of each, and what is left."""

from collections.abc import Iterable, Iterator

from sprintlog.engine.sprint.events import Budgets
from sprintlog.engine.sprint.runs import budgets as sums
from sprintlog.engine.sprint.state.money import is_less, plus
from sprintlog.engine.sprint.state.sprint import Sprint

from ..output import coloured, wrapped
from ..screen.terminal import ATTENTION, BAD


def budget_lines(budgets: Iterable[sums.BudgetState]) -> Iterator[str]:
    """Yield each budget in lines; how many iterations there may be is told elsewhere."""
    for one in budgets:
        if (one.of, one.budget) == (sums.OF_SPRINT, sums.ITERATIONS):
            continue
        near = ATTENTION if one.percent >= sums.WARNED_PERCENT else None
        tone = BAD if one.is_spent else near
        for line in wrapped(f"budget: {sums.said(one)}", indent="  "):
            yield coloured(line, tone)


def raising_lines(sprint: Sprint, budgets: Budgets, now: str) -> Iterator[str]:
    """Yield which budgets of a run are above what the sprint has left."""
    for one in sums.standings(sprint, now, of=sums.OF_SPRINT):
        limit = getattr(budgets, sums.FIELDS[one.budget])
        if limit is None or one.budget == sums.ITERATIONS:
            continue
        if is_less(one.left, plus(None, limit)):
            yield (
                f"--budget-{one.budget} is of this run alone and does not raise that of "
                f"the sprint, as `sprintlog rules set` does: {sums.said(one)}"
            )
