"""Metrics, both built-in and user-declared: their validation and derived figures."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import structs

from ..errors import RefusedError
from .events import Metrics, OwnMetric
from .exact import Number, exact

HIGHER, LOWER = "higher", "lower"
DIRECTIONS = (HIGHER, LOWER)
NAME = r"[a-z][a-z0-9_]{0,63}"
POINTER = r"(?:/(?:[^~/]|~[01])*)*"
POINTER_CHARS_MAX = 512
METRICS_MAX = 100
"""The maximum number of custom metrics."""
VALUE_MAX = 10**12


def weighed(metrics: Sequence[OwnMetric]) -> tuple[OwnMetric, ...]:
    """Return the metrics that are components of the score."""
    return tuple(one for one in metrics if one.weight)


def points(metric: OwnMetric, value: Number, base: Number | None) -> Fraction | None:
    """Return the points for a value, 0 to 100; None if there is no reference value.

    The reference is the target, or the baseline's value if there is no target. An equal or
    better value gets 100 points. A worse value gets the ratio of the smaller to the larger
    of the two values, or no points if the smaller value is not positive.
    """
    reference = base if metric.target is None else exact(metric.target)
    if reference is None:
        return None
    part, whole = (value, reference) if metric.better == HIGHER else (reference, value)
    if part >= whole:
        return Fraction(100)
    return 100 * Fraction(part) / Fraction(whole) if part > 0 else Fraction(0)


def check_number(name: str, value: object) -> int | float:
    """Return a value; raise `RefusedError` unless it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refused(name, value, "is not a number")
    if not math.isfinite(value):
        raise refused(name, value, "is not a finite number")
    return value


def check_value(name: str, value: object) -> int | float:
    """Return the value of a metric; raise `RefusedError` if it is not a valid number."""
    number = check_number(name, value)
    if abs(number) > VALUE_MAX:
        raise refused(name, value, f"is out of range (-{VALUE_MAX} to {VALUE_MAX})")
    return number


def check_word(what: str, word: str, allowed: tuple[str, ...], *, field: str) -> None:
    """Raise `RefusedError` if a value is not allowed."""
    if word not in allowed:
        raise RefusedError(
            f"{what} {str(word)[:40]!r} must be one of {', '.join(allowed)}",
            field=field,
            allowed=list(allowed),
        )


def change_metrics(
    metrics: Sequence[OwnMetric], changes: Mapping[str, Mapping[str, Any] | None]
) -> tuple[OwnMetric, ...]:
    """Return the metrics with changes applied; None removes a metric.

    Properties that are not named are unchanged. Raise `RefusedError` for an unknown
    property, or if a metric to remove does not exist.
    """
    found = {one.name: one for one in metrics}
    for name, change in changes.items():
        if change is None:
            if found.pop(name, None) is None:
                raise RefusedError(f"unknown custom metric {name[:40]!r}", field=name[:40])
            continue
        for part in change:
            if part not in OwnMetric.__struct_fields__[1:]:
                raise RefusedError(f"a metric has no field {part[:40]!r}", field=name[:40])
        said = {part: _said(part, value) for part, value in change.items()}
        found[name] = structs.replace(found.get(name, OwnMetric(name)), **said)
    return tuple(found.values())


def _said(part: str, value: Any) -> Any:
    """Return a property in its stored format; weights and targets are decimals."""
    is_number = part in ("weight", "target") and isinstance(value, int | float)
    return float(value) if is_number else value


def check_own_metrics(metrics: Sequence[OwnMetric], taken: frozenset[str]) -> None:
    """Raise `RefusedError` for invalid declarations; `taken` lists the reserved names."""
    if len(metrics) > METRICS_MAX:
        raise RefusedError(
            f"at most {METRICS_MAX} custom metrics are allowed, not {len(metrics)}"
        )
    seen: set[str] = set()
    for one in metrics:
        _check_name(one.name, taken | seen)
        seen.add(one.name)
        _check_one(one)
    total = sum((exact(one.weight) for one in metrics), Fraction(0))
    if total > 1:
        said = ", ".join(f"{one.name} {one.weight:g}" for one in weighed(metrics))
        raise RefusedError(
            f"the custom metrics' weights add up to {float(total):g}, which is more than "
            f"1: {said}",
            field="weight",
        )


def _check_name(name: str, taken: frozenset[str]) -> None:
    if not re.fullmatch(NAME, name):
        raise RefusedError(
            f"invalid metric name {name[:40]!r}: must be at most 64 lowercase letters, "
            "digits and _, starting with a letter",
            field=name[:40],
        )
    if name in taken:
        raise RefusedError(
            f"the name {name} is already used for another metric or part", field=name
        )


def _check_one(one: OwnMetric) -> None:
    name = one.name
    if one.better is not None:
        check_word(f"{name}: better", one.better, DIRECTIONS, field=name)
    if not isinstance(one.weight, float) or not 0 <= one.weight <= 1:
        raise refused(name, one.weight, "is out of range for a weight (0 to 1)")
    if one.weight and one.better is None:
        raise RefusedError(
            f"{name} cannot have the weight {one.weight:g}: it is not known whether "
            "higher or lower "
            "is better",
            field=name,
            hint="add --better higher or --better lower",
        )
    if one.target is not None:
        check_value(name, one.target)
    if one.pointer is not None and not (
        isinstance(one.pointer, str)
        and len(one.pointer) <= POINTER_CHARS_MAX
        and re.fullmatch(POINTER, one.pointer)
    ):
        raise refused(name, one.pointer, "is not a JSON pointer such as /latency/p95")


def refused(name: str, value: object, why: str) -> RefusedError:
    """Return the error for an invalid value."""
    return RefusedError(f"{name}: {str(value)[:40]!r} {why}", field=name)


_FIELDS = Metrics.__struct_fields__
_STARTS = {"testing": "test_count", "quality": "lint_errors", "codebase": "file_count"}
_CUTS = [*map(_FIELDS.index, _STARTS.values()), _FIELDS.index("own")]
GROUPS = {group: _FIELDS[_CUTS[n] : _CUTS[n + 1]] for n, group in enumerate(_STARTS)}
"""Every metric, in the groups and order of the reports."""

NAMES = tuple(name for group in GROUPS.values() for name in group)
PERCENTAGES = ("pass_rate", "coverage_percentage")
DECIMALS = (*PERCENTAGES, "complexity_score")
SUCCESS, FAILED = "success", "failed"
BUILD_STATUSES = (SUCCESS, FAILED)
NUMBER_MAX = 10**12
RATE_TOLERANCE = Fraction(5, 100)
"""The tolerance for a reported rate, which may be rounded to one decimal place."""


class Figures(NamedTuple):
    """The exact values of metrics, and values derived from them; None if unknown."""

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
    """The custom metrics by name."""

    def known(self) -> dict[str, Any]:
        """Return all values by name, custom metrics last; None if unknown."""
        return with_own(self._asdict())


def with_own(known: dict[str, Any]) -> dict[str, Any]:
    """Return values by name, custom metrics last."""
    own = known.pop("own")
    return {**known, **own}


def figures(metrics: Metrics) -> Figures:
    """Return the figures for metrics; missing counts are computed if possible."""
    m = metrics
    count = m.test_count
    if count is None and m.tests_passed is not None and m.tests_failed is not None:
        count = m.tests_passed + m.tests_failed + (m.tests_skipped or 0)
    failed = m.tests_failed
    if failed is None and count is not None and m.tests_passed is not None:
        failed = count - m.tests_passed - (m.tests_skipped or 0)
    same = {name: x for name, x in structs.asdict(m).items() if name in Figures._fields}
    computed: dict[str, Any] = {
        "test_count": count,
        "tests_failed": failed,
        "pass_rate": _pass_rate(m, count),
        "coverage": _coverage(m),
        "error_count": _error_count(m),
        "complexity": _exact(m.complexity_score),
        "own": {name: exact(value) for name, value in m.own.items()},
    }
    return Figures(**same | computed)


def named(metrics: Metrics) -> dict[str, Any]:
    """Return metrics by name, custom metrics last; None if unknown."""
    return with_own(structs.asdict(metrics))


def check_metrics(
    given: Mapping[str, object] | Metrics, own: Collection[str] = ()
) -> Metrics:
    """Return metrics after validating them; raise `RefusedError` for an invalid value.

    `own` contains the names of the custom metrics that the current rules declare.
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
    """Return metrics by name, including the custom metrics in `own`."""
    own = given.get("own")
    if not isinstance(own, Mapping):
        return given
    rest = {name: value for name, value in given.items() if name != "own"}
    if twice := sorted(rest.keys() & own.keys()):
        raise RefusedError(f"{twice[0]} occurs more than once", field=str(twice[0]))
    return {**rest, **own}


def _declaring(name: str) -> str | None:
    """Return the command that declares a custom metric; None if its name is invalid."""
    if re.fullmatch(NAME, name) is None:
        return None
    return f"use `sprintlog iteration rules set --metric {name}` to declare one"


def _checked(name: str, value: object) -> object:
    if name == "build_status":
        if value not in BUILD_STATUSES:
            raise refused(name, value, f"is unknown; allowed: {', '.join(BUILD_STATUSES)}")
        return value
    number = check_number(name, value)
    if name not in DECIMALS and number != int(number):
        raise refused(name, value, "must be a whole number")
    limit = 100 if name in PERCENTAGES else NUMBER_MAX
    if not 0 <= number <= limit:
        raise refused(name, value, f"is out of range (0 to {limit})")
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
    # If no tests were collected, none passed.
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
    """Return why a measured iteration is not verified; None if it is."""
    if now.tests_failed is None or now.tests_passed is None:
        return "its tests are not known"
    if now.tests_failed > 0:
        return f"{now.tests_failed} of its tests failed"
    if now.tests_passed < 1:
        return "none of its tests passed"
    return "its build failed" if now.build_status == FAILED else None
