"""The quality score: the full formula, exactly (ITR-030 to ITR-039)."""

from fractions import Fraction
from typing import Any

import pytest

from sprintlog.engine.judging.events import Weights
from sprintlog.engine.judging.metrics import Figures
from sprintlog.engine.judging.score import DIMENSIONS, Score, score

from .measured import (
    BASELINE_OF_PEAK,
    BASELINE_OF_REGRESSION,
    PEAK,
    REGRESSION,
    Measured,
    loop,
    now,
)


def points(found: Score, name: str) -> Fraction | None:
    """Return the points of a component."""
    every = {c.name: c.points for one in found.dimensions for c in one.components}
    return every[name]


@pytest.mark.parametrize(
    ("baseline", "rows", "scores"),
    [
        (BASELINE_OF_REGRESSION, REGRESSION, ["0.764625", "0.784", "0.80", "0.75"]),
        (BASELINE_OF_PEAK, PEAK, ["0.605625", "0.65", "0.82", "0.88", "0.85", "0.81"]),
    ],
)
def test_gives_the_printed_scores(baseline: Any, rows: Any, scores: list[str]) -> None:
    """The worked loops have exactly the scores that are printed for them."""
    found = loop(baseline, rows)
    base = found.baseline()
    assert base is not None
    values = [base.score.value, *(one.score.value for one in found.all())]
    assert values == [Fraction(text) for text in scores]


@pytest.mark.parametrize(
    ("measured", "dimensions"),
    [
        (loop(BASELINE_OF_REGRESSION, REGRESSION), "69.2593 86 67.8889 57.5 100"),
        (loop(BASELINE_OF_PEAK, PEAK), "100 92.5 83 41.25 100"),
    ],
)
def test_gives_the_printed_dimensions(measured: Measured, dimensions: str) -> None:
    """Each dimension is the mean of its components."""
    found = measured.judge(3).score.dimensions
    assert [one.name for one in found] == list(DIMENSIONS)
    assert [round(float(one.points or 0), 4) for one in found] == [
        float(text) for text in dimensions.split()
    ]


@pytest.mark.parametrize(
    ("component", "known", "expected"),
    [
        ("all_tests_pass", {"test_count": 10, "tests_passed": 10}, 100),
        ("all_tests_pass", {"test_count": 10, "tests_passed": 9}, 90),
        ("all_tests_pass", {"test_count": 0, "tests_passed": 0}, 0),
        ("build_success", {"build_status": "success"}, 100),
        ("build_success", {"build_status": "failed"}, 0),
        ("build_success", {}, None),
        ("no_lint_errors", {"lint_errors": 0}, 100),
        ("no_lint_errors", {"lint_errors": 19}, 5),
        ("no_lint_errors", {"lint_errors": 20}, 0),
        ("no_lint_errors", {"lint_errors": 21}, 0),
        ("coverage_percentage", {"coverage_percentage": 72.5}, Fraction(145, 2)),
        ("test_count_vs_baseline", {"test_count": 75}, 75),
        ("test_count_vs_baseline", {"test_count": 100}, 100),
        ("test_count_vs_baseline", {"test_count": 101}, 100),
        ("error_count_inverted", {"error_count": 49}, 2),
        ("error_count_inverted", {"error_count": 50}, 0),
        ("error_count_inverted", {"error_count": 51}, 0),
        ("lint_warnings_inverted", {"lint_warnings": 33}, 1),
        ("lint_warnings_inverted", {"lint_warnings": 34}, 0),
        ("complexity_reasonable", {"complexity_score": 19.9}, Fraction(1, 2)),
        ("complexity_reasonable", {"complexity_score": 20}, 0),
        ("loc_appropriate", {"loc_total": 120}, 100),
        ("loc_appropriate", {"loc_total": 80}, 100),
        ("loc_appropriate", {"loc_total": 121}, Fraction(295, 3)),
        ("loc_appropriate", {"loc_total": 135}, 75),
        ("loc_appropriate", {"loc_total": 65}, 75),
        ("loc_appropriate", {"loc_total": 150}, 50),
        ("loc_appropriate", {"loc_total": 50}, 50),
        ("loc_appropriate", {"loc_total": 900}, 50),
        ("loc_appropriate", {"loc_total": 0}, 50),
        ("no_code_bloat", {"loc_total": 150}, 100),
        ("no_code_bloat", {"loc_total": 151}, 50),
        ("no_code_bloat", {"loc_total": 0}, 100),
        ("no_code_bloat", {}, None),
    ],
)
def test_gives_points(component: str, known: dict[str, Any], expected: Any) -> None:
    """Each component is tested on both sides of its limits, with 100 tests and lines."""
    base = now(test_count=100, loc_total=100)
    assert points(score(now(**known), base, Weights()), component) == expected


@pytest.mark.parametrize("base", [None, Figures(), now(test_count=0, loc_total=0)])
def test_compares_with_nothing_where_no_baseline_is(base: Figures | None) -> None:
    """Without a baseline, or with an empty one, dimensions that need it are omitted."""
    found = score(now(test_count=5, loc_total=5), base, Weights())
    for name in ("test_count_vs_baseline", "loc_appropriate", "no_code_bloat"):
        assert points(found, name) is None


def test_leaves_out_what_is_missing() -> None:
    """A dimension without components leaves its weight out; the rest is renormalised."""
    found = score(
        now(test_count=10, tests_passed=9, coverage_percentage=80), None, Weights()
    )
    assert found.share == Fraction(80, 100)
    assert found.value == (90 * Fraction(30) + 80 * 25 + 90 * 25) / 80 / 100
    assert [one.contribution is None for one in found.dimensions] == [False] * 3 + [
        True
    ] * 2
    assert sum(one.contribution or 0 for one in found.dimensions) == found.value


def test_each_dimension_has_the_weight_that_was_applied() -> None:
    """Points times the applied weight are the contribution; the weights add up to 1."""
    found = score(now(test_count=10, tests_passed=9), None, Weights())
    applied = [one.applied for one in found.dimensions]
    assert applied == [Fraction(30, 55), None, Fraction(25, 55), None, None]
    for one in found.dimensions:
        if one.points is not None and one.applied is not None:
            assert one.points * one.applied / 100 == one.contribution


def test_scores_nothing_from_nothing() -> None:
    """Without any component there is no score, rather than a score of 0."""
    found = score(now(file_count=3), None, Weights())
    assert found.value is None
    assert found.share == 0


def test_weighs_as_it_is_told() -> None:
    """Different weights give a different score; a weight of 0 removes a dimension."""
    measured = now(tests_passed=1, tests_failed=1, lint_warnings=0)
    only = Weights(
        validation=0, completeness=0, correctness=0.5, readability=0.5, efficiency=0
    )
    assert score(measured, None, only).value == Fraction(75 + 100, 200)


def test_takes_a_judgement_from_elsewhere() -> None:
    """A given score replaces the computed one and is marked; measurements are kept."""
    found = score(now(coverage_percentage=10), None, Weights(), given=0.88)
    assert (found.value, found.is_given) == (Fraction(88, 100), True)
    assert points(found, "coverage_percentage") == 10


@pytest.mark.parametrize(
    "figures",
    [Figures(), Figures(coverage=Fraction(70), lint_errors=3), Figures(test_count=7)],
)
def test_is_its_value_on_all_its_components(figures: Figures) -> None:
    """On all components that were measured, a score is exactly its value."""
    for weights in (Weights(), Weights(validation=0.0)):
        found = score(figures, Figures(test_count=3), weights)
        assert found.on(found.components) == found.value
