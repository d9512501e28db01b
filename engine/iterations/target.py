"""Where a rollback goes: to the last work that was as good as the best."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import chain

from .alerts import CRITICAL, HIGH
from .evaluation import Judgement, Scored
from .events import RulesSet
from .exact import exact, rounded
from .metrics import not_verified
from .score import compared
from .select import SCORE_PLACES


def behind_best(judged: Judgement, best: Scored | None) -> Fraction:
    """Return how far an iteration is below the best one, on what both have measured.

    One from before the best one is not behind it: nothing was won yet that it could lose.
    """
    if best is None or judged.number < best.number:
        return Fraction(0)
    pair = compared(judged.score, best.score)
    return pair[1] - pair[0] if pair is not None else Fraction(0)


def is_setback(judged: Judgement, best: Scored | None, rules: RulesSet) -> bool:
    """Tell whether an iteration lost so much of what was won that one should go back."""
    behind = behind_best(judged, best)
    severities = {alert.severity for alert in judged.alerts}
    return (
        CRITICAL in severities
        or (HIGH in severities and behind > 0)
        or behind > exact(rules.thresholds.below_best)
    )


def is_as_good(judged: Judgement, best: Scored) -> bool:
    """Tell whether an iteration is verified, and prints no lower score than the best one.

    Scores are compared on the components that both have.
    """
    pair = compared(judged.score, best.score)
    if pair is None or not_verified(judged.figures) is not None:
        return False
    mine, its = pair
    return rounded(mine, SCORE_PLACES) >= rounded(its, SCORE_PLACES)


def rollback_target(
    newest_first: Iterable[Judgement],
    best: Scored | None,
    rules: RulesSet,
    *,
    verified: Callable[[int], Iterable[Judgement]] | None = None,
) -> int | None:
    """Return the iteration that a rollback goes to; None where there is none.

    `newest_first` are the measured iterations on the path, read only as far as needed. It
    is the latest of them that is as good as the best one and lies before the setbacks that
    the path ends with; else the best one itself. Where that is one of these setbacks it is
    what the first of them was built on. In a long loop `verified` gives those up to a
    number that can be meant, so that the others need not be read.
    """
    setbacks: list[Judgement] = []
    rest = iter(newest_first)
    for one in rest:
        if is_setback(one, best, rules):
            setbacks.append(one)
            continue
        if best is not None:
            others = chain([one], rest) if verified is None else verified(one.number)
            good = next((other for other in others if is_as_good(other, best)), None)
            if good is not None:
                return good.number
        break
    if best is not None and all(one.number != best.number for one in setbacks):
        return best.number
    return setbacks[-1].previous if setbacks else None
