"""Where a rollback goes: to the last work that was as good as the best."""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import chain
from typing import NamedTuple

from .changes import CRITICAL, HIGH
from .evaluation import Judgement, Scored
from .events import RulesSet
from .exact import exact, rounded
from .metrics import not_verified
from .score import compared
from .select import SCORE_PLACES


class WaysBack(NamedTuple):
    """What was found when others of the same path were asked about."""

    targets: dict[int, int | None]
    """Where a rollback from a setback goes, by its number."""
    good: dict[int, int | None]
    """The latest up to a number that is as good as the best, by that number."""


class KnownTargets:
    """What was found from report to report: each looks back over what is new to it.

    A judgement stays as it was. So what was found holds as long as the path goes on at its
    end, and all are compared with the same best by the same rules.
    """

    def __init__(self) -> None:
        self._path: list[int] = []
        self._by: object = None
        self._found = WaysBack({}, {})

    def on(self, path: list[int], *, by: object) -> WaysBack:
        """Return what is known of a path where the judgements depend on `by`."""
        if by != self._by or path[: len(self._path)] != self._path:
            self._found = WaysBack({}, {})
        self._path, self._by = path, by
        return self._found


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
    known: WaysBack | None = None,
) -> int | None:
    """Return the iteration that a rollback goes to; None where there is none.

    `newest_first` are the measured iterations on the path, read only as far as needed. It
    is the latest of them that is as good as the best one and lies before the setbacks that
    the path ends with; else the best one itself. Where that is one of these setbacks it is
    what the first of them was built on. In a long loop `verified` gives those up to a
    number that can be meant, so that the others need not be read. What is found is added
    to `known`, and no way is gone twice.
    """
    known = known or WaysBack({}, {})
    setbacks: list[Judgement] = []
    target = _target(iter(newest_first), best, rules, verified, known, setbacks)
    if setbacks:
        known.targets[setbacks[0].number] = target
    return target


def _target(
    rest: Iterator[Judgement],
    best: Scored | None,
    rules: RulesSet,
    verified: Callable[[int], Iterable[Judgement]] | None,
    known: WaysBack,
    setbacks: list[Judgement],
) -> int | None:
    """Return where a rollback goes, with the setbacks on the way there."""
    is_after_best = True
    for one in rest:
        if is_after_best and one.number in known.targets:
            return known.targets[one.number]
        if is_setback(one, best, rules):
            setbacks.append(one)
            # From before the best one the target is another than from after it.
            is_after_best &= best is None or one.number != best.number
            continue
        if best is not None:
            others = chain([one], rest) if verified is None else verified(one.number)
            good = _last_good(one.number, others, best, known.good)
            if good is not None:
                return good
        break
    if best is not None and is_after_best:
        return best.number
    return setbacks[-1].previous if setbacks else None


def _last_good(
    number: int, others: Iterable[Judgement], best: Scored, good: dict[int, int | None]
) -> int | None:
    """Return the first that is as good as the best of others up to a number."""
    if number in good:
        return good[number]
    passed, found = [number], None
    for other in others:
        if other.number in good:
            found = good[other.number]
            break
        passed.append(other.number)
        if is_as_good(other, best):
            found = other.number
            break
    good.update(dict.fromkeys(passed, found))
    return found
