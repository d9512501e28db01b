"""Alerts: each limit from both sides (ITR-060 to ITR-068)."""

from typing import Any

import pytest

from sprintlog.engine.judging.changes import ACTIONS, Alert, alerts, deltas
from sprintlog.engine.judging.events import Thresholds

from .measured import BASELINE_OF_PEAK, BASELINE_OF_REGRESSION, PEAK, REGRESSION, loop, now


def raised(
    before: dict[str, Any], after: dict[str, Any], limits: Thresholds | None = None
) -> list[Alert]:
    """Return the alerts of iteration 7."""
    then, this = now(**before), now(**after)
    return list(alerts(7, this, then, deltas(this, then), limits or Thresholds()))


def suite(count: int, passed: int) -> dict[str, Any]:
    """Return the metrics of a run of tests."""
    return {"test_count": count, "tests_passed": passed}


@pytest.mark.parametrize(
    ("before", "after", "types"),
    [
        ({"test_count": 10}, {"test_count": 10}, ""),
        ({"test_count": 10}, {"test_count": 9}, "CRITICAL test_deletion"),
        (suite(10, 8), suite(9, 7), "CRITICAL test_deletion, HIGH functionality_loss"),
        (
            suite(10, 8),
            suite(9, 6),
            "CRITICAL test_deletion, CRITICAL working_tests_failing",
        ),
        (suite(10, 10), suite(10, 9), "CRITICAL working_tests_failing"),
        (suite(10, 10), suite(11, 9), "CRITICAL working_tests_failing"),
        ({"tests_passed": 10}, {"tests_passed": 9}, "CRITICAL working_tests_failing"),
        (suite(10, 8), suite(9, 8), "CRITICAL test_deletion"),
        ({"coverage_percentage": 80}, {"coverage_percentage": 78}, ""),
        ({"coverage_percentage": 4.4}, {"coverage_percentage": 2.4}, ""),
        (
            {"coverage_percentage": 80},
            {"coverage_percentage": 77.9},
            "HIGH coverage_regression",
        ),
        ({"error_count": 1}, {"error_count": 6}, ""),
        ({"error_count": 1}, {"error_count": 7}, "HIGH error_increase"),
        ({"file_count": 3}, {"file_count": 3}, ""),
        ({"file_count": 3}, {"file_count": 2}, "MEDIUM file_deletion"),
        ({"complexity_score": 12}, {"complexity_score": 18}, ""),
        (
            {"complexity_score": 12},
            {"complexity_score": 18.1},
            "MEDIUM complexity_explosion",
        ),
        ({"complexity_score": 0}, {"complexity_score": 99}, ""),
    ],
)
def test_raises_beyond_each_limit(
    before: dict[str, Any], after: dict[str, Any], types: str
) -> None:
    """A limit itself raises nothing; the first value beyond it does."""
    found = [f"{alert.severity} {alert.type}" for alert in raised(before, after)]
    assert ", ".join(found) == types


@pytest.mark.parametrize(
    "name",
    [
        "test_count",
        "tests_passed",
        "coverage_percentage",
        "error_count",
        "file_count",
        "complexity_score",
    ],
)
def test_raises_nothing_where_a_side_is_missing(name: str) -> None:
    """A metric that is missing on either side raises no alert."""
    assert raised({name: 90}, {}) == []
    assert raised({}, {name: 1}) == []


def test_tells_the_worst_first() -> None:
    """Alerts are ordered by severity, then as in the table, each with its action."""
    before = {**suite(10, 9), "coverage_percentage": 90, "error_count": 0, "file_count": 9}
    after = {**suite(9, 7), "coverage_percentage": 50, "error_count": 9, "file_count": 8}
    found = raised({**before, "complexity_score": 1}, {**after, "complexity_score": 2})
    assert [(alert.severity, alert.type) for alert in found] == [
        ("CRITICAL", "test_deletion"),
        ("CRITICAL", "working_tests_failing"),
        ("HIGH", "coverage_regression"),
        ("HIGH", "error_increase"),
        ("MEDIUM", "file_deletion"),
        ("MEDIUM", "complexity_explosion"),
    ]
    assert {alert.action for alert in found} <= set(ACTIONS.values())
    assert [alert.message for alert in found] == [
        "Test count decreased from 10 to 9",
        "Previously passing tests now failing",
        "Coverage dropped 90%→50% (exceeds -2% threshold)",
        "Error count increased by 9",
        "File count decreased (potential code deletion)",
        "Complexity increased >50%",
    ]
    assert {alert.triggered_at for alert in found} == {7}


def test_obeys_other_limits() -> None:
    """The limits are the current ones."""
    limits = Thresholds(coverage_drop=5.5, error_increase=0, complexity_growth=0.1)
    before = {"coverage_percentage": 80, "error_count": 1, "complexity_score": 10}
    after = {"coverage_percentage": 74, "error_count": 2, "complexity_score": 11.5}
    assert [alert.message for alert in raised(before, after, limits)] == [
        "Coverage dropped 80%→74% (exceeds -5.5% threshold)",
        "Error count increased by 1",
        "Complexity increased >10%",
    ]


def test_raises_what_the_worked_loops_print() -> None:
    """A deleted test: three alerts in this order; the other loop raises two at its end."""
    found = loop(BASELINE_OF_REGRESSION, REGRESSION)
    assert [(a.severity, a.type, a.message) for a in found.judge(3).alerts] == [
        ("CRITICAL", "test_deletion", "Test count decreased from 10 to 9"),
        ("HIGH", "coverage_regression", "Coverage dropped 75%→72% (exceeds -2% threshold)"),
        ("HIGH", "functionality_loss", "Passing tests decreased from 8 to 7"),
    ]
    peak = loop(BASELINE_OF_PEAK, PEAK).all()
    assert [len(one.alerts) for one in peak] == [0, 0, 0, 0, 2]
    types = [alert.type for alert in peak[4].alerts]
    assert types == ["working_tests_failing", "coverage_regression"]
