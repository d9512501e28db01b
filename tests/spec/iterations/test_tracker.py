"""The best-iteration tracker, as events change it (ITR-100 to ITR-104)."""

import msgspec
import pytest

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.judging.events import (
    BaselineCaptured,
    IterationMeasured,
    Metrics,
    RulesSet,
)
from sprintlog.engine.judging.recommend import recommend
from sprintlog.engine.judging.tracker import Tracker

from .measured import (
    BASELINE_OF_PEAK,
    BASELINE_OF_REGRESSION,
    PEAK,
    REGRESSION,
    Measured,
    loop,
    metrics,
    percent,
)

TESTS = Metrics(10, 9)
MORE = Metrics(10, 9, coverage_percentage=80.0)


def best_of(found: Measured) -> int | None:
    """Return the number of the best iteration."""
    return found.tracker.best.number if found.tracker.best else None


def test_starts_empty() -> None:
    """The tracker starts without a best iteration, and the baseline is never best."""
    assert best_of(Measured()) is None
    assert best_of(Measured(BASELINE_OF_REGRESSION)) is None


def test_follows_the_highest_score() -> None:
    """The best iteration of each worked loop is the one that is printed."""
    assert best_of(loop(BASELINE_OF_REGRESSION, REGRESSION)) == 2
    found = Measured(BASELINE_OF_PEAK)
    seen = []
    for row in PEAK:
        found.measure(row)
        seen.append(best_of(found))
    assert seen == [1, 2, 3, 3, 3]
    assert found.tracker.best is not None
    assert found.tracker.best.value == found.judge(3).score.value


def test_needs_no_verification() -> None:
    """An iteration with failing tests is the best if its score is the highest."""
    found = Measured()
    found.measure(Metrics(10, 1))
    assert best_of(found) == 1


def test_keeps_the_earlier_one_of_equals() -> None:
    """Only a higher score replaces the best one; 0 is not above the initial value."""
    found = Measured()
    found.measure(TESTS, score=0.0)
    assert best_of(found) is None
    for score, best in ((0.5, 2), (0.5, 2), (0.5001, 4)):
        found.measure(TESTS, score=score)
        assert best_of(found) == best


@pytest.mark.parametrize("baseline", [None, TESTS, MORE])
def test_an_incomplete_iteration_is_never_best(baseline: Metrics | None) -> None:
    """An iteration that lacks a component of the best one cannot become the best."""
    found = Measured(baseline)
    found.measure(MORE)
    assert best_of(found) == 1
    less = found.measure(Metrics(10, 10))
    assert less.is_incomplete
    assert best_of(found) == 1
    assert not found.measure(MORE).is_incomplete


def test_needs_nothing_that_only_the_baseline_has() -> None:
    """Before there is a best iteration, no component is missing."""
    found = Measured(MORE)
    assert not found.measure(TESTS).is_incomplete
    assert best_of(found) == 1


@pytest.mark.parametrize(
    ("second", "best"),
    [
        (Metrics(10, 9, coverage_percentage=0.0), 2),
        (Metrics(10, 8, coverage_percentage=100.0), 1),
        (Metrics(10, 9), 1),
        (Metrics(20, 19), 2),
    ],
)
def test_more_measured_replaces_what_is_no_better(second: Metrics, best: int) -> None:
    """Scores are compared on the best one's parts; of equals, the one with more wins."""
    found = Measured()
    found.measure(TESTS)
    assert not found.measure(second).is_incomplete
    assert best_of(found) == best


def test_rollback_is_not_advised_for_having_measured_more() -> None:
    """A first iteration with fewer metrics does not beat all later ones."""
    found = Measured()
    found.measure(Metrics(10, 10))
    found.measure(Metrics(10, 10, coverage_percentage=40.0, lint_warnings=30))
    judged, best = found.judge(2), found.best()
    assert best is not None
    assert judged.score.value is not None
    assert judged.score.value < percent("0.9")
    given = recommend(judged, best, RulesSet(), max_iterations=None)
    assert given.action == "continue"


def test_a_given_score_needs_no_metrics() -> None:
    """A judgement from elsewhere is never incomplete."""
    found = Measured(MORE)
    assert not found.measure(Metrics(), score=0.9).is_incomplete
    assert best_of(found) == 1


def test_never_measures_anew() -> None:
    """A repeated measurement by another tool does not change any judgement."""
    found = Measured(BASELINE_OF_PEAK)
    found.measure(PEAK[0])
    before = msgspec.json.encode(found.tracker)
    found.take(IterationMeasured(1, metrics(PEAK[2]), 0))
    found.take(IterationMeasured(0, metrics(PEAK[2]), None))
    found.take(BaselineCaptured(metrics(PEAK[2])))
    assert msgspec.json.encode(found.tracker) == before


def test_copes_with_what_cannot_be() -> None:
    """Folding never fails, whatever another tool measured."""
    found = Measured(Metrics(-5, 0, loc_total=-1, coverage_percentage=-3.5))
    odd = Metrics(0, 7, -3, pass_rate=1e300, complexity_score=-1e-300, build_status="?")
    found.take(IterationMeasured(3, odd, 3, 7.5))
    found.take(IterationMeasured(2, Metrics(1, 2, loc_total=0), 9))
    assert [one.number for one in found.all()] == [2, 3]


def test_knows_what_was_measured() -> None:
    """An iteration that was not measured is not found."""
    found = Measured()
    assert found.tracker.entry(1) is None
    for number in (0, 1):
        with pytest.raises(NotFoundError, match=f"iteration {number} was not measured"):
            found.judge(number)


def test_stays_small() -> None:
    """An iteration adds a few small values, whatever was measured."""
    found = loop(BASELINE_OF_PEAK, PEAK * 20)
    size = len(msgspec.msgpack.encode(found.tracker))
    for row in PEAK * 20:
        found.measure(row)
    grown = len(msgspec.msgpack.encode(found.tracker)) - size
    assert grown < 20 * 100
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(found.tracker), type=Tracker)
    assert again == found.tracker
