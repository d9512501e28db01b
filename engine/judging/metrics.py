"""Metrics: which there are, what is refused, and what follows from them."""

from collections.abc import Collection, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec.structs import asdict

from ..errors import RefusedError
from .events import Metrics
from .exact import exact
from .own_metrics import NAME, check_number, check_value, refused

GROUPS: dict[str, tuple[str, ...]] = {
    "testing": (
        "test_count",
        "tests_passed",
        "tests_failed",
        "tests_skipped",
        "pass_rate",
        "coverage_percentage",
        "coverage_lines_covered",
        "coverage_lines_total",
    ),
    "quality": (
        "lint_errors",
        "lint_warnings",
        "type_errors",
        "error_count",
        "build_status",
    ),
    "codebase": ("file_count", "loc_total", "complexity_score"),
}
"""Every metric, in the order and by the groups of the reports."""

NAMES = tuple(name for group in GROUPS.values() for name in group)
PERCENTAGES = ("pass_rate", "coverage_percentage")
DECIMALS = (*PERCENTAGES, "complexity_score")
SUCCESS, FAILED = "success", "failed"
BUILD_STATUSES = (SUCCESS, FAILED)
NUMBER_MAX = 10**12
RATE_TOLERANCE = Fraction(5, 100)
"""A reported rate may differ from the computed one by rounding to one decimal."""


class Figures(NamedTuple):
    """What metrics say, exactly, with what follows from them; None is not known."""

    test_count: int | None = None
    tests_passed: int | None = None
    tests_failed: int | None = None
    pass_rate: Fraction | None = None
    coverage: Fraction | None = None
    error_count: int | None = None
    lint_errors: int | None = None
    lint_warnings: int | None = None
    build_status: str | None = None
    file_count: int | None = None
    loc_total: int | None = None
    complexity: Fraction | None = None
    own: Mapping[str, Fraction] = MappingProxyType({})
    """Metrics of one's own, by their names."""

    def known(self) -> dict[str, Any]:
        """Return all by their names, metrics of one's own last; None is not known."""
        return with_own(self._asdict())


def with_own(known: dict[str, Any]) -> dict[str, Any]:
    """Return values by their names, those of metrics of one's own behind the others."""
    own = known.pop("own")
    return {**known, **own}


def figures(metrics: Metrics) -> Figures:
    """Return what metrics say; the counts of tests and errors follow where they can."""
    m = metrics
    count = m.test_count
    if count is None and m.tests_passed is not None and m.tests_failed is not None:
        count = m.tests_passed + m.tests_failed + (m.tests_skipped or 0)
    failed = m.tests_failed
    if failed is None and count is not None and m.tests_passed is not None:
        failed = count - m.tests_passed - (m.tests_skipped or 0)
    return Figures(
        test_count=count,
        tests_passed=m.tests_passed,
        tests_failed=failed,
        pass_rate=_pass_rate(m, count),
        coverage=_coverage(m),
        error_count=_error_count(m),
        lint_errors=m.lint_errors,
        lint_warnings=m.lint_warnings,
        build_status=m.build_status,
        file_count=m.file_count,
        loc_total=m.loc_total,
        complexity=_exact(m.complexity_score),
        own={name: exact(value) for name, value in m.own.items()},
    )


def named(metrics: Metrics) -> dict[str, Any]:
    """Return metrics by their names, those of one's own last; None is not known."""
    return with_own(asdict(metrics))


def check_metrics(
    given: Mapping[str, object] | Metrics, own: Collection[str] = ()
) -> Metrics:
    """Return metrics by their names; raise `RefusedError` naming what cannot be.

    `own` are the names of those that the rules in force declare.
    """
    known: dict[str, object] = {}
    found: dict[str, int | float] = {}
    by_name = named(given) if isinstance(given, Metrics) else _flat(given)
    for name, value in by_name.items():
        if name not in NAMES and name not in own:
            names = (*NAMES, *own)
            raise RefusedError(
                f"there is no metric {str(name)[:40]!r}; known: {', '.join(names)}",
                field=str(name)[:40],
                allowed=list(names),
                hint=_declaring(str(name)),
            )
        if value is not None and name in NAMES:
            known[name] = _checked(name, value)
        elif value is not None:
            found[name] = check_value(name, value)
    metrics = Metrics(**known, own=found)  # type: ignore[arg-type]
    _check_together(metrics)
    return metrics


def _flat(given: Mapping[str, object]) -> Mapping[str, object]:
    """Return metrics by name where those of one's own stand below `own`."""
    own = given.get("own")
    if not isinstance(own, Mapping):
        return given
    rest = {name: value for name, value in given.items() if name != "own"}
    if twice := sorted(rest.keys() & own.keys()):
        raise RefusedError(f"{twice[0]} is there twice", field=str(twice[0]))
    return {**rest, **own}


def _declaring(name: str) -> str | None:
    """Return what declares a metric of one's own, where it can have this name."""
    is_name = NAME.fullmatch(name) is not None
    return f"`sprintlog rules set --metric {name}` declares one" if is_name else None


def _checked(name: str, value: object) -> object:
    if name == "build_status":
        if value not in BUILD_STATUSES:
            raise refused(name, value, f"is unknown; allowed: {', '.join(BUILD_STATUSES)}")
        return value
    number = check_number(name, value)
    if name not in DECIMALS and number != int(number):
        raise refused(name, value, "is a count: give a whole number")
    limit = 100 if name in PERCENTAGES else NUMBER_MAX
    if not 0 <= number <= limit:
        raise refused(name, value, f"is out of range: 0 to {limit}")
    return float(number) if name in DECIMALS else int(number)


def _check_together(m: Metrics) -> None:
    parts = {n: getattr(m, n) for n in ("tests_passed", "tests_failed", "tests_skipped")}
    known = {name: value for name, value in parts.items() if value is not None}
    if m.test_count is not None and sum(known.values()) > m.test_count:
        said = ", ".join(f"{name} {value}" for name, value in known.items())
        _contradict(f"{said} are more than test_count {m.test_count}", *known, "test_count")
    covered, total = m.coverage_lines_covered, m.coverage_lines_total
    if covered is not None and total is not None and covered > total:
        _contradict(
            f"coverage_lines_covered {covered} are more than coverage_lines_total {total}",
            "coverage_lines_covered",
            "coverage_lines_total",
        )
    computed = figures(m).pass_rate
    if m.pass_rate is None or computed is None:
        return
    if abs(exact(m.pass_rate) - computed) > RATE_TOLERANCE:
        _contradict(
            f"pass_rate {m.pass_rate} is not tests_passed / test_count "
            f"({float(computed):.2f})",
            "pass_rate",
            "tests_passed",
            "test_count",
        )


def _pass_rate(m: Metrics, count: int | None) -> Fraction | None:
    if count is None or m.tests_passed is None:
        return _exact(m.pass_rate)
    # No test collected is no pass.
    return Fraction(100 * m.tests_passed, count) if count > 0 else Fraction(0)


def _coverage(m: Metrics) -> Fraction | None:
    if m.coverage_percentage is not None:
        return exact(m.coverage_percentage)
    covered, total = m.coverage_lines_covered, m.coverage_lines_total
    if covered is None or total is None or total < 1:
        return None
    return Fraction(100 * covered, total)


def _error_count(m: Metrics) -> int | None:
    if m.error_count is not None:
        return m.error_count
    parts = [m.lint_errors, m.lint_warnings, m.type_errors]
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _exact(number: float | None) -> Fraction | None:
    return None if number is None else exact(number)


def _contradict(why: str, *fields: str) -> None:
    raise RefusedError(f"the metrics contradict each other: {why}", fields=list(fields))


def not_verified(now: Figures) -> str | None:
    """Return why what was measured is not verified; None when it is."""
    if now.tests_failed is None or now.tests_passed is None:
        return "its tests are not known"
    if now.tests_failed > 0:
        return f"{now.tests_failed} of its tests failed"
    if now.tests_passed < 1:
        return "none of its tests passed"
    return "its build failed" if now.build_status == FAILED else None
