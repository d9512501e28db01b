"""The recommendation after an iteration: continue, stop, roll back or ask a person."""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import chain
from typing import NamedTuple

from ..log.event import made_from
from . import changes as d
from . import loop_rules as words
from .evaluation import MESSAGE as LOOP_MESSAGE
from .evaluation import Judgement, Scored
from .events import RecommendationGiven, RulesSet
from .exact import exact, rounded, short, shown
from .metrics import not_verified
from .score import SCORE_PLACES, compared


class WaysBack(NamedTuple):
    """The rollback targets that were found for a path."""

    targets: dict[int, int | None]
    """The target of a rollback from each setback, by the setback's number."""
    good: dict[int, int | None]
    """The latest iteration up to each number that is as good as the best iteration."""


class KnownTargets:
    """A cache of rollback targets that is shared by the reports about a growing path.

    Judgements never change, so the targets remain valid while the path only grows at its
    end and the best iteration and the rules remain the same.
    """

    def __init__(self) -> None:
        self._path: list[int] = []
        self._by: object = None
        self._found = WaysBack({}, {})

    def on(self, path: list[int], *, by: object) -> WaysBack:
        """Return the known targets for a path; drop all of them if `by` has changed.

        The judgements depend on `by`.
        """
        if by != self._by or path[: len(self._path)] != self._path:
            self._found = WaysBack({}, {})
        self._path, self._by = path, by
        return self._found


def behind_best(judged: Judgement, best: Scored | None) -> Fraction:
    """Return how far a score is below the best score, compared on common components.

    An iteration that precedes the best iteration is never behind it.
    """
    if best is None or judged.number < best.number:
        return Fraction(0)
    pair = compared(judged.score, best.score)
    return pair[1] - pair[0] if pair is not None else Fraction(0)


def is_setback(judged: Judgement, best: Scored | None, rules: RulesSet) -> bool:
    """Return whether an iteration has lost enough quality to justify a rollback."""
    behind = behind_best(judged, best)
    severities = {alert.severity for alert in judged.alerts}
    return (
        d.CRITICAL in severities
        or (d.HIGH in severities and behind > 0)
        or behind > exact(rules.thresholds.below_best)
    )


def is_as_good(judged: Judgement, best: Scored) -> bool:
    """Return whether an iteration is verified and its rounded score reaches the best score.

    The scores are compared on the components that both iterations have.
    """
    pair = compared(judged.score, best.score)
    if pair is None or judged.unfit or not_verified(judged.figures) is not None:
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
    """Return the target of a rollback; None if there is none.

    `newest_first` yields the measured, effective iterations, and is read only as far as
    necessary. The target is the latest iteration that is as good as the best iteration and
    precedes the final setbacks, otherwise the best iteration itself. If the best iteration
    is one of these setbacks, the target is the iteration that the first setback was built
    on. In a long loop, `verified` returns the candidates up to a number, so that no other
    iterations are read. Results are added to `known`.
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
    """Return the target of a rollback; add the preceding setbacks to `setbacks`."""
    is_after_best = True
    for one in rest:
        if is_after_best and one.number in known.targets:
            return known.targets[one.number]
        if is_setback(one, best, rules):
            setbacks.append(one)
            # Iterations before the best one have a different target from those after it.
            is_after_best &= best is None or one.number != best.number
            continue
        if best is not None:
            others = chain([one], rest) if verified is None else verified(one.number)
            if (good := _last_good(one.number, others, best, known.good)) is not None:
                return good
        break
    if best is not None and is_after_best:
        return best.number
    return setbacks[-1].previous if setbacks else None


def _last_good(
    number: int, others: Iterable[Judgement], best: Scored, good: dict[int, int | None]
) -> int | None:
    """Return the first iteration in `others` that is as good as `best`, or None."""
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


WEIGHTS = {d.CRITICAL: Fraction(8, 10), d.HIGH: Fraction(5, 10), d.MEDIUM: Fraction(2, 10)}
"""The confidence in a recommendation, by the severity of its alert."""
SURE, LIKELY, UNSURE = WEIGHTS.values()


class Reason(NamedTuple):
    """A reason for an action, and the weight of that reason."""

    text: str
    weight: Fraction


class Recommendation(NamedTuple):
    """The recommended action after an iteration."""

    number: int
    action: str
    reason: str
    message: str
    """A short form of the reason, for a loop."""
    reasons: tuple[Reason, ...]
    target: int | None = None
    best: int | None = None
    """The best iteration, if a rollback is recommended; the target may differ."""
    alternatives: tuple[str, ...] = ()
    cause: str = ""
    """The cause of the action; empty if the action is to continue."""
    alerts: tuple[str, ...] = ()
    """The severity and type of each alert on which the recommendation is based."""
    evidence: tuple[int, ...] = ()
    """The versions of the measurements on which the recommendation is based."""

    @property
    def confidence(self) -> Fraction:
        """Return the confidence: 1 minus the product of the doubts of all reasons."""
        if not self.reasons:
            return UNSURE
        doubt = Fraction(1)
        for reason in self.reasons:
            doubt *= 1 - reason.weight
        return 1 - doubt

    @property
    def derivation(self) -> str:
        """Return the formula from which the confidence is computed."""
        if not self.reasons:
            return f"{shown(UNSURE, 2)}, without a reason"
        doubts = " · ".join(f"(1 - {shown(r.weight, 1)})" for r in self.reasons)
        return f"1 - {doubts} = {shown(self.confidence, 2)}"

    @property
    def event(self) -> RecommendationGiven:
        """Return the event that records this recommendation."""
        because = tuple(reason.text for reason in self.reasons)
        confidence = float(self.confidence)
        return made_from(RecommendationGiven, self, confidence=confidence, because=because)


def recommend(
    judged: Judgement,
    best: Scored | None,
    rules: RulesSet,
    *,
    max_iterations: int | None,
    begun: int = 0,
    find_target: Callable[[], int | None] | None = None,
) -> Recommendation:
    """Return the recommendation after an iteration; the first matching rule applies.

    `begun` is the highest iteration number so far, which is compared with the maximum.
    `find_target` returns the target of a rollback, and is called only if a rollback is
    recommended.
    """
    stops = _stops(judged, rules, max_iterations, max(begun, judged.number))
    others = d.STALL_ALTERNATIVES if judged.classification == d.STALLED else ()
    if judged.loop is not None and judged.loop.is_infinite:
        why = Reason(f"{LOOP_MESSAGE} ({judged.loop.why})", SURE)
        reasons = [why, *(reason for _, reason in stops)]
        return _stop(judged.number, words.INFINITE_LOOP, reasons, others)
    if judged.loop is not None:
        why = Reason(f"metrics cycling ({judged.loop.why})", SURE)
        said = ("metric cycling", "Metric cycling")
        return _escalate(judged.number, words.CYCLING, said, why)
    limit = exact(rules.thresholds.measured_share)
    if judged.score.share < limit and not judged.score.is_given:
        share = shown(judged.score.share * 100, 0)
        why = Reason(f"only {share}% of the score's weight was measured", UNSURE)
        said = ("high uncertainty", "Too little measured")
        return _escalate(judged.number, words.UNCERTAIN, said, why)
    if is_setback(judged, best, rules):
        ask = find_target or (lambda: rollback_target([judged], best, rules))
        return _rollback(judged, best, rules, ask())
    if stops:
        reasons, cause = [why for _, why in stops], stops[0][0]
        return _stop(judged.number, cause, reasons, others)
    return _continue(judged, rules)


def recommend_asking(
    number: int, error: str | None, *, target: int | None = None
) -> Recommendation:
    """Return the recommendation to ask a person about an unmeasured iteration."""
    why = f"iteration {number} was not measured" + (f": {error}" if error else "")
    said = ("unmeasured iteration", f"Iteration {number} was not measured")
    advice = _escalate(number, words.UNMEASURED, said, Reason(why, UNSURE))
    return advice._replace(target=target)


def recommend_tampered(
    number: int, on_tamper: str, how: str, *, target: int | None
) -> Recommendation:
    """Return the recommendation by rule after an iteration that changed its measure."""
    why = Reason(f"iteration {number} changed its measure: {how}", SURE)
    advice = _stop(number, words.TAMPERED, [why])
    if on_tamper == words.STOP:
        return advice
    reason = f"Rollback to iteration {target} due to a changed measure"
    return advice._replace(action=words.ROLLBACK, reason=reason, target=target)


def recommend_end(begun: int, max_iterations: int) -> Recommendation:
    """Return the recommendation to stop an unmeasured loop that reached its limit."""
    return _stop(begun, words.MAXIMUM, [_used_up(begun, max_iterations)])


def recommend_unchanged(last: int, count: int, best: int | None) -> Recommendation:
    """Return the recommendation to stop after `count` unchanged iterations up to `last`."""
    known = "is unknown: none was measured" if best is None else f"is {best}"
    why = f"no file changed in {count} consecutive iterations; the best iteration {known}"
    return _stop(last, words.UNCHANGED, [Reason(why, SURE)])


def _used_up(begun: int, max_iterations: int) -> Reason:
    return Reason(f"iteration {begun} of at most {max_iterations}", LIKELY)


_STOPS = {
    words.INFINITE_LOOP: ("infinite loop", LOOP_MESSAGE),
    words.STALL: (f"stall: {d.STALL_MESSAGE}", d.STALL_MESSAGE),
    words.UNCHANGED: ("unchanged files", "No file changed"),
    words.TARGET: ("target quality reached", "Target quality reached"),
    words.TAMPERED: ("a changed measure", "Tests or measure changed"),
    words.MAXIMUM: ("maximum iterations reached", "Maximum iterations reached"),
}


def _stops(
    judged: Judgement, rules: RulesSet, max_iterations: int | None, begun: int
) -> list[tuple[str, Reason]]:
    """Return the reasons to stop that do not involve a regression."""
    found = []
    if judged.classification == d.STALLED:
        found.append((words.STALL, Reason(d.STALL_MESSAGE, SURE)))
    target, value = rules.thresholds.target, judged.score.value
    if target is not None and value is not None and value >= exact(target):
        text = f"score {shown(value, 2)} reached the target {shown(exact(target), 2)}"
        found.append((words.TARGET, Reason(text, LIKELY)))
    if max_iterations is not None and begun >= max_iterations:
        found.append((words.MAXIMUM, _used_up(begun, max_iterations)))
    return found


def _stop(
    number: int, cause: str, reasons: Iterable[Reason], others: tuple[str, ...] = ()
) -> Recommendation:
    why, said = _STOPS[cause]
    is_quiet = cause in (words.TARGET, words.MAXIMUM)
    return Recommendation(
        number=number,
        action=words.STOP,
        reason=f"Loop should terminate due to {why}",
        message=f"{said if is_quiet else f'ALERT: {said}'}, recommend stop",
        reasons=tuple(reasons),
        alternatives=others,
        cause=cause,
    )


def _escalate(
    number: int, cause: str, texts: tuple[str, str], why: Reason
) -> Recommendation:
    issue, said = texts
    return Recommendation(
        number=number,
        action=words.ESCALATE,
        reason=f"Escalate to human - {issue} detected",
        message=f"ALERT: {said}, recommend asking a person",
        reasons=(why,),
        cause=cause,
    )


def _rollback(
    judged: Judgement, best: Scored | None, rules: RulesSet, target: int | None
) -> Recommendation:
    """Return the recommendation to roll back a setback."""
    behind = behind_best(judged, best)
    limit = exact(rules.thresholds.below_best)
    reasons = [Reason(alert.message, WEIGHTS[alert.severity]) for alert in judged.alerts]
    if behind > limit:
        # A value slightly above the limit must not look equal to it.
        places = 2 if shown(behind, 2) != shown(limit, 2) else 4
        said_behind, said_limit = shown(behind, places), short(limit, places)
        text = f"score is {said_behind} below the best, more than {said_limit}"
        reasons.append(Reason(text, LIKELY))
    serious = [a.type for a in judged.alerts if a.severity in (d.CRITICAL, d.HIGH)]
    said = serious[0].replace("_", " ").capitalize() if serious else "Quality below best"
    return Recommendation(
        number=judged.number,
        action=words.ROLLBACK,
        reason=f"Rollback to iteration {target} due to regression",
        message=f"ALERT: {said}, recommend rollback",
        reasons=tuple(reasons),
        target=target,
        best=None if best is None else best.number,
        cause=words.REGRESSION,
    )


def _continue(judged: Judgement, rules: RulesSet) -> Recommendation:
    change = judged.from_previous
    better = d.improved(change, rules.metrics) if change is not None else []
    if judged.classification == d.FORWARD:
        message = "Forward progress detected"
        reason = "Continue - forward progress detected"
    elif judged.classification is None:
        reason, message = "Continue - nothing to compare with yet", "First measurement"
    elif judged.alerts:
        worst = judged.alerts[0].type.replace("_", " ")
        reason = f"Continue - {worst} is no reason to go back"
        message = worst.capitalize()
    else:
        reason, message = "Continue - metrics are stable", "Metrics are stable"
    return Recommendation(
        number=judged.number,
        action=words.CONTINUE,
        reason=reason,
        message=f"{message}, continue",
        reasons=tuple(Reason(f"{name} improved", LIKELY) for name in better),
    )
