"""The limit of iterations includes all that were ever started (LOOP-032)."""

from typing import Any

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.agent.runs import EndRun, StartRun
from sprintlog.engine.sprint.answers.verdict import Verdict
from sprintlog.engine.sprint.iterations.loop import (
    NUMBER_MAX,
    EndIteration,
    EndWrapped,
    LimitIterations,
    StartIteration,
)
from sprintlog.engine.sprint.iterations.rollback import RollBack
from sprintlog.engine.sprint.phases import leaves
from sprintlog.engine.sprint.phases.lifecycle import ResumeSprint
from sprintlog.engine.sprint.state.document_fields import ITERATIONS_MAX

from ..conftest import Data, Scenario, simple
from ..goals import begun, goal, idle

NOW = "2026-01-15T10:00:00Z"


def limited(most: int, *ids: str) -> Data:
    """Return a plan of simple phases with a limit of iterations."""
    return {**simple(*ids), "stats": {"max-iterations": most}}


def because(scenario: Scenario) -> str | None:
    """Return the reason why the sprint stops now; None if it continues."""
    return next_action(scenario.sprint, now=NOW).because


def end(scenario: Scenario, phase: str, verdict: Verdict) -> Scenario:
    """End an agent's run on a leaf with the given result."""
    ran = f.AgentRan(phase, verdict.status)
    return scenario.do(EndRun(ran=ran, verdict=verdict), at=scenario.now)


def test_a_rollback_gives_none_back(running: Any) -> None:
    """Every iteration ever started counts: with a limit of four, there is no fifth."""
    scenario: Scenario = running(limited(4, "a"))
    for _ in range(4):
        scenario.do(StartIteration())
    scenario.do(RollBack(to=3, is_inside_append=False))
    assert scenario.document["stats"]["current-iteration"] == 1
    action = next_action(scenario.sprint, now=NOW)
    assert (action.because, action.why) == ("limit", "reached the limit of 4 iterations")
    scenario.when(StartIteration()).then_refused(
        containing="the limit is 4, and 4 were started", field="max-iterations"
    )


def test_a_goal_has_the_same_limit() -> None:
    """With a goal, a rollback does not free iterations either."""
    plan: Data = {**goal(), "stats": {"max-iterations": 2}}
    scenario = idle(begun(plan), 2)
    scenario.do(RollBack(to=2, is_inside_append=False))
    assert because(scenario) == "limit"
    scenario.when(StartIteration()).then_refused(command="start")


def test_past_the_limit_only_on_purpose(running: Any) -> None:
    """With `beyond_limit`, one more is started and marked; within the limit, not marked."""
    scenario: Scenario = running(limited(1, "a"))
    scenario.when(StartIteration(beyond_limit=True)).then(f.IterationStarted(1))
    scenario.when(StartIteration(number=7)).then_refused(containing="the limit is 1")
    scenario.when(StartIteration(beyond_limit=True))
    scenario.then(f.IterationStarted(2, beyond_limit=True))
    assert because(scenario) == "limit"


def test_a_higher_limit_costs_no_iteration(running: Any) -> None:
    """Raising the limit starts nothing; 0 removes it; the same limit records nothing."""
    scenario: Scenario = running(limited(1, "a")).do(StartIteration())
    scenario.when(LimitIterations(max_iterations=2)).then(f.IterationsLimited(2))
    scenario.when(LimitIterations(max_iterations=2)).then_nothing()
    assert scenario.document["stats"]["current-iteration"] == 1
    assert because(scenario) is None
    scenario.do(StartIteration())
    assert because(scenario) == "limit"
    scenario.do(LimitIterations(max_iterations=0)).do(StartIteration())
    assert because(scenario) is None


@pytest.mark.parametrize("number", [-1, NUMBER_MAX + 1])
def test_refuses_a_senseless_limit(running: Any, number: int) -> None:
    """A limit is a number of iterations, or 0 for none."""
    scenario: Scenario = running(simple("a"))
    scenario.when(LimitIterations(max_iterations=number)).then_refused(
        field="max-iterations"
    )


def test_a_goal_is_not_worked_on_for_ever() -> None:
    """A loop towards a goal has a default limit; 0 means no limit."""
    scenario = begun().given(f.IterationStarted(ITERATIONS_MAX), f.IterationEnded(100))
    assert because(scenario) == "limit"
    assert because(scenario.do(LimitIterations(max_iterations=0))) is None
    assert because(begun(None, f.IterationStarted(99), f.IterationEnded(99))) is None


def test_a_plan_ends_by_itself(running: Any) -> None:
    """Phases have no limit by default."""
    assert because(running(simple("a"), f.IterationStarted(5_000))) is None


def test_a_retry_belongs_to_its_iteration(running: Any) -> None:
    """Waiting for a limit of the agent's costs no iteration, even the last one allowed."""
    scenario: Scenario = running(limited(1, "a", "b")).do(StartRun(phase="a"))
    end(scenario, "a", Verdict("failed", error="429", category="rate-limit"))
    scenario.do(leaves.RetryPhase(phase="a"))
    assert next_action(scenario.sprint, now=NOW).do == "work"
    scenario.when(StartRun(phase="a")).then(f.PhaseStarted("a"))
    end(scenario, "a", Verdict("completed", summary="x"))
    assert scenario.decided is not None
    assert scenario.decided[-1] == f.IterationEnded(1)
    assert because(scenario) == "limit"


def test_what_a_person_resolved_goes_on_in_its_iteration(running: Any) -> None:
    """A leaf that was blocked is worked on again under the same number."""
    scenario: Scenario = running(simple("a", "b")).do(StartRun(phase="a"))
    end(scenario, "a", Verdict("failed", error="no compiler"))
    scenario.do(ResumeSprint(by="ana", why="installed")).do(leaves.RetryPhase(phase="a"))
    scenario.when(StartRun(phase="a")).then(f.PhaseStarted("a"))


def test_another_leaf_is_another_iteration(running: Any) -> None:
    """A skipped leaf passes its iteration on to no other leaf, nor does a finished one."""
    scenario: Scenario = running(simple("a", "b")).do(StartRun(phase="a"))
    scenario.do(leaves.SkipPhase(phase="a")).when(StartRun(phase="b"))
    scenario.then(f.IterationStarted(2, phase="b"), f.PhaseStarted("b"))
    end(scenario, "b", Verdict("completed")).do(leaves.ReopenPhase(phase="b"))
    scenario.when(StartRun(phase="b"))
    scenario.then(f.IterationStarted(3, phase="b"), f.PhaseStarted("b"))


def test_an_iteration_that_somebody_ended_is_left(running: Any) -> None:
    """The end of a run does not end an iteration that has ended or belongs to another."""
    scenario: Scenario = running(simple("a")).do(StartRun(phase="a")).do(EndIteration())
    end(scenario, "a", Verdict("completed"))
    assert scenario.decided == [f.AgentRan("a", "completed"), f.PhaseCompleted("a")]


def test_the_end_of_a_leafs_run_is_its_own(running: Any) -> None:
    """A command that is wrapped while a leaf is worked on leaves its iteration open."""
    started = f.IterationStarted(2, is_wrapped=True, overlapping=("1",))
    scenario: Scenario = running(simple("a")).do(StartRun(phase="a")).given(started)
    scenario.do(EndWrapped(f.AgentRan("", "completed", iteration=2)))
    end(scenario, "a", Verdict("completed"))
    assert scenario.decided is not None
    assert scenario.decided[-1] == f.IterationEnded(1)
