"""Metrics: names, validation and derived figures (ITR-002 to ITR-009)."""

from fractions import Fraction
from typing import Any

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.judging.events import Metrics
from sprintlog.engine.judging.metrics import (
    NAMES,
    NUMBER_MAX,
    Figures,
    check_metrics,
    figures,
)


def test_knows_every_metric_of_the_document() -> None:
    """The groups name every built-in metric once."""
    assert sorted([*NAMES, "own"]) == sorted(Metrics.__struct_fields__)


def test_missing_is_missing() -> None:
    """An unmeasured metric is unknown; it is never zero."""
    assert figures(Metrics()) == Figures()
    assert check_metrics({"test_count": None}) == Metrics()


def test_takes_what_was_measured() -> None:
    """Counts stay counts, rates become decimals."""
    given = {
        "test_count": 8,
        "tests_passed": 5.0,
        "pass_rate": 62.5,
        "complexity_score": 12,
    }
    checked = check_metrics({**given, "build_status": "success"})
    assert checked == Metrics(
        8, 5, pass_rate=62.5, build_status="success", complexity_score=12
    )
    assert type(checked.tests_passed) is int
    assert type(checked.complexity_score) is float


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"tests": 3}, "there is no metric 'tests'"),
        ({"test_count": -1}, "test_count: '-1' is out of range"),
        ({"test_count": NUMBER_MAX + 1}, "out of range"),
        ({"test_count": 1.5}, "must be a whole number"),
        ({"test_count": True}, "is not a number"),
        ({"test_count": "8"}, "is not a number"),
        ({"test_count": [8]}, "is not a number"),
        ({"coverage_percentage": float("nan")}, "not a finite number"),
        ({"complexity_score": float("inf")}, "not a finite number"),
        ({"lint_errors": float("nan")}, "not a finite number"),
        ({"coverage_percentage": 100.1}, "out of range (0 to 100)"),
        ({"pass_rate": -0.1}, "out of range (0 to 100)"),
        ({"complexity_score": -1}, "out of range"),
        ({"build_status": "green"}, "is unknown; allowed: success, failed"),
        ({"build_status": 1}, "is unknown"),
    ],
)
def test_refuses_what_is_no_metric(given: dict[str, Any], says: str) -> None:
    """An unknown name or a value out of range is refused, naming the field."""
    with pytest.raises(RefusedError) as refused:
        check_metrics(given)
    assert says in refused.value.message
    assert refused.value.fields["field"] == next(iter(given))


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        (
            {"test_count": 10, "tests_passed": 9, "tests_failed": 2},
            ["tests_passed", "tests_failed", "test_count"],
        ),
        ({"test_count": 1, "tests_skipped": 2}, ["tests_skipped", "test_count"]),
        (
            {"coverage_lines_covered": 5, "coverage_lines_total": 4},
            ["coverage_lines_covered", "coverage_lines_total"],
        ),
        (
            {"test_count": 9, "tests_passed": 7, "pass_rate": 77.9},
            ["pass_rate", "tests_passed", "test_count"],
        ),
        (
            {"test_count": 0, "tests_passed": 0, "pass_rate": 100},
            ["pass_rate", "tests_passed", "test_count"],
        ),
    ],
)
def test_refuses_contradictions(given: dict[str, Any], fields: list[str]) -> None:
    """Metrics that cannot all be true are refused, naming all of them."""
    with pytest.raises(RefusedError) as refused:
        check_metrics(given)
    assert refused.value.fields["fields"] == fields
    assert all(field in refused.value.message for field in fields)


@pytest.mark.parametrize(
    ("rate", "is_right"), [(77.8, True), (77.73, True), (77.72, False), (77.83, False)]
)
def test_lets_a_rate_be_rounded(rate: float, is_right: bool) -> None:
    """A reported rate agrees within 0.05: 7 of 9 is 77.777… percent."""
    given = {"test_count": 9, "tests_passed": 7, "pass_rate": rate}
    if is_right:
        assert figures(check_metrics(given)).pass_rate == Fraction(700, 9)
    else:
        with pytest.raises(RefusedError):
            check_metrics(given)


def test_counts_fit_exactly() -> None:
    """Passed, failed and skipped may be all of the tests, or fewer."""
    whole = {"test_count": 10, "tests_passed": 7, "tests_failed": 2, "tests_skipped": 1}
    assert check_metrics(whole).test_count == 10
    assert check_metrics({**whole, "test_count": 11}).test_count == 11


@pytest.mark.parametrize(
    ("known", "count", "failed", "rate"),
    [
        ({"test_count": 8, "tests_passed": 5}, 8, 3, Fraction(125, 2)),
        ({"tests_passed": 5, "tests_failed": 3}, 8, 3, Fraction(125, 2)),
        ({"tests_passed": 5, "tests_failed": 3, "tests_skipped": 2}, 10, 3, Fraction(50)),
        ({"test_count": 10, "tests_passed": 9, "tests_skipped": 1}, 10, 0, Fraction(90)),
        ({"test_count": 0, "tests_passed": 0}, 0, 0, Fraction(0)),
        ({"tests_passed": 5}, None, None, None),
        ({"tests_failed": 0}, None, 0, None),
        ({"test_count": 5}, 5, None, None),
        ({"pass_rate": 62.5}, None, None, Fraction(125, 2)),
    ],
)
def test_derives_counts_and_rate(
    known: dict[str, Any], count: int | None, failed: int | None, rate: Fraction | None
) -> None:
    """Tests are counted from their parts, the rate from the counts; 0 tests are no pass."""
    found = figures(Metrics(**known))
    assert (found.test_count, found.tests_failed, found.pass_rate) == (count, failed, rate)


@pytest.mark.parametrize(
    ("known", "errors"),
    [
        ({"lint_errors": 8, "lint_warnings": 4, "type_errors": 0}, 12),
        ({"lint_errors": 8, "lint_warnings": 4, "error_count": 7}, 7),
        ({"type_errors": 2}, 2),
        ({"lint_errors": 0}, 0),
        ({"test_count": 8}, None),
    ],
)
def test_adds_up_errors(known: dict[str, Any], errors: int | None) -> None:
    """Errors are those reported, else lint errors, warnings and type errors together."""
    assert figures(Metrics(**known)).error_count == errors


@pytest.mark.parametrize(
    ("known", "coverage"),
    [
        ({"coverage_percentage": 65.0, "coverage_lines_covered": 292}, Fraction(65)),
        ({"coverage_lines_covered": 9, "coverage_lines_total": 12}, Fraction(75)),
        ({"coverage_lines_covered": 1, "coverage_lines_total": 1}, Fraction(100)),
        ({"coverage_lines_covered": 0, "coverage_lines_total": 0}, None),
        ({"coverage_lines_covered": 9}, None),
        ({"coverage_percentage": 4.4}, Fraction(44, 10)),
    ],
)
def test_takes_coverage_as_reported(
    known: dict[str, Any], coverage: Fraction | None
) -> None:
    """The reported percentage overrides the lines, and is that exact decimal."""
    assert figures(Metrics(**known)).coverage == coverage
