"""The replacement of the best iteration by a better one."""

from collections.abc import Set
from fractions import Fraction

from .parts import Best
from .score import DIMENSIONS, Score, score_on, score_parts


def after(
    best: Best | None, number: int, found: Score, version: int
) -> tuple[bool, Best | None]:
    """Return whether an iteration is incomplete, and the best iteration afterwards."""
    # A component that the rules no longer require is not missing.
    asked = found.wanted.intersection(best.components) if best is not None else ()
    lacks_some = not found.components.issuperset(asked)
    is_incomplete = lacks_some and not found.is_given
    if found.value is not None and not is_incomplete and _replaces(found, best):
        best = best_of(number, found, version)
    return is_incomplete, best


def best_of(number: int, found: Score, version: int) -> Best:
    """Return an iteration in the stored format of the best iteration."""
    components = tuple(sorted(found.components))
    parts = found.parts if len(found.dimensions) > len(DIMENSIONS) else ()
    return Best(number, str(found.value), components, found.is_given, version, parts)


def _replaces(found: Score, best: Best | None) -> bool:
    """Return whether a score with all required components is better than the best score.

    The scores are compared on the components of the best score. If they are equal, the
    score with more components wins; if these are equal too, the earlier score wins. The
    initial score is 0.
    """
    if best is None or best.is_given or found.is_given:
        return (found.value or 0) > (best.value if best else 0)
    mine, its = found.on(best.components), _on(best, found.components)
    if mine is None or its is None or mine == its:
        return not found.components.issubset(best.components)
    return mine > its


def _on(best: Best, names: Set[str]) -> Fraction | None:
    """Return the score on the given components; None if no component has a weight."""
    # Without custom metrics, the set of components never changes.
    if not best.parts or names >= {*best.components}:
        return best.value
    return score_on(score_parts(best.parts), names)
