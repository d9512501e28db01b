"""The class of an iteration: baseline, forward, plateau, regression or stalled."""

from collections.abc import Sequence
from fractions import Fraction

from .alerts import CRITICAL, HIGH, Alert
from .deltas import Deltas, improved
from .events import OwnMetric, Thresholds
from .exact import exact, plain, short, shown

BASELINE, FORWARD, PLATEAU = "baseline", "forward", "plateau"
REGRESSION, STALLED = "regression", "stalled"
CLASS_MEANS = {
    PLATEAU: "neither better nor worse than the one before",
    STALLED: "the third plateau in a row, or later",
}
"""What the classes are that are no plain words."""
STALL_LENGTH = 3
"""So many plateaus in a row may be a stall."""
STALL_MESSAGE = "No meaningful progress for 3 iterations"
STALL_ALTERNATIVES = (
    "Consider different approach",
    "Request human intervention",
    "Try alternative strategy",
)


def classify(
    change: Deltas, found: Sequence[Alert], own: Sequence[OwnMetric] = ()
) -> tuple[str, tuple[str, ...]]:
    """Return the class that one iteration has by itself, and every reason for it."""
    serious = [alert for alert in found if alert.severity in (CRITICAL, HIGH)]
    if serious:
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
    """Return why an iteration stalled: the third plateau in a row, with even scores.

    Both sequences end with the iteration itself; their classes are those by itself.
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
