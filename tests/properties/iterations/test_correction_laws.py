"""Laws of corrections: a retracted measurement counts as if it did not exist."""

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from sprintlog.engine.judging.evaluation import Judge, retraction
from sprintlog.engine.judging.events import (
    ArtifactsApplied,
    BaselineReplaced,
    IterationMeasured,
    MeasurementRetracted,
)
from tests.spec.iterations.measured import Measured

from ..sprint.test_sprint_laws import laws
from .test_judging_laws import METRICS, loops


def judge_of(found: Measured) -> Judge:
    """Return a function that judges a loop."""
    return Judge(found.tracker, lambda version: (f"v{version}", found.events[version]))


def retract(found: Measured, number: int) -> MeasurementRetracted:
    """Discard a measurement of a loop."""
    event = retraction(found.tracker, number, "wrong", judge_of(found).score_of)
    found.take(event)
    return event


def without(found: Measured, number: int) -> Measured:
    """Return a loop as if an iteration had never been measured."""
    entry = found.tracker.entry(number)
    assert entry is not None
    other = Measured()
    for event in found.events.values():
        if isinstance(event, IterationMeasured) and event.number == number:
            event = ArtifactsApplied("nothing", "nowhere")
        elif isinstance(event, IterationMeasured) and event.previous == number:
            event = replace(event, previous=entry.previous)
        other.take(event)
    return other


@laws
@given(loops(), st.randoms(use_true_random=False))
def test_counts_as_if_it_had_never_been_measured(found: Measured, random: Any) -> None:
    """The best, and every judgement of the others, are as without that measurement."""
    assume(found.tracker.measured)
    number = random.choice(found.tracker.numbers())
    other = without(found, number)
    retract(found, number)
    assert found.tracker.best == other.tracker.best
    assert found.tracker.highest == other.tracker.highest
    assert found.tracker.numbers() == other.tracker.numbers()
    assert found.all() == other.all()


@laws
@given(loops(), METRICS, st.randoms(use_true_random=False))
def test_can_be_measured_anew(found: Measured, whole: Any, random: Any) -> None:
    """Afterwards, another measurement of the iteration is the effective one."""
    assume(found.tracker.measured)
    number = random.choice(found.tracker.numbers())
    retract(found, number)
    version = found.take(IterationMeasured(number, whole, None))
    judged = found.judge(number)
    assert (judged.version, judged.metrics) == (version, whole)
    assert sorted(found.tracker.numbers()).count(number) == 1


@laws
@given(loops(), METRICS, METRICS)
def test_another_baseline_counts_from_its_event_on(
    found: Measured, base: Any, whole: Any
) -> None:
    """Earlier measurements keep their judgement; later ones use the new baseline."""
    before = found.all()
    found.take(BaselineReplaced(1, base))
    number = found.tracker.highest + 1
    found.take(IterationMeasured(number, whole, None))
    assert found.all()[: len(before)] == before
    fresh = Measured(base)
    fresh.take(found.rules)
    fresh.take(IterationMeasured(number, whole, None))
    assert found.judge(number).score == fresh.judge(number).score
