"""A claim that the goal is reached is a fact; the evidence decides whether it counts."""

from typing import Any

import pytest

from sprintlog.engine.judging import events as i
from sprintlog.engine.judging.loop_rules import LoopRules, MeasureRules
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.agent.prompt import Telling, handed
from sprintlog.engine.sprint.agent.runs import EndTurn, StartTurn
from sprintlog.engine.sprint.answers.verdict import Turn
from sprintlog.engine.sprint.events import goal as r
from sprintlog.engine.sprint.iterations.claims import DecideClaim, RecordReview
from sprintlog.engine.sprint.iterations.follow_up import Do, due
from sprintlog.engine.sprint.iterations.goal import CompleteGoal
from sprintlog.engine.sprint.iterations.loop import (
    EndIteration,
    EndWrapped,
    StartIteration,
    StartWrapped,
)
from sprintlog.engine.sprint.phases.lifecycle import ReopenSprint
from sprintlog.engine.sprint.state.completion import goal_standing

from ..conftest import Scenario
from ..goals import begun, goal
from ..loop.test_next import NOW

CLAIM = Turn("completed", summary="All 25 tests pass", is_goal=True)
RULES = i.RulesSet(loop=LoopRules(MeasureRules(runs=("check",))))


def claimed(rules: i.RulesSet = RULES, *, tests_before: int = 25) -> Scenario:
    """Return a measured loop whose first iteration ended with a claim.

    `tests_before` is the baseline's number of tests; it states none if the number is 0.
    """
    tests = i.Metrics(test_count=tests_before, tests_passed=1)
    before = i.BaselineCaptured(tests if tests_before else i.Metrics())
    scenario = begun(goal(), rules, before).do(StartTurn())
    ran = f.AgentRan("", "completed", iteration=1)
    return scenario.do(EndTurn(ran=ran, verdict=CLAIM))


def measured(
    number: int = 1,
    *,
    code: int = 0,
    timed_out: bool = False,
    altered: tuple[str, ...] = (),
    altered_measure: bool = False,
    **metrics: Any,
) -> i.IterationMeasured:
    """Return a measurement by one command."""
    runs = (i.MeasuringRun("check", code, timed_out, output_sha256="d1"),)
    return i.IterationMeasured(
        number,
        i.Metrics(**metrics),
        runs=runs,
        altered=altered,
        altered_measure=altered_measure,
    )


def decision(event: Event, rules: i.RulesSet = RULES) -> list[Event]:
    """Return the decision on the claim after the given result of its measurement."""
    return claimed(rules).given(event).when(DecideClaim()).decided or []


PASS: dict[str, Any] = {"test_count": 25, "tests_passed": 25}
AGREES: list[tuple[Event, str]] = [
    (measured(**PASS), "25 of 25 tests pass"),
    (measured(test_count=26, tests_passed=20, tests_skipped=6), "20 of 26 tests pass"),
    (measured(build_status="success"), "the measure exited with 0"),
]
LOST = "the measure no longer states the figures that it stated before"
REFUTES: list[tuple[Event, str]] = [
    (measured(test_count=25, tests_passed=3), "3 of 25 tests pass"),
    (measured(code=1, **PASS), "25 of 25 tests pass, but the measure exited with 1"),
    (measured(timed_out=True, **PASS), "the measure timed out"),
    (
        measured(test_count=0, tests_passed=0),
        "0 of 0 tests pass, and 25 tests ran before the first iteration",
    ),
    (measured(test_count=25, tests_passed=0, tests_skipped=25), "0 of 25 tests pass"),
    (
        measured(test_count=20, tests_passed=20),
        "20 of 20 tests pass, and 25 tests ran before the first iteration",
    ),
    (measured(code=2, build_status="failed"), "the measure exited with 2"),
    (measured(build_status="success"), LOST),
    (measured(coverage_percentage=100.0), LOST),
    (
        i.MeasurementFailed(1, "check: timed out"),
        "iteration 1 could not be measured: check: timed out",
    ),
]
PROVES_NOTHING: list[Event] = [
    measured(altered=("src/a.py",), **PASS),
    i.IterationMeasured(1, i.Metrics(**PASS)),
    i.IterationMeasured(1, i.Metrics(), score=1.0),
]
"""Measurements after a baseline with tests."""


@pytest.mark.parametrize(("event", "reason"), AGREES)
def test_a_claim_counts_if_the_measure_agrees(event: Event, reason: str) -> None:
    """A successful measure accepts the claim, and the goal is reached, verified."""
    scenario = claimed(tests_before=25 * ("tests" in reason)).given(event)
    version, claim = scenario.sprint.version, (1, CLAIM.summary)
    scenario.when(DecideClaim()).then(
        r.ClaimAccepted(1, reason, (version,), ("d1",)),
        r.GoalCompleted(*claim, (), "answer"),
    )
    assert goal_standing(scenario.go().sprint.plan) == f"reached, verified: {reason}"


@pytest.mark.parametrize(("event", "reason"), REFUTES)
def test_a_claim_is_refused_if_the_measure_disagrees(event: Event, reason: str) -> None:
    """A refused claim leaves the sprint in progress and `ralph-exit` unchanged."""
    scenario = claimed().given(event)
    scenario.do(DecideClaim())
    assert scenario.status == "in-progress"
    assert scenario.document["ralph-exit"]["detected-at"] is None
    assert goal_standing(scenario.sprint.plan) == f"claimed, refused: {reason}"


@pytest.mark.parametrize("event", PROVES_NOTHING)
def test_a_claim_without_evidence_is_shown_as_such(event: Event) -> None:
    """Without evidence the claim ends the loop, but nothing calls it verified."""
    (done,) = decision(event)
    assert isinstance(done, r.GoalCompleted)
    scenario = claimed().given(event, done)
    assert goal_standing(scenario.sprint.plan) == "claimed by the agent, not verified"


def test_nothing_is_decided_before_the_measurement() -> None:
    """The order is claim, measure, decide, also after a kill between two steps."""
    scenario = claimed()
    assert scenario.sprint.plan.last.claim == r.GoalClaimed(1, CLAIM.summary, "answer")
    assert scenario.status == "in-progress"
    step = due(scenario.sprint)
    assert step is not None
    assert step.do is Do.MEASURE
    scenario.given(measured(**PASS))
    step = due(scenario.sprint)
    assert step is not None
    assert step.do is Do.DECIDE


def test_without_a_measure_a_claim_completes_the_sprint_unverified() -> None:
    """A loop that measures nothing ends by the agent's claim, which is shown as such."""
    scenario = begun().do(StartTurn())
    ran = f.AgentRan("", "completed", iteration=1)
    scenario.when(EndTurn(ran=ran, verdict=CLAIM)).then(
        ran,
        f.IterationEnded(1, CLAIM.summary),
        r.GoalClaimed(1, CLAIM.summary, "answer"),
        r.GoalCompleted(1, CLAIM.summary, (), "answer"),
    )


def refuse(scenario: Scenario, number: int) -> Scenario:
    """Refuse the claim of an iteration."""
    return scenario.given(measured(number, test_count=25, tests_passed=number)).do(
        DecideClaim()
    )


def test_the_third_refusal_in_a_row_needs_a_person() -> None:
    """After three refused claims, however many iterations lie between, a person decides."""
    scenario = refuse(claimed(), 1)
    for number in (2, 3):
        assert scenario.status == "in-progress"
        scenario.do(StartTurn())
        ran = f.AgentRan("", "completed", iteration=number)
        scenario.do(EndTurn(ran=ran, verdict=CLAIM))
        refuse(scenario, number)
    assert scenario.status == "needs-human"


def test_the_next_prompt_begins_with_the_refusal() -> None:
    """The prompt names the claim and the result of the measure first."""
    advice = i.RecommendationGiven(1, "continue", "go on", 1.0)
    sprint = refuse(claimed(), 1).given(advice).sprint
    told = str(handed(sprint, next_action(sprint, now=NOW), Telling()).prompt)
    assert told.startswith("# The claim of iteration 1 was refused\n\n")
    assert "reached: All 25 tests pass\n" in told
    assert "1 of 25 tests pass\n" in told
    assert "that did not count" not in told


@pytest.mark.parametrize("source", ["agent", "loop"])
def test_a_command_claims_like_an_answer(source: str) -> None:
    """`goal complete` by an agent or its loop waits for the measurement as well."""
    scenario = begun(goal(), RULES).do(StartIteration())
    scenario.given(i.BaselineCaptured(i.Metrics(test_count=25, tests_passed=1)))
    scenario.when(CompleteGoal("x", source)).then(
        f.IterationEnded(1), r.GoalClaimed(1, "x", source)
    )
    refuse(scenario.go(), 1)
    assert scenario.status == "in-progress"


def test_a_person_may_know_more_than_the_measure() -> None:
    """A person completes the sprint against the measure, which then is not verified."""
    scenario = begun(goal(), RULES).do(StartIteration()).do(EndIteration())
    scenario.given(measured(test_count=25, tests_passed=3)).do(CompleteGoal("x"))
    assert scenario.status == "completed"
    standing = goal_standing(scenario.sprint.plan)
    assert standing == "reached, according to a person; not verified"
    scenario.do(ReopenSprint())
    assert goal_standing(scenario.sprint.plan) == "not reached"


def test_a_person_waits_for_nothing() -> None:
    """Neither a measurement by rule nor a reviewer delays a person's decision."""
    rules = LoopRules(MeasureRules(runs=("check",)), review="ask")
    scenario = begun(goal(), i.RulesSet(loop=rules)).do(StartIteration())
    scenario.do(CompleteGoal("x"))
    assert scenario.status == "completed"


def test_a_persons_claim_is_verified_if_the_measure_agrees() -> None:
    """The evidence for a person's claim is recorded like that for an agent's."""
    scenario = begun(goal(), RULES).do(StartIteration()).do(EndIteration())
    scenario.given(measured(**PASS)).do(CompleteGoal("x"))
    standing = goal_standing(scenario.sprint.plan)
    assert standing == "reached, verified: 25 of 25 tests pass"


def test_a_claim_lapses_with_the_next_iteration() -> None:
    """Evidence of a later iteration does not count for an earlier claim."""
    scenario = claimed().do(StartIteration()).do(EndIteration())
    scenario.given(measured(2, **PASS))
    scenario.when(DecideClaim()).then_nothing()


def test_a_claim_is_refused_if_the_measure_was_changed() -> None:
    """Passing tests prove nothing if the iteration changed them, until a person accepts."""
    files = (i.ChangedInstrument("test_a.py", removed=2),)
    changed = i.MeasurementChanged(1, 0, "d0", files, 1)
    scenario = claimed().given(changed, measured(**PASS)).do(DecideClaim())
    standing = goal_standing(scenario.sprint.plan)
    assert standing.startswith("claimed, refused: iteration 1 changed its measure: test_a")
    assert "sprintlog iteration accept 1 --reason TEXT" in standing


UNTIL = i.RulesSet(loop=LoopRules(MeasureRules(runs=("check",)), until="tests_failed=0"))


def test_with_a_condition_only_the_condition_counts() -> None:
    """The condition replaces the default rule, unless a test changed meanwhile."""
    few = measured(test_count=2, tests_passed=2, code=1)
    assert isinstance(decision(few, UNTIL)[0], r.ClaimAccepted)
    altered = measured(altered=("out.txt",), **PASS)
    assert isinstance(decision(altered, UNTIL)[0], r.ClaimAccepted)
    unknown = (measured(coverage_percentage=100.0), *PROVES_NOTHING[1:])
    altered = measured(altered=("test_a.py",), altered_measure=True, **PASS)
    for event in (*unknown, altered, measured(test_count=0, tests_passed=0)):
        assert isinstance(decision(event, UNTIL)[0], r.ClaimRefused), event


@pytest.mark.parametrize(("text", "is_met"), [("the loop in x", True), ("Win", False)])
def test_a_condition_ends_a_loop_without_a_goal(text: str, is_met: bool) -> None:
    """Without an explicit goal the condition is the goal; otherwise it awaits a claim."""
    plan = {**goal(), "goal": text}
    scenario = begun(plan, UNTIL).do(StartIteration()).do(EndIteration())
    scenario.given(measured(**PASS)).do(DecideClaim())
    assert (scenario.status == "completed") == is_met


REVIEW = i.RulesSet(loop=LoopRules(MeasureRules(runs=("check",)), review="ask"))


@pytest.mark.parametrize("accepts", [True, False])
@pytest.mark.parametrize("passed", [25, 3])
def test_a_review_never_outranks_the_measure(accepts: bool, passed: int) -> None:
    """A reviewer can refuse what the measure confirms, and never the reverse."""
    scenario = claimed(REVIEW).given(measured(test_count=25, tests_passed=passed))
    scenario.do(DecideClaim())
    assert scenario.status == "in-progress"
    is_refused = isinstance(scenario.sprint.plan.last.decided, r.ClaimRefused)
    assert is_refused == (passed == 3)
    scenario.do(RecordReview(accepts, "so", "ask", 0)).do(DecideClaim())
    is_reached = accepts and passed == 25
    assert (scenario.status == "completed") == is_reached


def test_a_refused_condition_is_not_reviewed_again() -> None:
    """A met condition is claimed once per iteration, even if a reviewer refuses it."""
    rules = LoopRules(MeasureRules(runs=("check",)), until="tests_failed=0", review="ask")
    plan = {**goal(), "goal": "the loop in x"}
    scenario = begun(plan, i.RulesSet(loop=rules)).do(StartIteration()).do(EndIteration())
    scenario.given(measured(**PASS)).do(DecideClaim())
    scenario.do(RecordReview(False, "no", "ask", 0)).do(DecideClaim())
    assert isinstance(scenario.sprint.plan.last.decided, r.ClaimRefused)
    scenario.when(DecideClaim()).then_nothing()


def wrapped(summary: str | None, event: Event | None = None) -> Scenario:
    """Return a wrapped iteration that ended with a claim, and its measurement."""
    scenario = begun({**goal(), "goal": "the loop in x"}).do(StartWrapped())
    ran = f.AgentRan("", "completed", iteration=1)
    scenario.do(EndWrapped(ran, claim=summary))
    return (scenario.given(event) if event else scenario).do(DecideClaim())


def test_a_wrapped_loop_completes_only_by_evidence() -> None:
    """The loop of another program goes on after a claim that nothing confirms."""
    assert wrapped("x", measured(**PASS)).status == "completed"
    refuted = wrapped("x", measured(test_count=25, tests_passed=3))
    assert goal_standing(refuted.sprint.plan) == "claimed, refused: 3 of 25 tests pass"
    for event in (None, *PROVES_NOTHING):
        scenario = wrapped("x", event)
        assert scenario.status == "in-progress"
        assert due(scenario.sprint) is None
    standing = goal_standing(wrapped("x").sprint.plan)
    assert standing == "claimed in iteration 1, not verified"
    assert wrapped(None, measured(**PASS)).status == "in-progress"


def test_a_command_typed_in_a_wrapped_run_is_decided_at_its_end() -> None:
    """While the wrapped agent works, its claim is only recorded."""
    scenario = begun().do(StartWrapped())
    scenario.when(CompleteGoal("x", "agent")).then(r.GoalClaimed(1, "x", "wrapped"))
    scenario.go().when(DecideClaim()).then_nothing()


def test_an_older_claim_reads_as_refused() -> None:
    """A claim of version 1 always has a reason why it did not count."""
    scenario = begun().given(r.GoalClaimed(1, "x", reason="iteration 1 of at least 2"))
    standing = goal_standing(scenario.sprint.plan)
    assert standing == "claimed, refused: iteration 1 of at least 2"
