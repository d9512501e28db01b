"""Alerts: what got worse from the iteration before, how badly, and what to do about it."""

from collections.abc import Iterator

import msgspec

from .deltas import Deltas
from .events import Thresholds
from .exact import exact, short
from .metrics import Figures

CRITICAL, HIGH, MEDIUM = "CRITICAL", "HIGH", "MEDIUM"
SEVERITIES = (CRITICAL, HIGH, MEDIUM)

ACTIONS = {
    "test_deletion": "immediate_alert_and_rollback",
    "working_tests_failing": "immediate_alert_and_rollback",
    "coverage_regression": "alert_and_flag_iteration",
    "error_increase": "alert_regression",
    "functionality_loss": "alert_and_flag_iteration",
    "file_deletion": "alert_and_review",
    "complexity_explosion": "alert_complexity",
}
"""Every type of alert with the action it asks for, in the order in which they are told."""


class Alert(msgspec.Struct, frozen=True):
    """Something that got worse."""

    severity: str
    type: str
    message: str
    action: str
    triggered_at: int
    """The number of the iteration that raised it."""


def alerts(
    number: int, now: Figures, then: Figures, change: Deltas, limits: Thresholds
) -> tuple[Alert, ...]:
    """Return what got worse, the worst first; a missing metric raises nothing."""
    told = [
        Alert(severity, kind, message, ACTIONS[kind], number)
        for severity, kind, message in _worse(now, then, change, limits)
    ]
    return tuple(sorted(told, key=lambda alert: SEVERITIES.index(alert.severity)))


def _worse(
    now: Figures, then: Figures, change: Deltas, limits: Thresholds
) -> Iterator[tuple[str, str, str]]:
    """Yield severity, type and message of what got worse, in the order of `ACTIONS`."""
    tests, passed = change.test_count or 0, change.tests_passed or 0
    if tests < 0:
        said = f"Test count decreased from {then.test_count} to {now.test_count}"
        yield CRITICAL, "test_deletion", said
    # Passing tests that were removed are told apart from ones that fail now.
    if passed < min(tests, 0):
        yield CRITICAL, "working_tests_failing", "Previously passing tests now failing"
    limit = exact(limits.coverage_drop)
    if change.coverage is not None and change.coverage < -limit:
        said = f"{short(then.coverage or 0)}%→{short(now.coverage or 0)}%"
        said = f"Coverage dropped {said} (exceeds -{short(limit)}% threshold)"
        yield HIGH, "coverage_regression", said
    if change.error_count is not None and change.error_count > limits.error_increase:
        yield HIGH, "error_increase", f"Error count increased by {change.error_count}"
    if tests <= passed < 0:
        said = f"Passing tests decreased from {then.tests_passed} to {now.tests_passed}"
        yield HIGH, "functionality_loss", said
    if (change.file_count or 0) < 0:
        said = "File count decreased (potential code deletion)"
        yield MEDIUM, "file_deletion", said
    limit = exact(limits.complexity_growth)
    if change.complexity is not None and change.complexity > limit:
        said = f"Complexity increased >{short(100 * limit)}%"
        yield MEDIUM, "complexity_explosion", said
