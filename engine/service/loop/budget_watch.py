"""What a loop spends: warned of in time, and refused before it where nobody could tell."""

from pathlib import PurePath

from ...errors import RefusedError
from ...masking import mask
from ...sprint.runs.budgets import WarnOfBudgets, said, to_warn_of
from ...sprint.runs.record import words_of
from ...sprint.state.sprint import Sprint
from .driver import Driver, Means

SAYS_NO_COST = {"agy", "codex", "copilot", "cursor-agent", "droid", "gemini"}
"""The programs of agents that say how many tokens they take, and not what it costs."""


def warn_of_budgets(driver: Driver) -> None:
    """Record of each budget once that most of it is spent, and say so."""
    due = to_warn_of(driver.sprint(), driver.workspace.now())
    if not due:
        return
    driver.handle(WarnOfBudgets())
    for one in due:
        driver.tell(f"budget {one.percent} %: {said(one)}")


def check_cost_is_known(sprint: Sprint, means: Means) -> None:
    """Raise `RefusedError` for a budget of money where nobody will say what it costs.

    That is known of some agents, and of a command by its last run.
    """
    loops = sprint.knowledge.loops
    limits = (means.budgets.cost_usd, loops.budgets.cost_usd)
    if limits == (None, None):
        return
    if means.fallback:
        # Its price is not known.
        other = means._replace(command=means.fallback.split(), fallback=None, price=None)
        check_cost_is_known(sprint, other)
    if means.price is not None:
        return
    words = words_of(means.command)
    words = words if not means.masks else tuple(map(mask, words))
    said_so = loops.says_cost.get(" ".join(words))
    name = PurePath(means.command[0]).name
    if said_so is None:
        said_so = name not in SAYS_NO_COST
    if not said_so:
        raise RefusedError(
            f"{name} does not say what it costs, so a budget of money cannot be kept",
            hint="give `--price IN/OUT`, what a million tokens cost in dollars that are "
            "given and that are written; or a budget of tokens: `--budget-tokens N`",
            field="price",
        )
