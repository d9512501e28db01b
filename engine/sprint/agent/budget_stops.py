"""Stops by a budget: where nothing is left, or nobody can tell, nothing begins."""

from ..iterations.loop import is_begun_for
from ..runs.again import run_again
from ..runs.budgets import (
    ITERATIONS,
    OF_RUN,
    OF_SPRINT,
    BudgetState,
    amount,
    said,
    standings,
    typed,
)
from ..state.knowledge import COST, TOKENS
from ..state.money import is_less, minus, plus
from ..state.sprint import Plan, Sprint
from . import actions
from .actions import Action

SPENT = "the budget is spent: "
"""Before how far it is spent."""
_PAID = (actions.WORK, actions.ITERATE, actions.RETRY, actions.WAIT)


def stop_by_budget(sprint: Sprint, action: Action, now: str, *, of: str) -> Action | None:
    """Return a stop in the place of what would cost more than may be spent."""
    if action.do not in _PAID and not (action.do == actions.GATE and action.prompt):
        return None
    found = standings(sprint, now, of=of)
    for one in found:
        # How many iterations a sprint may take has its own stop; one goes on to its end.
        is_own = one.budget == ITERATIONS and of == OF_SPRINT
        goes_on = one.budget == ITERATIONS and not _begins(sprint.plan, action)
        if one.is_spent and not (is_own or goes_on):
            return _stop(sprint, one, action)
    for one in found:
        if one.budget in (COST, TOKENS) and one.budget in sprint.knowledge.loops.silent:
            return _silent(sprint, one, action)
    return None


def _begins(plan: Plan, action: Action) -> bool:
    """Tell whether an iteration would begin with it."""
    if action.do == actions.ITERATE:
        return not plan.turns.number
    return action.do == actions.WORK and not is_begun_for(plan, str(action.phase))


def _stop(sprint: Sprint, one: BudgetState, action: Action) -> Action:
    is_limit = one.budget == ITERATIONS
    why = f"{SPENT}{said(one)}"
    option = f"--budget-{one.budget}"
    started = sprint.knowledge.loops.started
    if one.of == OF_RUN and started is not None:
        hint = f"`{run_again(started)}` goes on with as much again"
    else:
        more = plus(one.limit, one.limit)
        if is_less(more, one.spent):
            more = plus(one.spent, one.limit)
        command = f"sprintlog rules set {option} {typed(one.budget, more)}"
        again = run_again(started)
        free = amount(one.budget, minus(more, one.spent))
        hint = f"`{command}` allows {free} more; then `{again}` starts the loop again"
    return Action(
        actions.STOP,
        because=actions.LIMIT if is_limit else actions.BUDGET,
        phase=action.phase,
        iteration=action.iteration,
        why=why,
        hint=hint,
    )


def _silent(sprint: Sprint, one: BudgetState, action: Action) -> Action:
    started = sprint.knowledge.loops.started
    is_priced = started is not None and started.price is not None
    what = "what it costs" if one.budget == COST else "how many tokens it takes"
    ways = []
    if one.budget == COST and is_priced:
        # A price makes costs of tokens, and these are unknown, too.
        what = "what it costs, nor how many tokens it takes"
    elif one.budget == COST:
        computes = "`sprintlog run --price IN/OUT -- COMMAND` computes it from the tokens"
        ways = [f"{computes}, with what a million of them costs, given and written"]
    if one.of == OF_SPRINT:
        typed = f"sprintlog rules set --budget-{one.budget} none"
        ways.append(f"`{typed}`")
    else:
        again = run_again(started, with_budgets=False)
        ways.append(f"`{again}` goes on without that budget")
    whose = "run" if one.of == OF_RUN else "sprint"
    return Action(
        actions.STOP,
        because=actions.BUDGET,
        phase=action.phase,
        iteration=action.iteration,
        why=f"the agent does not say {what}, so the {whose}'s budget cannot be kept",
        hint="; or ".join(ways),
    )
