"""Corrections: a retracted measurement, another baseline, a person's selection."""

from typing import Any

import pytest

from sprintlog.engine.judging import events as i
from sprintlog.engine.sprint.iterations.decisions import ReplaceBaseline, RetractMeasurement
from sprintlog.engine.sprint.iterations.described import DescribeIteration
from sprintlog.engine.sprint.iterations.loop import EndIteration, StartIteration
from sprintlog.engine.sprint.iterations.measurement import (
    CaptureBaseline,
    MeasureIteration,
    unmeasured_iteration,
)
from sprintlog.engine.sprint.iterations.rollback import RollBack

from ..conftest import Scenario, simple

M = {"test_count": 9, "tests_passed": 7}
STORED = i.Metrics(9, 7)


@pytest.fixture
def loop(running: Any) -> Scenario:
    """Return a sprint whose baseline and first iteration were measured."""
    scenario: Scenario = running(simple("a"))
    scenario.do(CaptureBaseline(metrics=M)).do(StartIteration())
    return scenario.do(MeasureIteration(metrics=M)).do(EndIteration())


def test_retracts_what_was_measured(loop: Scenario) -> None:
    """The iteration then has no measurement, and may be measured again."""
    loop.when(RetractMeasurement(1, "wrong")).then(i.MeasurementRetracted(1, "wrong"))
    assert unmeasured_iteration(loop.sprint) == 1
    assert loop.sprint.knowledge.tracker.best is None
    loop.when(RetractMeasurement(1, "wrong")).then_refused(containing="cannot retract")
    loop.when(MeasureIteration(M, 1)).then(i.IterationMeasured(1, STORED, 0))


@pytest.mark.parametrize(
    "best",
    [
        i.BestAnew(2, 3, "1/2", ()),
        i.BestAnew(1, 1, "1/2", ()),
        i.BestAnew(1, 5, "a half", ()),
        i.BestAnew(1, 5, "1/0", ()),
        i.BestAnew(1, 5, "1", ("m",), parts=(("m", "x", "m", "1"),)),
    ],
)
def test_log_that_was_handed_in_names_no_wrong_best(
    loop: Scenario, best: i.BestAnew
) -> None:
    """An iteration that cannot be the best is refused: unmeasured, or without a score."""
    loop.do(StartIteration()).do(MeasureIteration(metrics=M))
    loop.given(i.MeasurementRetracted(2, "x", best))
    assert loop.sprint.knowledge.tracker.best is None


def test_is_not_taken_back_by_a_rollback(loop: Scenario) -> None:
    """A retraction is knowledge, so a rollback before it does not restore the value."""
    before = loop.sprint.version
    loop.do(RetractMeasurement(1, "wrong")).do(RollBack(before))
    assert loop.sprint.knowledge.tracker.entry(1) is None


@pytest.mark.parametrize("reason", ["", "  ", "x" * 1001])
def test_asks_for_a_reason(loop: Scenario, reason: str) -> None:
    """A retraction, or another baseline, requires a short reason."""
    loop.when(RetractMeasurement(1, reason)).then_refused(field="reason")
    loop.when(ReplaceBaseline(1, reason, STORED)).then_refused(field="reason")


def test_retracts_no_baseline_that_others_were_compared_with(loop: Scenario) -> None:
    """The first baseline is retracted only while nothing else was measured."""
    loop.when(RetractMeasurement(0, "x")).then_refused(containing="compared with it")
    loop.do(RetractMeasurement(1, "x")).do(RetractMeasurement(0, "x"))
    loop.when(CaptureBaseline(metrics=M)).then(i.BaselineCaptured(STORED))


def test_retracts_no_baseline_in_force(loop: Scenario) -> None:
    """The baseline's iteration can be retracted once there is another baseline."""
    loop.do(ReplaceBaseline(1, "x", STORED))
    loop.when(RetractMeasurement(1, "x")).then_refused(containing="it is the baseline")
    loop.do(ReplaceBaseline(0, "x", STORED)).do(RetractMeasurement(1, "x"))


def test_replaces_the_baseline_once(loop: Scenario) -> None:
    """The same baseline again changes nothing; an unmeasured one is refused."""
    loop.when(ReplaceBaseline(0, None, STORED)).then_nothing()
    loop.when(ReplaceBaseline(1, "x", STORED)).then(i.BaselineReplaced(1, STORED, "x"))
    loop.when(ReplaceBaseline(1, "y", STORED)).then_nothing()
    loop.when(ReplaceBaseline(2, "x", None)).then_refused(containing="no measurement")


def test_describes_an_iteration(loop: Scenario) -> None:
    """Parameters, a note and tags are one event; repeating it changes nothing."""
    said = DescribeIteration(1, {"seed": "7"}, "odd", ("a",), ("b",))
    loop.when(said).then(i.IterationDescribed(1, {"seed": "7"}, "odd", ("a",), ("b",)))
    loop.when(said).then_nothing()
    loop.when(DescribeIteration(0, tags=("first",)))
    loop.then(i.IterationDescribed(0, tags=("first",)))


def test_says_with_what_it_begins_and_ends(loop: Scenario) -> None:
    """Parameters given at start or end are recorded in the same append."""
    loop.do(StartIteration(params={"model": "small"}))
    assert loop.sprint.knowledge.tracker.described == i.IterationDescribed(
        2, {"model": "small"}
    )
    loop.do(EndIteration(params={"seed": "1"}))
    assert loop.sprint.knowledge.tracker.described == i.IterationDescribed(2, {"seed": "1"})


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({}, "nothing to record"),
        ({"params": {"a b": "1"}}, "must contain only"),
        ({"params": {"1a": "1"}}, "must contain only"),
        ({"params": {"a": "x" * 1001}}, "at most 1000"),
        ({"params": {f"a{n}": "" for n in range(101)}}, "at most 100 parameters"),
        ({"tags": ("a b",)}, "tag 'a b' must contain"),
        ({"tags": ("",)}, "must contain only"),
        ({"tags": ("\x1b[2J",)}, "must contain only"),
        ({"tags": tuple(f"t{n}" for n in range(101))}, "at most 100 tags"),
        ({"tags": ("a",), "tags_removed": ("a",)}, "is both added and removed"),
        ({"note": " "}, "a note must have 1 to"),
        ({"note": "x" * 10_001}, "a note must have 1 to"),
        ({"number": 9, "note": "x"}, "it was never started"),
    ],
)
def test_refuses_what_says_nothing(loop: Scenario, said: Any, why: str) -> None:
    """Names are validated, texts are bounded, and the iteration must exist."""
    loop.when(DescribeIteration(**said)).then_refused(containing=why)
