"""The budget options of a run and of a sprint, and the lines about budgets in answers."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import click

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.sprint.events import Budgets, Price
from sprintlog.engine.sprint.iterations import budgets as sums
from sprintlog.engine.sprint.iterations.budgets import budgets_of, price_of
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.usage import is_less, plus

from .. import typed
from ..context import Function
from ..output import coloured, wrapped
from ..screen.terminal import ATTENTION, BAD


def budget_lines(budgets: Iterable[sums.BudgetState]) -> Iterator[str]:
    """Yield a line for each budget except the limit of iterations."""
    for one in budgets:
        if (one.of, one.budget) == (sums.OF_SPRINT, sums.ITERATIONS):
            continue
        near = ATTENTION if one.percent >= sums.WARNED_PERCENT else None
        tone = BAD if one.is_spent else near
        for line in wrapped(f"budget: {sums.said(one)}", indent="  "):
            yield coloured(line, tone)


def raising_lines(sprint: Sprint, budgets: Budgets, now: str) -> Iterator[str]:
    """Yield a line for each budget of a run that exceeds the sprint's remaining budget."""
    for one in sums.standings(sprint, now, of=sums.OF_SPRINT):
        limit = getattr(budgets, sums.FIELDS[one.budget])
        if limit is None or one.budget == sums.ITERATIONS:
            continue
        if is_less(one.left, plus(None, limit)):
            yield (
                f"--budget-{one.budget} is of this run alone and does not raise that of "
                f"the sprint, as `sprintlog iteration rules set` does: {sums.said(one)}"
            )


_TIME = r"(?:(\d{1,5})d)?(?:(\d{1,6})h)?(?:(\d{1,8})m)?(?:(\d{1,9})s?)?"
NONE = "none"


class Amount(click.ParamType):  # type: ignore[type-arg]
    """A budget limit: a number, a time or, if the limit may be removed, `none`."""

    name = "amount"

    def __init__(self, budget: str, *, takes_none: bool) -> None:
        self.budget = budget
        self.takes_none = takes_none

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | str:
        """Return the limit; times are in seconds."""
        text = str(value).strip()
        if self.takes_none and text == NONE:
            return NONE
        found = _seconds(text) if self.budget == "time" else _number(text)
        is_whole = self.budget == "cost" or (found is not None and found % 1 == 0)
        if found is None or not found > 0 or not is_whole:
            forms = {"time": "a time like 8h, 90m or 1h30m", "cost": "dollars, like 5"}
            form = forms.get(self.budget, "a whole number")
            more = f", or {NONE}" if self.takes_none else ""
            self.fail(f"{text[:40]!r}: must be {form}{more}", param, ctx)
        return found


OPTIONS = {
    "iterations": ("N", "N iterations, counted when they begin"),
    "cost": ("USD", "this cost in US dollars"),
    "tokens": ("N", "N tokens (input + cache writes + output; no cache reads)"),
    "time": ("TIME", "this time: 8h, 90m, 1h30m"),
    "failures": ("N", "N consecutive failures of the agent"),
}
FIELDS = {"cost": "cost_usd", "time": "seconds"}


def with_run_budgets(function: Function) -> Function:
    """Add the budget options of a single run, and `--price`."""
    price = typed.option(
        "--price",
        setting="budget.price",
        metavar="IN/OUT",
        help="Dollars per million input and output tokens, such as 3/15, for an agent that "
        "does not report its cost; IN/OUT/CACHED includes cache reads.",
    )
    return _with_budgets(price(function), "Stop after {}.", of_run=True)


def with_sprint_budgets(function: Function) -> Function:
    """Add the budget options that apply to all runs of a sprint together."""
    says = "Stop all runs together after {}; `none` for no limit."
    return _with_budgets(function, says, of_run=False)


def _with_budgets(function: Function, says: str, *, of_run: bool) -> Function:
    """Add an option for each budget; `sprint limit` sets a sprint's iterations."""
    for budget, (metavar, what) in reversed(OPTIONS.items()):
        if of_run or budget != "iterations":
            function = typed.option(
                f"--budget-{budget}",
                f"budget_{budget}",
                type=Amount(budget, takes_none=not of_run),
                # `budget.iterations` sets the limit of new sprints.
                setting=f"budget.{budget}" if of_run and budget != "iterations" else None,
                metavar=metavar,
                help=says.format(what),
            )(function)
    return function


def taken_from(given: dict[str, Any]) -> dict[str, float | None]:
    """Remove the budget options from the given options; return the limits by field."""
    found: dict[str, float | None] = {}
    for budget in OPTIONS:
        value = given.pop(f"budget_{budget}", None)
        if value is not None:
            found[FIELDS.get(budget, budget)] = None if value == NONE else value
    return found


def budgets_and_price(given: dict[str, Any]) -> tuple[Budgets, Price | None]:
    """Return a run's budgets and price; raise `click.UsageError` if they are invalid."""
    text = given.pop("price", None)
    try:
        return budgets_of(taken_from(given)), None if text is None else price_of(text)
    except RefusedError as error:
        raise click.UsageError(error.message) from error


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", "").removeprefix("$"))
    except ValueError:
        return None


def _seconds(text: str) -> float | None:
    found = re.fullmatch(_TIME, text, re.ASCII)
    if found is None or not text:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
