"""Alerts: what got worse from the iteration before, how badly, and what to do about it."""

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
    found = {
        kind: said
        for kind, said in (
            ("test_deletion", _test_deletion(now, then, change)),
            _tests_lost(now, then, change),
            ("coverage_regression", _coverage(now, then, change, limits)),
            ("error_increase", _errors(change, limits)),
            ("file_deletion", _files(change)),
            ("complexity_explosion", _complexity(change, limits)),
        )
        if said is not None
    }
    told = [
        Alert(found[kind][0], kind, found[kind][1], action, number)
        for kind, action in ACTIONS.items()
        if kind in found
    ]
    return tuple(sorted(told, key=lambda alert: SEVERITIES.index(alert.severity)))


_Said = tuple[str, str] | None


def _test_deletion(now: Figures, then: Figures, change: Deltas) -> _Said:
    if change.test_count is None or change.test_count >= 0:
        return None
    message = f"Test count decreased from {then.test_count} to {now.test_count}"
    return CRITICAL, message


def _tests_lost(now: Figures, then: Figures, change: Deltas) -> tuple[str, _Said]:
    """Tell apart passing tests that were removed and ones that fail now."""
    lost = -(change.tests_passed or 0)
    if lost <= 0:
        return "functionality_loss", None
    if lost <= -(change.test_count or 0):
        message = f"Passing tests decreased from {then.tests_passed} to {now.tests_passed}"
        return "functionality_loss", (HIGH, message)
    return "working_tests_failing", (CRITICAL, "Previously passing tests now failing")


def _coverage(now: Figures, then: Figures, change: Deltas, limits: Thresholds) -> _Said:
    limit = exact(limits.coverage_drop)
    if change.coverage is None or change.coverage >= -limit:
        return None
    return HIGH, (
        f"Coverage dropped {short(then.coverage or 0)}%→{short(now.coverage or 0)}% "
        f"(exceeds -{short(limit)}% threshold)"
    )


def _errors(change: Deltas, limits: Thresholds) -> _Said:
    if change.error_count is None or change.error_count <= limits.error_increase:
        return None
    return HIGH, f"Error count increased by {change.error_count}"


def _files(change: Deltas) -> _Said:
    if change.file_count is None or change.file_count >= 0:
        return None
    return MEDIUM, "File count decreased (potential code deletion)"


def _complexity(change: Deltas, limits: Thresholds) -> _Said:
    limit = exact(limits.complexity_growth)
    if change.complexity is None or change.complexity <= limit:
        return None
    return MEDIUM, f"Complexity increased >{short(100 * limit)}%"
