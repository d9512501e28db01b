"""A goal: setting it, claiming it too early, reaching it, and reopening it."""

from typing import Any

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.runs import RecordRun
from sprintlog.engine.sprint.events import goal as r
from sprintlog.engine.sprint.iterations.goal import CompleteGoal, FailIteration, SetGoal
from sprintlog.engine.sprint.iterations.loop import StartIteration
from sprintlog.engine.sprint.phases.lifecycle import (
    CompleteSprint,
    NeedHuman,
    ReopenSprint,
    ResumeSprint,
)
from sprintlog.engine.sprint.plan.goal_steps import AddStep
from sprintlog.engine.sprint.state.document_fields import NOT_LEFT, ralph_fields

from ..conftest import Scenario, simple
from ..goals import begun, goal

AT = "2026-01-15T09:00:00Z"


def test_brings_a_sprint_into_ralph_mode(given: Any) -> None:
    """The fields of Ralph mode precede phases, pointer and figures."""
    scenario: Scenario = given(simple("a")).do(SetGoal(goal="Win"))
    document = scenario.document
    fields = list(ralph_fields("Win"))
    assert list(document) == ["sprint-id", "status", *fields, "phases", "current", "stats"]
    assert document["ralph"] == {"idle-threshold": 3}
    assert document["ralph-exit"] == NOT_LEFT
    assert (document["mode"], document["goal"]) == ("ralph", "Win")


def test_sets_numbers_with_the_goal() -> None:
    """Thresholds and limits are set with the goal; setting them again records nothing."""
    given = {"idle_threshold": 2, "min_iterations": 4, "max_iterations": 9}
    scenario = begun().when(SetGoal(goal="More", **given)).then(r.GoalSet("More", 2, 4, 9))
    assert scenario.document["ralph"] == {"idle-threshold": 2, "min-iterations": 4}
    assert scenario.document["stats"]["max-iterations"] == 9
    scenario.when(SetGoal(goal="More", **given)).then_nothing()
    scenario.when(SetGoal(goal="More")).then_nothing()
    scenario.when(SetGoal(goal="Less")).then(r.GoalSet("Less"))
    assert scenario.document["ralph"] == {"idle-threshold": 2, "min-iterations": 4}


@pytest.mark.parametrize("field", ["idle-threshold", "min-iterations", "max-iterations"])
def test_refuses_numbers_below_one(field: str) -> None:
    """A number that means nothing is refused by name, and so is an empty goal."""
    command: dict[str, Any] = {field.replace("-", "_"): 0}
    begun().when(SetGoal(goal="x", **command)).then_refused(field=field)
    begun().when(SetGoal(goal=" ")).then_refused(field="goal")


def test_reaching_the_goal_completes_the_sprint() -> None:
    """`ralph-exit` is filled, the sprint is completed, and open steps are listed."""
    scenario = begun().do(StartIteration()).do(AddStep(prompt="x"))
    scenario.at("2026-01-15T10:00:00Z").when(CompleteGoal(summary='All "done": yes'))
    scenario.then(
        f.IterationEnded(1), r.GoalCompleted(1, 'All "done": yes', ("step-0",), "person")
    )
    document = scenario.document
    assert document["ralph-exit"] == {
        "detected-at": "2026-01-15T10:00:00Z",
        "iteration": 1,
        "final-summary": 'All "done": yes',
    }
    assert (document["status"], document["stats"]["completed-at"]) == (
        "completed",
        "2026-01-15T10:00:00Z",
    )
    scenario.when(CompleteGoal(summary='All "done": yes')).then_nothing()
    scenario.when(CompleteGoal(summary="otherwise")).then_refused(state="completed")


def test_reopening_empties_the_exit() -> None:
    """A sprint that continues has not reached its goal."""
    scenario = begun().do(CompleteGoal(summary="x")).do(ReopenSprint())
    assert scenario.document["ralph-exit"] == NOT_LEFT
    assert scenario.status == "in-progress"


def test_an_early_claim_is_recorded_and_not_obeyed() -> None:
    """Before `min-iterations` the goal is claimed; from that iteration on it counts."""
    scenario = begun(goal(min_iterations=2)).do(StartIteration())
    scenario.when(CompleteGoal(summary="x")).then(
        f.IterationEnded(1), r.GoalClaimed(1, "x", "person", "iteration 1 of at least 2")
    )
    scenario.when(CompleteGoal(summary="x")).then_nothing()
    assert (scenario.status, scenario.document["ralph-exit"]) == ("in-progress", NOT_LEFT)
    scenario.do(StartIteration()).do(CompleteGoal(summary="x"))
    assert scenario.status == "completed"


def test_phases_come_before_the_goal(given: Any) -> None:
    """A goal is not reached while a phase of the plan is open."""
    scenario: Scenario = begun({**goal(), **simple("a")})
    scenario.when(CompleteGoal()).then_refused(phase="a")


def test_a_claim_in_a_pause_is_kept() -> None:
    """An agent that finishes while the sprint is paused ends its iteration."""
    scenario = begun().do(StartIteration()).given(f.SprintPaused())
    claim = r.GoalClaimed(1, "x", "person", "the sprint is paused")
    scenario.when(CompleteGoal(summary="x")).then(f.IterationEnded(1), claim)
    scenario.when(CompleteGoal(summary="x")).then_nothing()
    scenario.when(CompleteGoal(summary="y")).then_refused(state="paused")
    scenario.do(ResumeSprint()).do(CompleteGoal(summary="x"))
    assert scenario.status == "completed"


def test_no_sprint_is_closed_over_its_goal() -> None:
    """Open steps, `min-iterations` and the goal prevent completion; the remedy is named."""
    scenario = begun(goal(min_iterations=5)).do(StartIteration()).do(AddStep(prompt="x"))
    scenario.when(CompleteSprint()).then_refused(containing="that has not been reached")
    assert scenario.refused is not None
    assert "`sprintlog goal complete`" in str(scenario.refused.hint)
    assert "--abandon-goal --reason" in str(scenario.refused.hint)


def test_a_goal_can_be_given_up() -> None:
    """Giving up requires a reason, stored in `ralph-exit`, and ends the iteration."""
    scenario = begun().do(StartIteration()).at("2026-01-15T10:00:00Z")
    scenario.when(CompleteSprint(abandons_goal=True)).then_refused(field="reason")
    scenario.when(CompleteSprint(reason="x")).then_refused(field="reason")
    command: dict[str, Any] = {"abandons_goal": True, "reason": "no money"}
    scenario.when(CompleteSprint(**command)).then(
        f.IterationEnded(1), f.SprintCompleted(None, True, "no money")
    )
    assert scenario.status == "completed"
    assert scenario.document["ralph-exit"] == {
        "detected-at": "2026-01-15T10:00:00Z",
        "iteration": 1,
        "final-summary": "abandoned: no money",
    }
    scenario.when(CompleteSprint(**command)).then_nothing()


def test_only_a_goal_can_be_given_up(running: Any) -> None:
    """A sprint without a goal is completed normally."""
    scenario: Scenario = running(simple("a"), f.PhaseSkipped("a"))
    scenario.when(CompleteSprint(abandons_goal=True, reason="x"))
    scenario.then_refused(containing="has no goal")


def test_a_breakpoint_does_not_end_the_goal() -> None:
    """After the last phase's breakpoint, a resume continues towards the goal."""
    plan = {**goal(), **simple("a", **{"break": True})}
    scenario = begun(plan, f.PhaseSkipped("a"), f.BreakpointReached("a"))
    scenario.when(ResumeSprint()).then(f.SprintResumed())


def test_a_goal_that_another_tool_reached_is_closed() -> None:
    """An imported document with a filled `ralph-exit` has reached its goal."""
    scenario = begun({**goal(), "ralph-exit": {"detected-at": AT, "iteration": 2}})
    scenario.do(CompleteSprint())
    assert scenario.status == "completed"


def test_the_goal_needs_one(running: Any) -> None:
    """A sprint in standard mode has no goal to reach."""
    running(simple("a")).when(CompleteGoal()).then_refused(containing="has no goal")


def test_a_person_may_be_needed_for_the_goal() -> None:
    """Without a leaf, the sprint itself records why a person is needed."""
    scenario = begun().when(NeedHuman(reason="a key", details="which?"))
    scenario.then(f.HumanNeeded("", "a key", "which?"))
    needed = {"reason": "a key", "details": "which?"}
    assert (scenario.status, scenario.document["human-needed"]) == ("needs-human", needed)
    scenario.when(NeedHuman(reason="a key", details="which?")).then_nothing()
    scenario.do(ResumeSprint(by="Ada", why="given"))
    assert "human-needed" not in scenario.document


def test_a_failed_run_waits_or_blocks() -> None:
    """The policy allows another attempt in the same iteration, or blocks the sprint."""
    plan = {**goal(), "retry": {"maxAttempts": 1, "backoffMs": [1000]}}
    scenario = begun(plan).do(StartIteration())
    scenario.when(FailIteration(error="429", category="rate-limit"), at=AT).then(
        r.IterationFailed(1, "429", "rate-limit", "2026-01-15T09:00:01Z")
    )
    scenario.when(FailIteration(error="429", category="rate-limit"), at=AT).then(
        r.IterationFailed(1, "429", "rate-limit"),
        f.SprintBlocked("iteration 1 failed 2 times in a row: 429"),
    )
    scenario.when(FailIteration(error="429", category="rate-limit"), at=AT).then_nothing()


def test_failures_of_an_unknown_kind_are_survived_with_growing_pauses() -> None:
    """Three consecutive failures are tolerated; a person or a success resets the count."""
    scenario = begun().do(StartIteration())
    for pause in ("09:00:10Z", "09:01:00Z", "09:05:00Z"):
        scenario.when(FailIteration(error="x"), at=AT).then(
            r.IterationFailed(1, "x", "logic", f"2026-01-15T{pause}")
        )
    scenario.do(FailIteration(error="x"), at=AT)
    assert scenario.status == "blocked"
    scenario.do(ResumeSprint(by="Ada", why="y")).do(FailIteration(error="z"), at=AT)
    assert scenario.status == "in-progress"


def test_only_what_is_under_way_fails() -> None:
    """An iteration that has not started, or has ended, cannot fail."""
    begun().when(FailIteration(error="x"), at=AT).then_refused(
        containing="cannot fail iteration: none is under way"
    )
    scenario = begun(None, f.IterationStarted(1))
    scenario.when(FailIteration(error="x", number=2), at=AT).then_refused(
        containing="cannot fail iteration 2: 1 is under way"
    )


def test_counts_what_agents_took() -> None:
    """The tokens, cost and time of all runs are added, including discarded ones."""
    usage = f.Usage(input_tokens=7, cost_usd=0.25)
    ran = f.AgentRan("", "completed", duration_ms=5, usage=usage, iteration=1)
    scenario = begun().do(RecordRun(ran=ran)).do(RecordRun(ran=ran))
    scenario.given(f.RolledBack(2), f.AgentRan("", "failed"))
    spent = scenario.sprint.knowledge.spent
    assert (spent.runs, spent.input_tokens, spent.cost_usd) == (3, 14, 0.5)
    assert (spent.duration_ms, spent.output_tokens) == (10, None)


def test_a_run_for_a_goal_needs_one(running: Any) -> None:
    """In standard mode a run names the phase it worked on."""
    ran = f.AgentRan("", "completed")
    with pytest.raises(RefusedError, match="has no goal"):
        RecordRun(ran=ran).decide(running(simple("a")).sprint, AT)
