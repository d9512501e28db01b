"""Laws of the judgement: it looks back only, and reads the same in every way."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.iterations.facts import (
    IterationMeasured,
    Metrics,
    RulesSet,
    Thresholds,
)
from sprintlog.engine.iterations.judging import Judge
from sprintlog.engine.iterations.recommend import ACTIONS, recommend
from sprintlog.engine.iterations.select import select
from tests.spec.measured import Measured

from .measurements import VALUES
from .test_sprint_laws import laws

METRICS: st.SearchStrategy[Metrics] = VALUES[Metrics]
SCORES = st.none() | st.sampled_from([0.0, 0.3, 0.7, 0.9, 1.0])
RULES = st.builds(
    RulesSet,
    thresholds=st.builds(Thresholds, coverage_drop=st.sampled_from([0.0, 2.0, 50.0])),
)


@st.composite
def loops(draw: st.DrawFn) -> Measured:
    """Return a loop that jumps back at times, and whose rules change."""
    found = Measured(draw(st.none() | METRICS))
    for number in range(1, draw(st.integers(1, 15))):
        if draw(st.integers(0, 5)) == 0:
            found.take(draw(RULES))
        known = [entry.number for entry in found.tracker.measured]
        previous = draw(st.sampled_from([*known[-2:], *known, None, 0]))
        whole = draw(METRICS | st.just(Metrics(9, 9, coverage_percentage=80.0)))
        found.take(IterationMeasured(number, whole, previous, draw(SCORES)))
    return found


@laws
@given(loops())
def test_a_judgement_looks_back_only(found: Measured) -> None:
    """What happens after an iteration was measured changes nothing of its judgement."""
    at_the_end = {one.number: one for one in found.all()}
    again = Measured()
    for fact in found.facts.values():
        again.take(fact)
        if isinstance(fact, IterationMeasured):
            assert again.judge(fact.number) == at_the_end[fact.number]


@laws
@given(loops())
def test_one_is_judged_as_all_are(found: Measured) -> None:
    """An iteration read by its chain is judged as in one reading of all."""
    for one in found.all():
        assert found.judge(one.number) == one


@laws
@given(loops(), st.randoms(use_true_random=False))
def test_reads_few_events(found: Measured, random: Any) -> None:
    """A judgement reads its chain and the baseline, however long the loop is."""
    read: list[int] = []

    def fetch(version: int) -> tuple[str, Any]:
        read.append(version)
        return "", found.facts[version]

    if found.tracker.measured:
        number = random.choice(found.tracker.measured).number
        Judge(found.tracker, fetch).judge(number)
        assert len(read) <= 6


@laws
@given(loops())
def test_best_is_the_highest_complete_score(found: Measured) -> None:
    """No complete iteration has a higher score than the best one."""
    best = found.tracker.best
    for one in found.all():
        if best is None:
            assert one.is_incomplete or not one.score.value
        elif not one.is_incomplete and one.score.value is not None:
            assert (one.score.value, -one.number) <= (best.value, -best.number)


@laws
@given(loops(), st.none() | st.integers(1, 20))
def test_always_gives_advice(found: Measured, limit: int | None) -> None:
    """There is an answer to every loop: one of four actions, with a confidence."""
    for one in found.all():
        given = recommend(one, found.tracker.best, found.rules, max_iterations=limit)
        assert given.action in ACTIONS
        assert 0 < given.confidence <= 1
        assert given.target != one.number


@laws
@given(loops())
def test_selects_the_best_of_those_that_may_be(found: Measured) -> None:
    """A verified selection has no other one above it that may be selected too."""
    measured = found.all()
    if not measured:
        return
    selection = select(
        measured,
        final=measured[-1].number,
        best=found.tracker.best,
        baseline=found.baseline(),
        rules=found.rules,
    )
    if selection is None:
        return
    value = selection.selected.score.value
    assert value is not None
    if selection.is_baseline or not selection.is_verified:
        return
    base = found.baseline()
    assert base is None or base.score.value is None or base.score.value < value
    for one in measured:
        if not one.is_incomplete and one.figures.tests_failed == 0:
            ok = (one.figures.tests_passed or 0) > 0
            if ok and one.figures.build_status != "failed" and one.score.value is not None:
                assert one.score.value <= value
