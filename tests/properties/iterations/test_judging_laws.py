"""Laws of the judgement: it depends only on the past, however it is computed."""

from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.judging.evaluation import Judge, Judgement
from sprintlog.engine.judging.events import IterationMeasured, Metrics, RulesSet, Thresholds
from sprintlog.engine.judging.exact import rounded
from sprintlog.engine.judging.loop_rules import CONTINUE, ESCALATE, ROLLBACK, STOP
from sprintlog.engine.judging.recommend import recommend, rollback_target
from sprintlog.engine.judging.score import compared
from sprintlog.engine.judging.select import refusal, regression, select
from tests.spec.iterations.measured import Measured

from ..measurements import VALUES
from ..sprint.test_sprint_laws import laws

METRICS: st.SearchStrategy[Metrics] = VALUES[Metrics]
SCORES = st.none() | st.sampled_from([0.0, 0.3, 0.7, 0.9, 1.0])
RULES = st.builds(
    RulesSet,
    thresholds=st.builds(Thresholds, coverage_drop=st.sampled_from([0.0, 2.0, 50.0])),
)


@st.composite
def loops(draw: st.DrawFn) -> Measured:
    """Return a loop with rollbacks and rule changes."""
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
    """Events after an iteration's measurement do not change its judgement."""
    at_the_end = {one.number: one for one in found.all()}
    again = Measured()
    for event in found.events.values():
        again.take(event)
        if isinstance(event, IterationMeasured):
            assert again.judge(event.number) == at_the_end[event.number]


@laws
@given(loops())
def test_one_is_judged_as_all_are(found: Measured) -> None:
    """An iteration judged by its chain has the same judgement as in a full read."""
    for one in found.all():
        assert found.judge(one.number) == one


@laws
@given(loops(), st.randoms(use_true_random=False))
def test_reads_few_events(found: Measured, random: Any) -> None:
    """A judgement reads its chain and the baseline, however long the loop is."""
    read: list[int] = []

    def fetch(version: int) -> tuple[str, Any]:
        read.append(version)
        return "", found.events[version]

    if found.tracker.measured:
        number = random.choice(found.tracker.measured).number
        Judge(found.tracker, fetch).judge(number)
        assert len(read) <= 6


@laws
@given(loops())
def test_best_is_the_fold_of_its_rule(found: Measured) -> None:
    """A complete iteration that is better on the components of the best replaces it."""
    best, kept = naive_best(found.all()), found.tracker.best
    assert (kept and kept.number) == (best and best.number)
    assert kept is None or best is None or kept.value == best.score.value


def naive_best(measured: list[Judgement]) -> Judgement | None:
    """Return the best of all, in the order of measurement."""
    best: Judgement | None = None
    for one in sorted(measured, key=lambda one: one.version):
        if one.score.value is None or (best is None and not one.score.value):
            continue
        if best is None:
            best = one
            continue
        is_given = one.score.is_given or best.score.is_given
        lacks = not best.score.components <= one.score.components
        if lacks and not one.score.is_given:
            assert one.is_incomplete
            continue
        its = best.score.value
        mine = one.score.value if is_given else one.score.on(best.score.components)
        assert its is not None
        assert mine is not None
        has_more = not is_given and best.score.components < one.score.components
        if mine > its or (has_more and mine == its):
            best = one
    return best


@laws
@given(loops(), st.none() | st.integers(1, 20))
def test_always_gives_advice(found: Measured, limit: int | None) -> None:
    """Every loop gets advice: one of four actions, with a confidence."""
    best = found.best()
    for one in found.all():
        path = [found.judge(n) for n in range(one.number, 0, -1)]
        given = recommend(
            one,
            best,
            found.rules,
            max_iterations=limit,
            find_target=partial(rollback_target, path, best, found.rules),
        )
        assert given.action in (CONTINUE, STOP, ROLLBACK, ESCALATE)
        assert 0 < given.confidence <= 1
        assert given.target != one.number


@laws
@given(loops())
def test_selects_the_best_of_those_that_may_be(found: Measured) -> None:
    """No verified iteration with all components of the selected one is better."""
    measured = found.all()
    if not measured:
        return
    base = found.baseline()
    selection = select(
        measured,
        final=measured[-1].number,
        best=found.tracker.best,
        baseline=base,
        rules=found.rules,
    )
    if selection is None:
        return
    chosen = selection.selected
    assert chosen.score.value is not None
    fit = [one for one in measured if refusal(one, found.rules) is None]
    if selection.is_baseline:
        assert base is not None
        assert all(regression(one, base, found.rules) for one in fit)
        return
    assert chosen in fit or not fit
    for one in fit:
        pair = compared(one.score, chosen.score)
        has_all = chosen.score.components <= one.score.components
        # An external score has no parts: an earlier one may be higher.
        if pair is None or any(other.score.is_given for other in fit) or not has_all:
            continue
        mine, its = rounded(pair[0], 2), rounded(pair[1], 2)
        assert mine <= its or one.number < chosen.number
