"""Metrics of one's own: how they are declared, and what they add to the score."""

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from msgspec import structs

from ..errors import RefusedError
from .events import OwnMetric
from .exact import Number, exact

HIGHER, LOWER = "higher", "lower"
DIRECTIONS = (HIGHER, LOWER)
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")
POINTER_CHARS_MAX = 512
METRICS_MAX = 100
"""More metrics of one's own than these are refused."""
VALUE_MAX = 10**12


def weighed(metrics: Sequence[OwnMetric]) -> tuple[OwnMetric, ...]:
    """Return the metrics that are components of the score."""
    return tuple(one for one in metrics if one.weight)


def points(metric: OwnMetric, value: Number, base: Number | None) -> Fraction | None:
    """Return what a value gives, 0 to 100; None where there is nothing to compare it with.

    It is compared with the target, else with the baseline's value. As good or better gives
    all points, and worse the part of them that the smaller is of the larger. Where the
    smaller is not above 0 no part says anything: there worse gives none.
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
    """Return the value of a metric; raise `RefusedError` unless it can be one."""
    number = check_number(name, value)
    if abs(number) > VALUE_MAX:
        raise refused(name, value, f"is out of range: -{VALUE_MAX} to {VALUE_MAX}")
    return number


def check_word(what: str, word: str, allowed: tuple[str, ...], *, field: str) -> None:
    """Raise `RefusedError` unless a word is one of those allowed."""
    if word not in allowed:
        raise RefusedError(
            f"{what} {str(word)[:40]!r} is none of {', '.join(allowed)}",
            field=field,
            allowed=list(allowed),
        )


def change_metrics(
    metrics: Sequence[OwnMetric], changes: Mapping[str, Mapping[str, Any] | None]
) -> tuple[OwnMetric, ...]:
    """Return metrics with some declared, changed or, with None, taken out.

    What is not named of one stays as it is. Raise `RefusedError` for one to be taken out
    that is not there, and for a property that no metric has.
    """
    found = {one.name: one for one in metrics}
    for name, change in changes.items():
        if change is None:
            if found.pop(name, None) is None:
                raise RefusedError(
                    f"there is no metric {name[:40]!r} of your own", field=name[:40]
                )
            continue
        for part in change:
            if part not in OwnMetric.__struct_fields__[1:]:
                raise RefusedError(f"a metric has no {part[:40]!r}", field=name[:40])
        said = {part: _said(part, value) for part, value in change.items()}
        found[name] = structs.replace(found.get(name, OwnMetric(name)), **said)
    return tuple(found.values())


def _said(part: str, value: Any) -> Any:
    """Return a property as it is stored: a number as a decimal."""
    is_number = part in ("weight", "target") and isinstance(value, int | float)
    return float(value) if is_number else value


def check_own_metrics(metrics: Sequence[OwnMetric], taken: frozenset[str]) -> None:
    """Raise `RefusedError` for what cannot be declared; `taken` are the names of ours."""
    if len(metrics) > METRICS_MAX:
        raise RefusedError(f"{len(metrics)} metrics of your own: at most {METRICS_MAX}")
    seen: set[str] = set()
    for one in metrics:
        _check_name(one.name, taken | seen)
        seen.add(one.name)
        _check_one(one)
    total = sum((exact(one.weight) for one in metrics), Fraction(0))
    if total > 1:
        said = ", ".join(f"{one.name} {one.weight:g}" for one in weighed(metrics))
        raise RefusedError(
            f"metrics of your own weigh {float(total):g} together, more than 1: {said}",
            field="weight",
        )


def _check_name(name: str, taken: frozenset[str]) -> None:
    if not NAME.fullmatch(name):
        raise RefusedError(
            f"metric {name[:40]!r} is no name: at most 64 small letters, digits and _, "
            "a letter first",
            field=name[:40],
        )
    if name in taken:
        raise RefusedError(f"{name} is the name of another metric or part", field=name)


def _check_one(one: OwnMetric) -> None:
    name = one.name
    if one.better is not None:
        check_word(f"{name}: better", one.better, DIRECTIONS, field=name)
    if not isinstance(one.weight, float) or not 0 <= one.weight <= 1:
        raise refused(name, one.weight, "is out of range for a weight: 0 to 1")
    if one.weight and one.better is None:
        raise RefusedError(
            f"{name} cannot weigh {one.weight:g}: whether higher or lower is better is not "
            "known",
            field=name,
            hint="--better higher or --better lower says it",
        )
    if one.target is not None:
        check_value(name, one.target)
    if one.pointer is not None and not (
        isinstance(one.pointer, str)
        and len(one.pointer) <= POINTER_CHARS_MAX
        and POINTER.fullmatch(one.pointer)
    ):
        raise refused(name, one.pointer, "is no JSON pointer, like /latency/p95")


def refused(name: str, value: object, why: str) -> RefusedError:
    """Return the error for a value that cannot be."""
    return RefusedError(f"{name}: {str(value)[:40]!r} {why}", field=name)
