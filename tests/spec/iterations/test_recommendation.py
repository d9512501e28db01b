"""The recommendation after an iteration, and its confidence (ITR-080 to ITR-088)."""

from fractions import Fraction
from typing import Any

import pytest

from sprintlog.engine.judging.events import Metrics, RulesSet, Thresholds
from sprintlog.engine.judging.recommend import Recommendation, recommend, rollback_target

from .measured import (
    BASELINE_OF_PEAK,
    BASELINE_OF_REGRESSION,
    PEAK,
    REGRESSION,
    Measured,
    loop,
    percent,
)

SAME = Metrics(10, 10, coverage_percentage=80.0, error_count=5)


def advice(
    found: Measured, *, max_iterations: int | None = None, **limits: Any
) -> Recommendation:
    """Return the advice after the last iteration of a loop."""
    rules = RulesSet(thresholds=Thresholds(**limits))
    path, best = found.all(), found.best()
    return recommend(
        path[-1],
        best,
        rules,
        max_iterations=max_iterations,
        find_target=lambda: rollback_target(reversed(path), best, rules),
    )


def scored(*scores: float) -> Measured:
    """Return a loop with external scores only."""
    found = Measured()
    for score in scores:
        found.measure(SAME, score=score)
    return found


def test_rolls_back_from_a_deleted_test() -> None:
    """The worked loop rolls back to iteration 2, with confidence 0.95."""
    given = advice(loop(BASELINE_OF_REGRESSION, REGRESSION))
    assert (given.action, given.target) == ("rollback", 2)
    assert given.confidence == percent("0.95")
    assert given.derivation == "1 - (1 - 0.8) · (1 - 0.5) · (1 - 0.5) = 0.95"
    assert given.reason == "Rollback to iteration 2 due to regression"
    assert given.message == "ALERT: Test deletion, recommend rollback"


def test_rolls_back_from_failing_tests() -> None:
    """The other worked loop rolls back to its peak, with confidence 0.90."""
    given = advice(loop(BASELINE_OF_PEAK, PEAK))
    assert (given.action, given.target, given.confidence) == ("rollback", 3, percent("0.9"))
    assert advice(loop(BASELINE_OF_PEAK, PEAK[:4])).action == "continue"


def test_rolls_back_from_a_loss_of_coverage() -> None:
    """A HIGH alert is sufficient if the score is below the best one (Example 4)."""
    found = Measured()
    found.measure(Metrics(coverage_percentage=85.0), score=0.88)
    found.measure(Metrics(coverage_percentage=80.0), score=0.81)
    given = advice(found)
    assert (given.action, given.target, given.confidence) == ("rollback", 1, Fraction(1, 2))
    assert given.message == "ALERT: Coverage regression, recommend rollback"


def test_goes_on_after_a_loss_that_made_it_no_worse() -> None:
    """A HIGH alert alone is not a reason to roll back if the score is the best."""
    found = Measured()
    found.measure(Metrics(coverage_percentage=85.0), score=0.80)
    found.measure(Metrics(coverage_percentage=80.0), score=0.80)
    given = advice(found)
    assert given.action == "continue"
    assert given.reason == "Continue - coverage regression is no reason to go back"
    assert given.confidence == Fraction(2, 10)


@pytest.mark.parametrize(
    ("score", "action"), [(0.70, "continue"), (0.6999, "rollback"), (0.0, "rollback")]
)
def test_rolls_back_by_score(score: float, action: str) -> None:
    """More than 0.1 below the best score is too far; exactly 0.1 is not."""
    given = advice(scored(0.8, score))
    assert given.action == action
    if action == "rollback":
        assert given.message == "ALERT: Quality below best, recommend rollback"
        assert given.confidence == Fraction(1, 2)


@pytest.mark.parametrize(
    ("score", "said"),
    [(0.6999, "0.1001 below the best, more than 0.1"), (0.5, "0.30 below the best, more")],
)
def test_says_how_far_below_so_that_it_is_seen(score: float, said: str) -> None:
    """Two different numbers are never printed the same."""
    assert any(said in reason.text for reason in advice(scored(0.8, score)).reasons)


def test_goes_back_to_what_it_was_built_on_where_it_is_best_itself() -> None:
    """The best iteration with a CRITICAL alert does not roll back to itself."""
    found = Measured(Metrics(10, 9, coverage_percentage=50.0))
    found.measure(Metrics(9, 9, coverage_percentage=90.0))
    assert found.tracker.best is not None
    assert found.tracker.best.number == 1
    assert (advice(found).action, advice(found).target) == ("rollback", 0)


@pytest.mark.parametrize(("number", "action"), [(10, "continue"), (11, "stop")])
def test_stops_an_infinite_loop(number: int, action: str) -> None:
    """A repeated signature stops the loop from iteration 11 on, whatever else holds."""
    found = Measured()
    for at, passed in zip(range(number - 2, number + 1), (5, 6, 5), strict=True):
        found.measure(
            Metrics(9, passed, coverage_percentage=1.0, error_count=0), number=at, score=0.5
        )
    given = advice(found)
    if action == "stop":
        assert given.action == "stop"
        assert given.reason == "Loop should terminate due to infinite loop"
        expected = "ALERT: Infinite loop detected: metrics cycling, recommend stop"
        assert given.message == expected
        assert given.confidence == Fraction(8, 10)
    else:
        assert given.action == "rollback"


def test_asks_a_person_about_a_pattern() -> None:
    """To and fro before iteration 11 is for a person, even with alerts."""
    found = Measured()
    for passed in (5, 6, 5, 6):
        found.measure(Metrics(9, passed, coverage_percentage=1.0, error_count=0))
    given = advice(found)
    assert given.action == "escalate"
    assert given.reason == "Escalate to human - metric cycling detected"


@pytest.mark.parametrize(
    ("measured", "action"),
    [
        (Metrics(lint_warnings=3), "escalate"),
        (Metrics(tests_passed=9, tests_failed=0), "continue"),
        (Metrics(coverage_percentage=50.0), "escalate"),
        (Metrics(coverage_percentage=50.0, error_count=1), "continue"),
    ],
)
def test_asks_a_person_when_too_little_was_measured(measured: Metrics, action: str) -> None:
    """Less than half of the formula's weight is too little; half is sufficient."""
    found = Measured()
    found.measure(measured)
    given = advice(found)
    assert given.action == action
    if action == "escalate":
        assert given.reason == "Escalate to human - high uncertainty detected"
        assert given.confidence == Fraction(2, 10)


def test_trusts_a_judgement_from_elsewhere() -> None:
    """With a given score, the measured share of the formula does not matter."""
    found = Measured()
    found.measure(Metrics(), score=0.5)
    assert advice(found).action == "continue"


def test_stops_a_stalled_loop() -> None:
    """Three plateaus stop the loop and name alternatives."""
    same = Metrics(10, 10, coverage_percentage=80.0)
    given = advice(loop(same, [same] * 3))
    assert given.action == "stop"
    assert given.confidence == Fraction(8, 10)
    assert given.message == (
        "ALERT: No meaningful progress for 3 iterations, recommend stop"
    )
    assert len(given.alternatives) == 3


@pytest.mark.parametrize(("target", "action"), [(0.9, "stop"), (0.9001, "continue")])
def test_stops_at_the_target(target: float, action: str) -> None:
    """The target has no default; a score that reaches it ends the loop."""
    assert advice(scored(0.9)).action == "continue"
    given = advice(scored(0.9), target=target)
    assert given.action == action
    if action == "stop":
        assert given.confidence == Fraction(1, 2)
        assert given.message == "Target quality reached, recommend stop"


@pytest.mark.parametrize(("limit", "action"), [(2, "stop"), (3, "continue")])
def test_stops_at_the_last_iteration(limit: int, action: str) -> None:
    """The iteration with the highest number that is allowed is the last one."""
    given = advice(scored(0.5, 0.6), max_iterations=limit)
    assert given.action == action
    assert given.confidence == (Fraction(1, 2) if action == "stop" else Fraction(2, 10))


def test_a_maximum_counts_what_was_begun() -> None:
    """A rollback frees no iterations: the highest number ever used counts."""
    found = scored(0.5, 0.6)
    judged = found.judge(1)
    for begun, action in ((3, "continue"), (4, "stop")):
        given = recommend(judged, None, RulesSet(), max_iterations=4, begun=begun)
        assert given.action == action
    assert given.reasons[0].text == "iteration 4 of at most 4"


def test_is_surer_with_every_reason() -> None:
    """Reasons for the same action add up; each improved metric is one."""
    given = advice(scored(0.5, 0.9), max_iterations=2, target=0.9)
    assert given.confidence == percent("0.75")
    forward = advice(loop(BASELINE_OF_PEAK, PEAK[:1]))
    assert (forward.action, forward.message) == (
        "continue",
        "Forward progress detected, continue",
    )
    assert forward.reason == "Continue - forward progress detected"
    # Passes and coverage rose, errors fell.
    assert forward.confidence == 1 - Fraction(1, 8)


def test_counts_warnings_of_a_rollback() -> None:
    """A MEDIUM alert increases a rollback's confidence, but is not a reason for one."""
    found = Measured()
    found.measure(Metrics(10, 10, coverage_percentage=80.0, file_count=5))
    found.measure(Metrics(10, 10, coverage_percentage=80.0, file_count=4))
    assert advice(found).action == "continue"
    assert advice(found).message == "File deletion, continue"
    found.measure(Metrics(9, 9, coverage_percentage=80.0, file_count=3))
    given = advice(found)
    assert given.action == "rollback"
    assert given.confidence == 1 - Fraction(2, 10) * Fraction(5, 10) * Fraction(8, 10)


def test_says_what_stays_the_same() -> None:
    """On a plateau the reason is not forward progress; at first there is none."""
    found = Measured()
    found.measure(SAME)
    assert advice(found).message == "First measurement, continue"
    found.measure(SAME)
    assert advice(found).message == "Metrics are stable, continue"
    assert advice(found).derivation == "0.20, without a reason"


def test_is_recorded_as_it_was_answered() -> None:
    """The event stores action, target, confidence and every reason."""
    event = advice(loop(BASELINE_OF_REGRESSION, REGRESSION)).event
    assert (event.number, event.action, event.target) == (3, "rollback", 2)
    assert event.confidence == 0.95
    assert len(event.because) == 3
