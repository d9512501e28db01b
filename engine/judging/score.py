"""The quality score: the weighted sum of five dimensions, each the mean of its components.

A component that cannot be measured is omitted from its dimension, a dimension without
components is omitted, and the other weights are renormalized. A custom metric with a weight
is an additional dimension; the five dimensions share the remaining weight.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from .events import OwnMetric, Weights
from .exact import Number, exact, short, shown
from .metrics import SUCCESS, Figures, weighed
from .metrics import points as own_points

Points = Number | None
Measure = Callable[[Figures, Figures], Points]

SCORE_PLACES = 2
"""The number of decimal places of a score; scores that print alike are equal."""
BUILD = "build_success"
"""The component that is derived from a command's exit code."""
LOC_NEAR, LOC_FAR = Fraction(20, 100), Fraction(50, 100)
"""The relative changes in code size up to which all points are awarded, and from which only
half of them are."""


class Component(NamedTuple):
    """A component of a dimension; it has no points if it could not be measured."""

    name: str
    points: Fraction | None


class Dimension(NamedTuple):
    """A dimension of the score."""

    name: str
    weight: Fraction
    components: tuple[Component, ...]
    points: Fraction | None
    """The mean points of the measured components, from 0 to 100."""
    contribution: Fraction | None
    """The contribution to the score, after the weights were renormalized."""
    applied: Fraction | None
    """The renormalized weight; None if no component was measured."""


class Score(NamedTuple):
    """A quality score, with the dimensions from which it was computed."""

    value: Fraction | None
    """The score from 0 to 1; None if nothing could be measured."""
    share: Fraction
    """The share of the formula's weight that was measured."""
    dimensions: tuple[Dimension, ...]
    is_given: bool = False
    """Whether the score came from another source and replaces the computed score."""

    @property
    def components(self) -> frozenset[str]:
        """Return the names of the components that were measured."""
        return frozenset(
            component.name
            for dimension in self.dimensions
            for component in dimension.components
            if component.points is not None
        )

    @property
    def wanted(self) -> frozenset[str]:
        """Return the names of all components that the rules require."""
        return frozenset(c.name for one in self.dimensions for c in one.components)

    def on(self, names: Collection[str]) -> Fraction | None:
        """Return the score on the given components; None if no component has a weight."""
        parts = ((one.weight, one.components) for one in self.dimensions)
        return score_on(parts, names)

    @property
    def parts(self) -> tuple[tuple[str, str, str, str], ...]:
        """Return the dimension, weight, component and points of each measured component."""
        return tuple(
            (one.name, str(one.weight), component.name, str(component.points))
            for one in self.dimensions
            for component in one.components
            if component.points is not None
        )


def score_on(
    parts: Iterable[tuple[Fraction, Sequence[Component]]], names: Collection[str]
) -> Fraction | None:
    """Return the weighted score on the given components; None if no weight remains."""
    total = share = Fraction(0)
    for weight, components in parts:
        mean = _mean([c for c in components if c.name in names])
        if mean is not None:
            total += mean * weight / 100
            share += weight
    return total / share if share else None


def score_parts(
    kept: Iterable[tuple[str, str, str, str]],
) -> list[tuple[Fraction, list[Component]]]:
    """Return the weights and their components, given the result of `Score.parts`."""
    found: dict[str, tuple[Fraction, list[Component]]] = {}
    for dimension, weight, name, points in kept:
        _, components = found.setdefault(dimension, (Fraction(weight), []))
        components.append(Component(name, Fraction(points)))
    return list(found.values())


def compared(one: Score, other: Score) -> tuple[Fraction, Fraction] | None:
    """Return two scores on their common components; None if they have none in common.

    A supplied score is compared without change.
    """
    mine, theirs = one.value, other.value
    ours, its = one.components, other.components
    # On all of its components, a score equals its value; usually both have the same.
    if ours != its and not (one.is_given or other.is_given):
        mine, theirs = one.on(ours & its), other.on(ours & its)
    return None if mine is None or theirs is None else (mine, theirs)


def score(
    now: Figures,
    baseline: Figures | None,
    weights: Weights,
    given: float | None = None,
    own: Sequence[OwnMetric] = (),
) -> Score:
    """Return the score of an iteration; `given` is a supplied score.

    `own` contains the custom metrics that the rules declare.
    """
    measured = _measured(now, baseline or Figures(), weights, weighed(own))
    means = [_mean(components) for _, _, components in measured]
    weighs = zip(measured, means, strict=True)
    share = sum((weight for (_, weight, _), m in weighs if m is not None), Fraction(0))
    dimensions = []
    total = Fraction(0)
    for (name, weight, components), mean in zip(measured, means, strict=True):
        applied = None if mean is None or not share else weight / share
        part = None if mean is None or applied is None else mean * applied / 100
        total += part or 0
        dimensions.append(Dimension(name, weight, components, mean, part, applied))
    value = total if share else None
    if given is not None:
        value = exact(given)
    return Score(value, share, tuple(dimensions), given is not None)


def _measured(
    now: Figures, base: Figures, weights: Weights, own: Sequence[OwnMetric]
) -> list[tuple[str, Fraction, tuple[Component, ...]]]:
    """Return the name, weight and components of each dimension; the weights add up to 1."""
    rest = max(1 - sum((exact(one.weight) for one in own), Fraction(0)), Fraction(0))
    found = [
        (name, rest * exact(getattr(weights, name)), _measure(name, now, base))
        for name in DIMENSIONS
    ]
    for one in own:
        value = now.own.get(one.name)
        gives = None if value is None else own_points(one, value, base.own.get(one.name))
        found.append((one.name, exact(one.weight), (Component(one.name, gives),)))
    return found


def _measure(name: str, now: Figures, base: Figures) -> tuple[Component, ...]:
    return tuple(
        Component(part, _clamped(measure(now, base)))
        for part, measure in DIMENSIONS[name].items()
    )


def _clamped(points: Points) -> Fraction | None:
    return None if points is None else Fraction(min(max(points, 0), 100))


def _mean(components: Sequence[Component]) -> Fraction | None:
    known = [c.points for c in components if c.points is not None]
    return sum(known, Fraction(0)) / len(known) if known else None


def _build_success(now: Figures, base: Figures) -> Points:
    if now.build_status is None:
        return None
    return 100 if now.build_status == SUCCESS else 0


def _against_baseline(now: Figures, base: Figures) -> Points:
    if now.test_count is None or not base.test_count:
        return None
    return Fraction(100 * now.test_count, base.test_count)


def _growth(now: Figures, base: Figures) -> Fraction | None:
    """Return the growth of the code, as a fraction of the baseline's number of lines."""
    if now.loc_total is None or not base.loc_total:
        return None
    return Fraction(now.loc_total, base.loc_total) - 1


def _loc_appropriate(now: Figures, base: Figures) -> Points:
    if (growth := _growth(now, base)) is None:
        return None
    beyond = min(max(abs(growth), LOC_NEAR), LOC_FAR) - LOC_NEAR
    return 100 - 50 * beyond / (LOC_FAR - LOC_NEAR)


def _no_code_bloat(now: Figures, base: Figures) -> Points:
    if (growth := _growth(now, base)) is None:
        return None
    return 50 if growth > LOC_FAR else 100


def _less(each: int, number: Number | None) -> Points:
    """Return 100 points minus `each` for every unit of a number; None if it is unknown."""
    return None if number is None else 100 - each * number


DIMENSIONS: dict[str, dict[str, Measure]] = {
    "validation": {
        # The pass rate, in percent, is 100 if all tests pass.
        "all_tests_pass": lambda now, base: now.pass_rate,
        BUILD: _build_success,
        "no_lint_errors": lambda now, base: _less(5, now.lint_errors),
    },
    "completeness": {
        "coverage_percentage": lambda now, base: now.coverage,
        "test_count_vs_baseline": _against_baseline,
    },
    "correctness": {
        "pass_rate": lambda now, base: now.pass_rate,
        "error_count_inverted": lambda now, base: _less(2, now.error_count),
    },
    "readability": {
        "lint_warnings_inverted": lambda now, base: _less(3, now.lint_warnings),
        "complexity_reasonable": lambda now, base: _less(5, now.complexity),
    },
    "efficiency": {"loc_appropriate": _loc_appropriate, "no_code_bloat": _no_code_bloat},
}
"""Every dimension, with the functions that compute the points of its components."""


NAMES_OF_PARTS = frozenset(DIMENSIONS) | {n for parts in DIMENSIONS.values() for n in parts}
"""The names of all dimensions and components; custom metrics must not use them."""


def score_text(score: Score) -> str:
    """Return a score as text, with its unmeasured share."""
    if score.value is None:
        return "unknown"
    text = shown(score.value, SCORE_PLACES)
    if score.is_given or score.share == 1:
        return text
    return f"{text} with {short((1 - score.share) * 100)}% unknown"


def unknown_parts(score: Score) -> str | None:
    """Return the unmeasured parts of a score as text; None if everything was measured."""
    if score.value is None or score.is_given or score.share == 1:
        return None
    names = [one.name for one in score.dimensions if one.points is None and one.weight]
    return f"{short((1 - score.share) * 100)}% unknown, nothing measures {', '.join(names)}"
