"""What changed between two measurements, exactly; None where a side is missing."""

from fractions import Fraction
from typing import NamedTuple, TypeVar

from .exact import Number
from .metrics import Figures

Amount = TypeVar("Amount", int, Fraction)


class Deltas(NamedTuple):
    """Differences to an earlier measurement: now minus then."""

    test_count: int | None = None
    tests_passed: int | None = None
    pass_rate: Fraction | None = None
    coverage: Fraction | None = None
    error_count: int | None = None
    file_count: int | None = None
    complexity: Fraction | None = None
    """The part by which it grew; not known where it was 0."""


def deltas(now: Figures, then: Figures) -> Deltas:
    """Return what changed from one measurement to another."""
    return Deltas(
        test_count=_less(now.test_count, then.test_count),
        tests_passed=_less(now.tests_passed, then.tests_passed),
        pass_rate=_less(now.pass_rate, then.pass_rate),
        coverage=_less(now.coverage, then.coverage),
        error_count=_less(now.error_count, then.error_count),
        file_count=_less(now.file_count, then.file_count),
        complexity=_growth(now.complexity, then.complexity),
    )


def improved(change: Deltas) -> list[str]:
    """Return the metrics that say an iteration went forward."""
    better: dict[str, Number | None] = {
        "test_count": change.test_count,
        "tests_passed": change.tests_passed,
        "coverage": change.coverage,
        "error_count": None if change.error_count is None else -change.error_count,
    }
    return [name for name, by in better.items() if by is not None and by > 0]


def _less(now: Amount | None, then: Amount | None) -> Amount | None:
    return None if now is None or then is None else now - then


def _growth(now: Fraction | None, then: Fraction | None) -> Fraction | None:
    return None if now is None or not then else (now - then) / then
