"""Budgets of runs and sprints: consumption, remainder and stops, as pure functions."""

from typing import Any

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent import actions
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.agent.stops import stop_by_budget
from sprintlog.engine.sprint.events import Usage
from sprintlog.engine.sprint.iterations import budgets as b
from sprintlog.engine.sprint.iterations.budgets import price_of, priced
from sprintlog.engine.sprint.iterations.rollback import RollBack
from sprintlog.engine.sprint.iterations.run_record import BeginRun, FinishRun, LoseRun
from sprintlog.engine.sprint.state.sprint import Sprint, pack, unpack
from sprintlog.engine.usage import TOKENS

from ..conftest import Scenario, simple

START, LATER = "2026-01-15T09:00:00Z", "2026-01-15T10:30:00Z"


NO_LIMITS = f.Budgets()


def began(budgets: f.Budgets = NO_LIMITS, *, run: str = "r", since: str = START) -> Any:
    """Return the start of a run."""
    return f.RunStarted(run, since, "box", 7, "1", "b", ("agent",), budgets)


def ran(cost: float | None = None, status: str = "completed", **more: Any) -> f.AgentRan:
    """Return an agent's run, with or without a known cost."""
    used = None if cost is None else Usage(input_tokens=10, output_tokens=1, cost_usd=cost)
    return f.AgentRan("a", status, exit_code=0, usage=used, **more)


@pytest.fixture
def going(running: Any) -> Scenario:
    """Return a sprint of two phases that has started."""
    scenario: Scenario = running(simple("a", "b"))
    return scenario


def of(scenario: Scenario, budget: str, scope: str = b.OF_RUN, now: str = START) -> Any:
    """Return how far one budget is spent."""
    found = b.standings(scenario.sprint, now, of=scope)
    return next(one for one in found if one.budget == budget)


def test_cents_are_added_exactly(going: Scenario) -> None:
    """Ten times 0.1 is 1, because decimals are added as decimals."""
    going.given(f.BudgetsSet(f.Budgets(cost_usd=1.0)), *[ran(0.1)] * 9)
    one = of(going, b.COST, b.OF_SPRINT)
    assert (one.spent, one.left, one.percent, one.is_spent) == ("0.9", "0.1", 90, False)
    assert next_action(going.sprint, now=START).do == actions.WORK
    going.given(ran(0.1))
    assert of(going, b.COST, b.OF_SPRINT).spent == "1"
    stop = next_action(going.sprint, now=START)
    assert (stop.do, stop.because) == (actions.STOP, actions.BUDGET)
    assert stop.why == "the budget is spent: cost $1.00 of $1.00 in the sprint"
    assert stop.hint == (
        "run `sprintlog iteration rules set --budget-cost 2` to allow $1.00 more, then "
        "use `sprintlog run -- COMMAND` to restart the loop"
    )


def test_the_excess_is_shown(going: Scenario) -> None:
    """Running work may exceed a budget; the excess is shown, and so is unknown usage."""
    going.given(f.BudgetsSet(f.Budgets(cost_usd=0.5)), ran(0.4), ran(None, "failed"))
    going.given(ran(0.75))
    why = next_action(going.sprint, now=START).why
    assert why is not None
    assert "cost at least $1.15 of $0.50 in the sprint, $0.65 too much" in why
    assert "; the cost of 1 run is unknown" in why


def test_what_costs_nothing_goes_on(going: Scenario) -> None:
    """A budget stops new costs, but finished work is still completed."""
    going.given(f.BudgetsSet(f.Budgets(tokens=1)), f.PhaseStarted("a"), ran(0.1))
    assert next_action(going.sprint, now=START).do == actions.STOP
    going.given(f.WorkDone("a"))
    assert next_action(going.sprint, now=START).do == actions.END


def test_a_raised_budget_goes_on(going: Scenario) -> None:
    """Raising a budget is an event without other effects; `none` removes the budget."""
    going.given(f.BudgetsSet(f.Budgets(tokens=11)), ran(0.1))
    assert next_action(going.sprint, now=START).do == actions.STOP
    going.do(b.ChangeBudgets({"tokens": 22}))
    assert next_action(going.sprint, now=START).do == actions.WORK
    going.given(ran(0.1))
    assert next_action(going.sprint, now=START).do == actions.STOP
    going.do(b.ChangeBudgets({"tokens": None}))
    assert next_action(going.sprint, now=START).do == actions.WORK
    going.when(b.ChangeBudgets({"tokens": None})).then()


@pytest.mark.parametrize(
    "given", [{"cost_usd": 0}, {"tokens": -1}, {"tokens": 1.5}, {"seconds": 1e12}, {"x": 1}]
)
def test_a_senseless_budget_is_refused(going: Scenario, given: Any) -> None:
    """A budget must be greater than 0 and have a known name."""
    assert isinstance(going.when(b.ChangeBudgets(given)).refused, RefusedError)


def test_a_run_counts_from_its_begin(going: Scenario) -> None:
    """Usage before a run started does not count for its budget."""
    going.given(ran(5.0), began(f.Budgets(cost_usd=1.0, tokens=100, iterations=2)))
    assert of(going, b.COST).spent == "0"
    going.given(f.IterationStarted(1), ran(0.25))
    assert (of(going, b.COST).spent, of(going, TOKENS).spent) == ("0.25", "11")
    assert of(going, b.ITERATIONS).left == "1"
    work = next_action(going.sprint, now=START)
    assert stop_by_budget(going.sprint, work, START, of=b.OF_RUN) is None
    going.given(f.IterationStarted(2))
    stop = stop_by_budget(going.sprint, work, START, of=b.OF_RUN)
    assert stop is not None
    assert (stop.because, stop.hint) == (
        actions.LIMIT,
        "use `sprintlog run --budget-cost 1 --budget-tokens 100 --budget-iterations 2 -- "
        "agent` to continue with the same budget again",
    )


def test_a_rollback_refunds_nothing(going: Scenario) -> None:
    """Discarded iterations, money and tokens count as spent."""
    going.given(
        began(f.Budgets(iterations=1, cost_usd=9.0)), f.BudgetsSet(f.Budgets(cost_usd=9.0))
    )
    going.given(f.IterationStarted(1), ran(0.25))
    going.do(RollBack(to=3, is_inside_append=False))
    assert of(going, b.ITERATIONS).is_spent
    assert of(going, b.COST).spent == of(going, b.COST, b.OF_SPRINT).spent == "0.25"


def test_time_is_that_of_the_wall(going: Scenario) -> None:
    """A run's time continues until its end; a sprint's time is the sum of its runs."""
    going.given(began(f.Budgets(seconds=3600)), f.BudgetsSet(f.Budgets(seconds=9000)))
    one = of(going, b.TIME, now=LATER)
    assert (one.spent, one.percent) == ("5400", 150)
    assert b.said(one) == "time 1:30:00 of 1:00:00 in this run, 0:30:00 too much"
    going.at(LATER).do(FinishRun("r", "budget", 25))
    assert of(going, b.TIME, b.OF_SPRINT, now="2026-01-16T00:00:00Z").spent == "5400"
    going.given(began(run="s", since=LATER))
    assert of(going, b.TIME, b.OF_SPRINT, now="2026-01-15T11:30:00Z").spent == "9000"


def test_a_clock_that_goes_back_takes_nothing_away(going: Scenario) -> None:
    """A run that seems to end before its start took no time."""
    going.given(began(f.Budgets(seconds=60), since=LATER))
    assert of(going, b.TIME, now=START).spent == "0"
    going.at(START).do(FinishRun("r", "done", 0))
    ended = going.sprint.knowledge.loops.ended
    assert ended is not None
    assert ended.spent.duration_ms == 0


def test_failures_in_a_row(going: Scenario) -> None:
    """A success resets the count; a wait does not count; each run starts at 0."""
    going.given(began(f.Budgets(failures=2)), ran(0.1, "failed"), ran(0.1))
    going.given(ran(0.1, "failed"))
    assert of(going, b.FAILURES).spent == "1"
    going.given(ran(0.1, "failed"))
    assert of(going, b.FAILURES).is_spent
    stop = stop_by_budget(going.sprint, actions.Action(actions.WAIT), START, of=b.OF_RUN)
    assert stop is not None
    assert stop.why == "the budget is spent: failures in a row 2 of 2 in this run"
    going.given(began(f.Budgets(failures=2), run="s"))
    assert of(going, b.FAILURES).spent == "0"


def test_a_wait_is_no_failure(going: Scenario) -> None:
    """A wait for a limit counts neither as a failure nor as a success."""
    going.given(began(f.Budgets(failures=2)), ran(0.1, "failed"))
    going.given(ran(None, "failed", limit=f.Limit("usage-limit")))
    assert of(going, b.FAILURES).spent == "1"


def test_a_warning_is_given_once(going: Scenario) -> None:
    """At 80 % of a budget one event warns; a changed limit is a new budget."""
    going.given(began(f.Budgets(cost_usd=1.0)), f.BudgetsSet(f.Budgets(tokens=25)))
    going.given(ran(0.79))
    going.when(b.WarnOfBudgets()).then()
    going.given(ran(0.01))
    going.do(b.WarnOfBudgets())
    warned = going.decided
    assert warned == [
        f.BudgetWarned("cost", "run", 0.8, 1.0),
        f.BudgetWarned("tokens", "sprint", 22.0, 25.0),
    ]
    going.when(b.WarnOfBudgets()).then()
    going.do(b.ChangeBudgets({"tokens": 22}))
    # The stop already reports the budget.
    going.when(b.WarnOfBudgets()).then()
    going.do(b.ChangeBudgets({"tokens": 26}))
    going.when(b.WarnOfBudgets()).then(f.BudgetWarned("tokens", "sprint", 22.0, 26.0))
    again = unpack(pack(going.sprint))
    assert b.to_warn_of(again, START) == []


def test_an_agent_without_figures_keeps_no_budget(going: Scenario) -> None:
    """A success without a cost stops a budget of money; a killed run does not."""
    going.given(began(f.Budgets(cost_usd=1.0)), ran(None, "failed"))
    work = next_action(going.sprint, now=START)
    assert stop_by_budget(going.sprint, work, START, of=b.OF_RUN) is None
    assert of(going, b.COST).unknown == 1
    going.given(ran(None))
    stop = stop_by_budget(going.sprint, work, START, of=b.OF_RUN)
    assert stop is not None
    assert stop.because == actions.BUDGET
    assert "does not report its cost" in str(stop.why)
    assert "--price" in str(stop.hint)
    going.given(began(f.Budgets(cost_usd=1.0), run="s"))
    assert stop_by_budget(going.sprint, work, START, of=b.OF_RUN) is None


def test_an_agent_that_was_cut_short_is_unknown(going: Scenario) -> None:
    """The usage of an agent killed with its loop is unknown, never 0."""
    going.given(began(f.Budgets(cost_usd=1.0)), f.IterationStarted(1, phase="a"))
    going.given(f.PhaseStarted("a"))
    going.do(LoseRun("r", LATER, True))
    ended = going.sprint.knowledge.loops.ended
    assert ended is not None
    assert (ended.because, ended.cut_short, ended.last_seen) == ("lost", True, LATER)
    assert of(going, b.COST).unknown == 1
    going.when(LoseRun("r", LATER)).then()


def test_a_price_stands_for_what_is_not_said() -> None:
    """Tokens have the exact price per million; a stated cost is not computed."""
    price = price_of("3/15")
    used = Usage(input_tokens=1_000, output_tokens=100, cache_read_tokens=10)
    told = priced(used, price)
    assert told is not None
    assert told.cost_usd == 0.00453
    assert priced(used, price_of("3/15/0.3")).cost_usd == 0.004503  # type: ignore[union-attr]
    assert priced(Usage(cost_usd=1.0), price) == Usage(cost_usd=1.0)
    assert priced(Usage(turns=1), price) == Usage(turns=1)
    assert priced(None, price) is None


@pytest.mark.parametrize("text", ["", "3", "3/x", "-1/2", "1/2/3/4", "nan/1", "1e9/1"])
def test_a_senseless_price_is_refused(text: str) -> None:
    """A price is two or three amounts."""
    with pytest.raises(RefusedError, match="IN/OUT"):
        price_of(text)


def test_a_run_that_another_one_followed_is_over(running: Any) -> None:
    """The end of an earlier run does not affect a later one."""
    scenario: Scenario = running(simple("a"))
    scenario.given(began(), began(run="s"), f.RunEnded("r", "done", 0))
    loops = scenario.sprint.knowledge.loops
    assert loops.open is not None
    assert loops.open.run == "s"


def test_a_begin_says_who_and_with_what() -> None:
    """The start of a run needs a sprint, and has a bounded command."""
    assert Scenario().when(BeginRun("r", "box", 7, "1", "b")).refused is not None
    sprint = Sprint("s")
    assert b.standings(sprint, START, of=b.OF_RUN) == []


def test_counts_stay_within_bounds(going: Scenario) -> None:
    """Whatever an agent states, sums stay within bounds, and negatives are ignored."""
    most = 2**63 - 1
    huge = Usage(input_tokens=most, output_tokens=most, cost_usd=1e300)
    odd = Usage(input_tokens=-5, output_tokens=-5, cost_usd=-7.0)
    for used in (huge, huge, odd):
        going.given(f.AgentRan("a", "completed", usage=used))
    spent = unpack(pack(going.sprint)).knowledge.spent
    assert (spent.input_tokens, spent.cost) == (most, "2" + "0" * 300)
