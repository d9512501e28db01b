"""Classes of iterations, and stalls (ITR-050 to ITR-055)."""

from fractions import Fraction
from typing import Any

import pytest

from sprintlog.engine.judging.changes import (
    alerts,
    classify,
    deltas,
    improved,
    stalled,
    variance,
)
from sprintlog.engine.judging.events import Metrics, RulesSet, Thresholds

from .measured import (
    BASELINE_OF_PEAK,
    BASELINE_OF_REGRESSION,
    PEAK,
    REGRESSION,
    Measured,
    loop,
    now,
)

SAME = Metrics(test_count=10, tests_passed=10, coverage_percentage=80, error_count=5)


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        ({"test_count": 8}, {"test_count": 9}, "forward"),
        ({"tests_passed": 8}, {"tests_passed": 9}, "forward"),
        ({"coverage_percentage": 70}, {"coverage_percentage": 70.1}, "forward"),
        ({"error_count": 5}, {"error_count": 4}, "forward"),
        ({"error_count": 5}, {"error_count": 10}, "plateau"),
        ({"error_count": 5}, {"error_count": 11}, "regression"),
        ({"coverage_percentage": 70}, {"coverage_percentage": 68}, "plateau"),
        ({"coverage_percentage": 70}, {"coverage_percentage": 67.9}, "regression"),
        ({"test_count": 8}, {"test_count": 8}, "plateau"),
        ({"test_count": 8}, {"tests_passed": 8}, "plateau"),
        ({"file_count": 8}, {"file_count": 7}, "plateau"),
        ({"test_count": 8, "file_count": 8}, {"test_count": 9, "file_count": 7}, "forward"),
        (
            {"test_count": 8, "error_count": 1},
            {"test_count": 9, "error_count": 7},
            "regression",
        ),
        ({"loc_total": 10}, {"loc_total": 5000}, "plateau"),
    ],
)
def test_classifies(before: dict[str, Any], after: dict[str, Any], word: str) -> None:
    """Regression by a serious alert, else forward by what rose or fell, else plateau."""
    then, this = now(**before), now(**after)
    change = deltas(this, then)
    found = alerts(1, this, then, change, Thresholds())
    got, reasons = classify(change, found)
    assert got == word
    assert reasons


def test_names_every_reason() -> None:
    """Every improved metric, and every serious alert, is a reason."""
    change = deltas(
        now(test_count=9, tests_passed=8, coverage_percentage=70.5, error_count=1),
        now(test_count=8, tests_passed=7, coverage_percentage=70, error_count=3),
    )
    assert improved(change) == ["test_count", "tests_passed", "coverage", "error_count"]
    assert classify(change, [])[1] == (
        "test_count rose by 1",
        "tests_passed rose by 1",
        "coverage rose by 0.5",
        "error_count fell by 2",
    )
    reasons = loop(BASELINE_OF_REGRESSION, REGRESSION).judge(3).reasons
    assert len(reasons) == 3


def test_gives_the_classes_of_the_worked_loops() -> None:
    """The worked loops have the classes that follow from the rules."""
    peak, regression = (
        loop(BASELINE_OF_PEAK, PEAK),
        loop(BASELINE_OF_REGRESSION, REGRESSION),
    )
    base = regression.baseline()
    assert base is not None
    assert base.classification == "baseline"
    words = [one.classification for one in peak.all()]
    assert words == ["forward", "forward", "forward", "plateau", "regression"]
    words = [one.classification for one in regression.all()]
    assert words == ["forward", "forward", "regression"]


def test_has_no_class_without_anything_before() -> None:
    """Without a previous iteration there is no class and no delta."""
    first = Measured().measure(SAME)
    assert (first.classification, first.from_previous, first.alerts) == (None, None, ())
    assert first.reasons == ("nothing before it was measured",)


@pytest.mark.parametrize(
    ("highest", "is_stalled"), [("0.2999", True), ("0.3", False), ("0.3001", False)]
)
def test_stalls_below_a_variance(highest: str, is_stalled: bool) -> None:
    """Three plateaus stall when their scores vary by less than 0.02; 0.02 itself not."""
    scores = [Fraction(0), Fraction(0), Fraction(highest)]
    # Two scores at 0 and one at x have the variance 2x²/9.
    assert variance(scores) == 2 * Fraction(highest) ** 2 / 9
    found = stalled(["plateau"] * 3, scores, Thresholds())
    assert (found is not None) is is_stalled


def test_needs_three_plateaus_in_a_row() -> None:
    """Two plateaus are not a stall; the third one is, and so are all later ones."""
    found = loop(SAME, [SAME, SAME, SAME, SAME])
    words = [one.classification for one in found.all()]
    assert words == ["plateau", "plateau", "stalled", "stalled"]
    assert "No meaningful progress for 3 iterations" in found.judge(3).reasons[-1]
    better = Metrics(test_count=11, tests_passed=11, coverage_percentage=80, error_count=5)
    found.measure(better)
    for _ in range(2):
        assert found.measure(better).classification in ("forward", "plateau")
    assert found.measure(better).classification == "stalled"


def test_does_not_stall_without_scores() -> None:
    """Plateaus without scores have no variance."""
    nothing = Metrics(file_count=3)
    words = [one.classification for one in loop(nothing, [nothing] * 4).all()]
    assert words == ["plateau"] * 4


def test_keeps_the_class_when_rules_change_later() -> None:
    """An iteration is judged by the rules at its measurement."""
    found = Measured(Metrics(coverage_percentage=80))
    assert found.measure(Metrics(coverage_percentage=79)).classification == "plateau"
    found.take(RulesSet(thresholds=Thresholds(coverage_drop=0.5)))
    assert found.judge(1).classification == "plateau"
    assert found.measure(Metrics(coverage_percentage=78)).classification == "regression"
