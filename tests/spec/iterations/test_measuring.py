"""Measuring the baseline and iterations of a sprint (ITR-001, ITR-010, ITR-021)."""

from typing import Any

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.judging import events as i
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.commands import command_for, command_of, to_event
from sprintlog.engine.sprint.iterations.decisions import (
    ApplyArtifacts,
    GiveRecommendation,
    SelectBest,
    SetRules,
)
from sprintlog.engine.sprint.iterations.loop import StartIteration
from sprintlog.engine.sprint.iterations.measurement import (
    CaptureBaseline,
    EndMeasuredIteration,
    MeasureIteration,
    current_iteration,
    last_measured,
)
from sprintlog.engine.sprint.iterations.rollback import RollBack, Undo

from ..conftest import Decision, Scenario, simple

M = {"test_count": 9, "tests_passed": 7}
MORE = {"test_count": 9, "tests_passed": 8}
STORED = i.Metrics(9, 7)


@pytest.fixture
def loop(running: Any) -> Scenario:
    """Return a sprint whose baseline and first iteration were measured."""
    scenario: Scenario = running(simple("a"))
    scenario.do(CaptureBaseline(metrics=M)).do(StartIteration())
    return scenario.do(MeasureIteration(metrics=M))


def previous(scenario: Scenario) -> int | None:
    """Return the base of the iteration measured last."""
    last = scenario.sprint.knowledge.tracker.last
    assert last is not None
    return last.previous


def test_captures_the_baseline_once(running: Any) -> None:
    """Iteration 0 is measured once; the same result is accepted, another is refused."""
    scenario: Scenario = running(simple("a"))
    scenario.when(CaptureBaseline(metrics=M, loop_id="ralph-001"))
    scenario.then(i.BaselineCaptured(STORED, "ralph-001"))
    scenario.when(CaptureBaseline(metrics=M, loop_id="ralph-001")).then_nothing()
    scenario.when(CaptureBaseline(metrics=MORE)).then_refused(
        containing="the baseline is already measured"
    )


def test_captures_no_baseline_afterwards(running: Any) -> None:
    """The baseline precedes any change, so it cannot follow a measured iteration."""
    scenario: Scenario = running(simple("a")).do(StartIteration())
    scenario.do(MeasureIteration(metrics=M)).when(CaptureBaseline(metrics=M))
    scenario.then_refused(containing="iteration 1 is already measured")
    assert previous(scenario) is None


@pytest.mark.parametrize("loop_id", ["", "..", "a/b", ".x", "a b", "é", "x" * 129, "a\n"])
def test_refuses_a_loop_id_that_is_no_name_of_a_folder(running: Any, loop_id: str) -> None:
    """A loop's files are in a folder of its name, so it cannot escape."""
    scenario: Scenario = running(simple("a"))
    scenario.when(CaptureBaseline(metrics=M, loop_id=loop_id))
    scenario.then_refused(field="loop_id")


def test_measures_the_latest_iteration(loop: Scenario) -> None:
    """By default it is the latest iteration, whose predecessor is determined."""
    loop.do(StartIteration()).when(MeasureIteration(metrics=MORE, score=0.5))
    loop.then(i.IterationMeasured(2, i.Metrics(9, 8), 1, 0.5))
    assert previous(loop) == 1


def test_measures_each_iteration_once(loop: Scenario) -> None:
    """The same measurement again records nothing; a different one is refused."""
    loop.when(MeasureIteration(metrics=M)).then_nothing()
    loop.when(MeasureIteration(metrics=M, number=1)).then_nothing()
    loop.when(MeasureIteration(metrics=MORE)).then_refused(
        containing="iteration 1 is already measured", iteration=1
    )


@pytest.mark.parametrize("number", [-1, 0, 2, 9])
def test_measures_only_what_was_started(loop: Scenario, number: int) -> None:
    """A number that was never started is refused."""
    loop.when(MeasureIteration(metrics=M, number=number)).then_refused(
        containing=f"iteration {number} was never started", iteration=number
    )


def test_measures_nothing_before_the_first(running: Any) -> None:
    """Without an iteration there is nothing to measure."""
    scenario: Scenario = running(simple("a"))
    scenario.when(MeasureIteration(metrics=M)).then_refused(containing="none was started")


@pytest.mark.parametrize("metrics", [{}, {"test_count": None}])
def test_refuses_nothing(loop: Scenario, metrics: dict[str, Any]) -> None:
    """A measurement without any metric or score is refused."""
    loop.do(StartIteration()).when(MeasureIteration(metrics=metrics))
    loop.then_refused(containing="nothing was measured")
    loop.when(MeasureIteration(metrics=metrics, score=0.0))
    loop.then(i.IterationMeasured(2, i.Metrics(), 1, 0.0))


@pytest.mark.parametrize("score", [-0.01, 1.01, float("nan"), float("inf")])
def test_refuses_a_score_out_of_range(loop: Scenario, score: float) -> None:
    """A given score must be between 0 and 1."""
    loop.do(StartIteration()).when(MeasureIteration(metrics=M, score=score))
    loop.then_refused(field="score")


def test_ends_and_measures_in_one_append(loop: Scenario) -> None:
    """`end` with metrics ends the iteration and prints its result; again is nothing."""
    loop.do(StartIteration()).when(EndMeasuredIteration(metrics=MORE, summary="x"))
    loop.then(f.IterationEnded(2, "x"), i.IterationMeasured(2, i.Metrics(9, 8), 1))
    loop.when(EndMeasuredIteration(metrics=MORE, summary="x")).then_nothing()


def test_goes_on_from_where_a_rollback_led(loop: Scenario) -> None:
    """After a rollback the chain follows the path: 4 was built on 1, not on 3."""
    end_of_first = loop.sprint.version
    for _ in range(2):
        loop.do(StartIteration()).do(MeasureIteration(metrics=M))
    assert previous(loop) == 2
    loop.do(RollBack(to=end_of_first, is_inside_append=False))
    assert (current_iteration(loop.sprint), last_measured_of(loop)) == (1, 1)
    loop.do(StartIteration()).do(MeasureIteration(metrics=M))
    assert (previous(loop), last_measured_of(loop)) == (1, 4)
    assert [entry.number for entry in loop.sprint.knowledge.tracker.measured] == [
        1,
        2,
        3,
        4,
    ]
    loop.do(Undo())
    assert last_measured_of(loop) == 3
    loop.do(StartIteration()).do(MeasureIteration(metrics=M))
    assert previous(loop) == 3


def test_was_built_on_what_was_measured_when_it_began(loop: Scenario) -> None:
    """A late measurement is not the basis of an iteration that started before it."""
    loop.do(StartIteration()).do(StartIteration())
    loop.do(MeasureIteration(metrics=M, number=3))
    assert previous(loop) == 1
    loop.do(MeasureIteration(metrics=M, number=2))
    assert previous(loop) == 1


def test_goes_back_to_the_baseline(loop: Scenario) -> None:
    """If a rollback leaves no measured iteration the baseline is the base."""
    loop.do(RollBack(to=3, is_inside_append=False)).do(StartIteration())
    loop.do(MeasureIteration(metrics=M))
    assert previous(loop) == 0


def test_keeps_measurements_through_a_rollback(loop: Scenario) -> None:
    """Measurements remain known, and remain the best."""
    loop.do(StartIteration()).do(MeasureIteration(metrics=MORE))
    loop.do(RollBack(to=2, is_inside_append=False))
    tracker = loop.sprint.knowledge.tracker
    assert tracker.best is not None
    assert tracker.best.number == 2
    assert last_measured_of(loop) is None


def test_keeps_what_was_answered_once(loop: Scenario) -> None:
    """The same advice or selection again records nothing new."""
    advice = i.RecommendationGiven(1, "continue", "x", 0.5)
    loop.when(GiveRecommendation(given=advice)).then(advice)
    loop.when(GiveRecommendation(given=advice)).then_nothing()
    selected = i.BestSelected(1, 1, True, 0.5, 0.5)
    loop.when(SelectBest(selected=selected)).then(selected)
    loop.when(SelectBest(selected=selected)).then_nothing()


def test_applies_what_was_selected(loop: Scenario) -> None:
    """A selected iteration's files can be copied; repeating this changes nothing."""
    command: dict[str, Any] = {"source": "a/", "destination": "b/", "files_copied": ["x"]}
    loop.when(ApplyArtifacts(**command)).then_refused(containing="was selected")
    loop.given(i.BestSelected(1, 1, True)).when(ApplyArtifacts(**command))
    loop.then(i.ArtifactsApplied("a/", "b/", ("x",)))
    loop.when(ApplyArtifacts(**command)).then_nothing()
    loop.given(i.BestSelected(1, 1, True)).when(ApplyArtifacts(**command)).go()
    assert loop.decided


def test_sets_rules_once(loop: Scenario) -> None:
    """The same rules record nothing, invalid ones are refused; rollbacks keep rules."""
    rules = i.RulesSet(thresholds=i.Thresholds(target=0.9))
    loop.when(SetRules(rules=i.RulesSet())).then_nothing()
    loop.when(SetRules(rules=rules)).then(rules)
    loop.when(SetRules(rules=rules)).then_nothing()
    bad = i.RulesSet(weights=i.Weights(validation=0.9))
    loop.when(SetRules(rules=bad)).then_refused(field="weights")
    loop.do(RollBack(to=2, is_inside_append=False))
    assert loop.sprint.knowledge.tracker.rules_at(loop.sprint.version) == rules


def last_measured_of(scenario: Scenario) -> int | None:
    """Return the iteration measured last on the path."""
    return last_measured(scenario.sprint.knowledge, scenario.sprint.version)


@pytest.mark.parametrize(
    ("tag", "data"),
    [
        (
            "recommendation-given",
            {"number": 1, "action": "stop", "reason": "x", "confidence": 0.5},
        ),
        ("best-selected", {"number": 1, "final": 1, "is_verified": True}),
    ],
)
def test_refuses_answers_as_commands(tag: str, data: dict[str, Any]) -> None:
    """Advice and selection follow from the measurements: no command requests them."""
    event = to_event(tag, data)
    with pytest.raises(RefusedError, match=f"{tag} cannot be recorded directly") as refused:
        command_of(event)
    assert refused.value.fields["command"] == tag


def test_observed_measurements_join_the_chain(loop: Scenario) -> None:
    """Another tool's measurement is based on the previously measured one."""

    def seen(number: int) -> Decision:
        event = i.IterationMeasured(number, STORED)
        return command_for(event, is_observed=True)

    loop.when(seen(7))
    loop.then(i.IterationMeasured(7, STORED, 1))
    loop.do(StartIteration()).when(seen(0))
    loop.then(i.IterationMeasured(2, STORED, 7))
    loop.when(seen(2))
    loop.then(i.IterationMeasured(2, STORED))
    assert [entry.number for entry in loop.sprint.knowledge.tracker.measured] == [1, 7, 2]


def test_takes_no_previous_from_outside() -> None:
    """The predecessor of an iteration follows from the log."""
    data = {"number": 2, "metrics": M, "previous": 1}
    with pytest.raises(RefusedError, match=r"data\.previous: follows from the log"):
        to_event("iteration-measured", data)
    assert to_event("iteration-measured", {"metrics": M}) == i.IterationMeasured(0, STORED)
