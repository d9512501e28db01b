"""Laws of custom metrics: exact fractions, and no change without any."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.judging.events import Metrics, OwnMetric, Weights
from sprintlog.engine.judging.exact import exact
from sprintlog.engine.judging.metrics import DIRECTIONS, HIGHER, figures, points
from sprintlog.engine.judging.score import score, score_on, score_parts

from ..measurements import VALUES
from ..sprint.test_sprint_laws import laws

METRICS: st.SearchStrategy[Metrics] = VALUES[Metrics]
DECLARED = VALUES[tuple[OwnMetric, ...]]
NUMBERS = st.integers(-(10**12), 10**12) | st.floats(-1e12, 1e12)
ABOVE = st.integers(1, 10**12) | st.floats(1e-6, 1e12)


@laws
@given(ABOVE, ABOVE, st.sampled_from(DIRECTIONS))
def test_is_the_exact_part(value: float, base: float, better: str) -> None:
    """For numbers above 0 it is 100 · min(1, ratio), without rounding errors."""
    mine, then = exact(value), exact(base)
    part = mine / then if better == HIGHER else then / mine
    assert points(OwnMetric("m", better, 1.0), mine, then) == 100 * min(part, Fraction(1))


@laws
@given(NUMBERS, NUMBERS, NUMBERS, st.sampled_from(DIRECTIONS))
def test_better_never_gives_less(a: float, b: float, base: float, better: str) -> None:
    """For any three numbers the points are 0 to 100, and grow with better values."""
    metric, then = OwnMetric("m", better, 1.0), exact(base)
    worse, good = sorted(map(exact, (a, b)), reverse=better != HIGHER)
    less, more = points(metric, worse, then), points(metric, good, then)
    assert less is not None
    assert more is not None
    assert 0 <= less <= more <= 100


@laws
@given(METRICS, METRICS, DECLARED)
def test_unweighted_ones_change_no_score(
    now: Metrics, base: Metrics, declared: tuple[OwnMetric, ...]
) -> None:
    """A metric without a weight does not affect any score."""
    mine, then = figures(now), figures(base)
    shown = [OwnMetric(one.name, one.better, 0.0, one.target) for one in declared]
    assert score(mine, then, Weights(), own=shown) == score(mine, then, Weights())


@laws
@given(METRICS, METRICS, DECLARED)
def test_kept_parts_give_the_same_scores(
    now: Metrics, base: Metrics, declared: tuple[OwnMetric, ...]
) -> None:
    """The stored part of a score equals the score on any of its components."""
    unique = {one.name: one for one in declared}.values()
    found = score(figures(now), figures(base), Weights(), own=[*unique])
    kept = score_parts(found.parts)
    for name in found.components:
        assert score_on(kept, {name}) == found.on({name})
    assert score_on(kept, found.components) == found.on(found.components)
