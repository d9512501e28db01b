"""Changes between two measurements: exact deltas, alerts, and the class of an iteration.

A delta is unknown if one of the two measurements lacks the metric. Alerts report metrics
that have worsened since the previous iteration, with a severity and an action. The classes
are baseline, forward, plateau, regression and stalled.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import msgspec

from .events import OwnMetric, Thresholds
from .exact import Number, exact, plain, short, shown
from .metrics import HIGHER, Figures, weighed, with_own

Amount = TypeVar("Amount", int, Fraction)
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
"""The action for every type of alert, in the order in which they are reported."""
BASELINE, FORWARD, PLATEAU = "baseline", "forward", "plateau"
REGRESSION, STALLED = "regression", "stalled"

CLASS_MEANS = {
    PLATEAU: "neither better nor worse than the one before",
    STALLED: "the third plateau in a row, or later",
}
"""Explanations of the classes that are not self-explanatory."""
STALL_LENGTH = 3
"""The number of consecutive plateaus that may be a stall."""
STALL_MESSAGE = "No meaningful progress for 3 iterations"
STALL_ALTERNATIVES = (
    "Consider different approach",
    "Request human intervention",
    "Try alternative strategy",
)


class Alert(msgspec.Struct, frozen=True):
    """An alert about a metric that has worsened."""

    severity: str
    type: str
    message: str
    action: str
    triggered_at: int
    """The number of the iteration that caused the alert."""


class Deltas(NamedTuple):
    """Differences between two measurements: the current value minus the earlier value."""

    test_count: int | None = None
    tests_passed: int | None = None
    pass_rate: Fraction | None = None
    coverage: Fraction | None = None
    error_count: int | None = None
    file_count: int | None = None
    complexity: Fraction | None = None
    """The relative growth; None if the complexity was 0."""
    own: Mapping[str, Fraction] = MappingProxyType({})
    """The differences in the custom metrics that both measurements contain, by name."""

    def known(self) -> dict[str, Any]:
        """Return all differences by name, custom metrics last; None if unknown."""
        return with_own(self._asdict())


def deltas(now: Figures, then: Figures) -> Deltas:
    """Return the differences between two measurements."""
    names = [name for name in Deltas._fields if name != "own"]
    pairs = {name: (getattr(now, name), getattr(then, name)) for name in names}
    change = {name: x - y for name, (x, y) in pairs.items() if None not in (x, y)}
    if "complexity" in change:
        base = then.complexity
        change["complexity"] = change["complexity"] / base if base else None
    own = {name: x - then.own[name] for name, x in now.own.items() if name in then.own}
    return Deltas(**change, own=own)


def improved(change: Deltas, own: Sequence[OwnMetric] = ()) -> list[str]:
    """Return the names of the metrics that improved.

    Custom metrics are included only if they have a weight.
    """
    better: dict[str, Number | None] = {
        "test_count": change.test_count,
        "tests_passed": change.tests_passed,
        "coverage": change.coverage,
        "error_count": None if change.error_count is None else -change.error_count,
    }
    for one in weighed(own):
        if (by := change.own.get(one.name)) is not None:
            better[one.name] = by if one.better == HIGHER else -by
    return [name for name, by in better.items() if by is not None and by > 0]


def alerts(
    number: int, now: Figures, then: Figures, change: Deltas, limits: Thresholds
) -> tuple[Alert, ...]:
    """Return the alerts, most severe first; a missing metric never causes an alert."""
    told = [
        Alert(severity, kind, message, ACTIONS[kind], number)
        for severity, kind, message in _worse(now, then, change, limits)
    ]
    return tuple(sorted(told, key=lambda alert: SEVERITIES.index(alert.severity)))


def _worse(
    now: Figures, then: Figures, change: Deltas, limits: Thresholds
) -> Iterator[tuple[str, str, str]]:
    """Yield the severity, type and message of each alert, in the order of `ACTIONS`."""
    tests, passed = change.test_count or 0, change.tests_passed or 0
    if tests < 0:
        said = f"Test count decreased from {then.test_count} to {now.test_count}"
        yield CRITICAL, "test_deletion", said
    # Passing tests that were removed are distinguished from tests that fail now.
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
        yield MEDIUM, "file_deletion", "File count decreased (potential code deletion)"
    limit = exact(limits.complexity_growth)
    if change.complexity is not None and change.complexity > limit:
        yield MEDIUM, "complexity_explosion", f"Complexity increased >{short(100 * limit)}%"


def classify(
    change: Deltas, found: Sequence[Alert], own: Sequence[OwnMetric] = ()
) -> tuple[str, tuple[str, ...]]:
    """Return an iteration's class, ignoring stalls, and all reasons for the class."""
    if serious := [alert for alert in found if alert.severity in (CRITICAL, HIGH)]:
        return REGRESSION, tuple(alert.message for alert in serious)
    if better := improved(change, own):
        return FORWARD, tuple(_rise(name, change) for name in better)
    return PLATEAU, ("no test, pass or coverage gained, no error less",)


def variance(scores: Sequence[Fraction]) -> Fraction:
    """Return the population variance."""
    mean = sum(scores, Fraction(0)) / len(scores)
    return sum(((one - mean) ** 2 for one in scores), Fraction(0)) / len(scores)


def stalled(
    classes: Sequence[str | None], scores: Sequence[Fraction | None], limits: Thresholds
) -> str | None:
    """Return why an iteration is stalled: the third plateau in a row, with similar scores.

    Both sequences end with the iteration itself; `classes` contains results of `classify`.
    Return None if the iteration is not stalled.
    """
    last = [one for one in scores[-STALL_LENGTH:] if one is not None]
    row = classes[-STALL_LENGTH:]
    if list(row) != [PLATEAU] * STALL_LENGTH or len(last) < STALL_LENGTH:
        return None
    spread = variance(last)
    if spread >= exact(limits.stall_variance):
        return None
    return f"{STALL_MESSAGE} (variance of the scores {shown(spread, 4)})"


def _rise(name: str, change: Deltas) -> str:
    by = change.known()[name]
    word = "fell" if by < 0 else "rose"
    return f"{name} {word} by {plain(abs(by)) if name in change.own else short(abs(by))}"
