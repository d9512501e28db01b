"""What changed between two measurements, exactly; None where a side is missing."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from .events import OwnMetric
from .exact import Number
from .metrics import Figures, with_own
from .own import HIGHER, weighed

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
    own: Mapping[str, Fraction] = MappingProxyType({})
    """Metrics of one's own that both have, by their names."""

    def known(self) -> dict[str, Any]:
        """Return all by their names, metrics of one's own last; None is not known."""
        return with_own(self._asdict())


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
        own={n: x - then.own[n] for n, x in now.own.items() if n in then.own},
    )


def improved(change: Deltas, own: Sequence[OwnMetric] = ()) -> list[str]:
    """Return the metrics that say an iteration went forward.

    Of metrics of one's own those that weigh something do.
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


def _less(now: Amount | None, then: Amount | None) -> Amount | None:
    return None if now is None or then is None else now - then


def _growth(now: Fraction | None, then: Fraction | None) -> Fraction | None:
    return None if now is None or not then else (now - then) / then
