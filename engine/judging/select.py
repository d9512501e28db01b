"""Selection of a loop's result: the best iteration, or an iteration chosen by a person."""

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import NamedTuple

from .changes import CRITICAL, HIGH, alerts, deltas
from .evaluation import Judgement
from .events import BestSelected, RulesSet
from .exact import exact, rounded, short, shown
from .metrics import not_verified
from .score import SCORE_PLACES, compared, score_text
from .tracker import BASELINE_NUMBER, Best

OVER_REFINEMENT = "over_refinement"
RULE = "Per REF-015, select peak quality, not final iteration"
NAMED_MAX = 10
"""The maximum number of iterations named in a sentence; more are only counted."""


class Degradation(NamedTuple):
    """The loss of quality after the peak."""

    started: int
    """The first iteration after the peak."""
    ended: int
    pattern: str
    iterations_after_peak: int
    quality_loss: Fraction
    """The loss as a fraction of the selected score, at most 0."""


class Comparison(NamedTuple):
    """The comparison of the selected iteration with the last iteration."""

    final: Fraction
    selected: Fraction
    delta: Fraction
    improvement: Fraction | None
    """The improvement as a fraction of the final score; None if that score is 0."""
    reason: str | None
    """Why the last iteration was not selected; None if it was selected."""


class Selection(NamedTuple):
    """The iteration whose output is the loop's result, and the reasons for choosing it."""

    selected: Judgement
    final: Judgement
    why_not: str | None
    """Why the iteration may not be selected automatically; None if it may."""
    is_baseline: bool
    rationale: tuple[str, ...]
    comparison: Comparison | None
    degradation: Degradation | None
    is_chosen: bool = False
    """Whether a person chose the iteration."""
    reason: str | None = None
    """Why that person chose it."""

    @property
    def is_verified(self) -> bool:
        """Return whether the iteration's tests pass and its score is high enough."""
        return self.why_not is None

    @property
    def message(self) -> str:
        """Return a one-line description of a loop's selection."""
        what = "baseline" if self.is_baseline else f"iteration {self.selected.number}"
        mine, last = score_text(self.selected.score), score_text(self.final.score)
        marked = "" if self.why_not is None else f", not verified: {self.why_not}"
        return f"Selected {what} (quality: {mine} vs final {last}){marked}"

    @property
    def event(self) -> BestSelected:
        """Return the event that records this selection."""
        mine, last = self.selected.score.value, self.final.score.value
        return BestSelected(
            number=self.selected.number,
            final=self.final.number,
            is_verified=self.is_verified,
            score=None if mine is None else float(mine),
            final_score=None if last is None else float(last),
            is_chosen=self.is_chosen,
            reason=self.reason,
        )


def refusal(judged: Judgement, rules: RulesSet) -> str | None:
    """Return why an iteration cannot be selected; None if it can."""
    value = judged.score.value
    if judged.unfit is not None:
        return f"it was {judged.unfit}"
    if value is None:
        return "it has no score"
    limit = exact(rules.thresholds.acceptance)
    if value < limit:
        return f"its score {shown(value, SCORE_PLACES)} is below {shown(limit, 2)}"
    return not_verified(judged.figures) if rules.verification_required else None


def regression(judged: Judgement, other: Judgement, rules: RulesSet) -> str | None:
    """Return how an iteration has regressed compared to another one; None if it has not."""
    now, then = judged.figures, other.figures
    found = alerts(judged.number, now, then, deltas(now, then), rules.thresholds)
    serious = [alert for alert in found if alert.severity in (CRITICAL, HIGH)]
    if serious:
        return "; ".join(f"{alert.severity} {alert.message}" for alert in serious)
    mine, base = compared(judged.score, other.score) or (0, 0)
    if base - mine > exact(rules.thresholds.below_best):
        return f"its score is {shown(base - mine, SCORE_PLACES)} lower on what both have"
    return None


def select(
    judged: Sequence[Judgement],
    *,
    final: int,
    best: Best | None,
    baseline: Judgement | None,
    rules: RulesSet,
    off_path: Collection[int] = (),
    has_floor: bool = True,
) -> Selection | None:
    """Return the best of all measured iterations; None if it cannot be determined.

    Among the selectable iterations, the best is the iteration that no later iteration
    replaces, or the baseline if all of these iterations are regressions against it. If no
    iteration is selectable, the result is the tracker's best iteration, or the baseline
    unless it is strictly beaten (only with `has_floor`).
    """
    by_number = {one.number: one for one in judged}
    fit = [one for one in judged if refusal(one, rules) is None]
    chosen: Judgement | None = None
    for one in sorted(fit, key=lambda one: one.number):
        if chosen is None or _takes_over(one, chosen, rules, off_path):
            chosen = one
    if chosen is None and best is not None:
        chosen = by_number[best.number]
    if baseline is not None and baseline.score.value is not None and not baseline.unfit:
        by_number[BASELINE_NUMBER] = baseline
        if not has_floor:
            is_floor = False
        elif fit:
            is_floor = all(regression(one, baseline, rules) for one in fit)
        else:
            is_floor = chosen is None or _is_unbeaten(baseline, chosen)
        chosen = baseline if is_floor else chosen
    if chosen is None:
        return None
    last = by_number.get(final) or baseline
    assert last is not None
    return describe(chosen, last, judged, rules=rules, off_path=off_path)


def describe(
    chosen: Judgement,
    last: Judgement,
    judged: Sequence[Judgement],
    *,
    rules: RulesSet,
    off_path: Collection[int] = (),
) -> Selection:
    """Return a selection, with its reasons and a comparison with the last iteration."""
    degradation = _degradation(chosen, last, _later(chosen, last, judged))
    # The baseline is a floor: it needs no minimum score, only passing tests.
    is_baseline = chosen.number == BASELINE_NUMBER
    why_not = not_verified(chosen.figures) if is_baseline else refusal(chosen, rules)
    fit = [one for one in judged if refusal(one, rules) is None]
    if is_baseline:
        rationale = _floor(chosen, fit, rules)
    else:
        rationale = _rationale(chosen, judged, why_not)
        if why_not is None:
            rationale[1:1] = _among_equals(chosen, fit, rules, off_path)
        rationale += lost(degradation)
    return Selection(
        selected=chosen,
        final=last,
        why_not=why_not,
        is_baseline=is_baseline,
        rationale=tuple(rationale),
        comparison=_comparison(chosen, last, degradation, rules),
        degradation=degradation,
    )


def _takes_over(
    one: Judgement, chosen: Judgement, rules: RulesSet, off_path: Collection[int]
) -> bool:
    """Return whether a later iteration replaces the iteration selected so far.

    The later iteration must have all components of the selected iteration, and the scores
    are compared on these components. If the scores are equal, precedence is given to more
    components, then to effective iterations, then to the later iteration, which contains
    the most work. A regression against the selected iteration does not count as equal.
    """
    if (order := _order(one, chosen)) != 0:
        return order == 1
    if regression(one, chosen, rules) is not None:
        return False
    if _lacks(chosen, one):
        return True
    return one.number not in off_path or chosen.number in off_path


def _order(one: Judgement, other: Judgement) -> int | None:
    """Return 1, 0 or -1 for a higher, equal or lower rounded score on common components.

    Return None if the first iteration lacks a required component.
    """
    if _lacks(one, other):
        return None
    if (pair := compared(one.score, other.score)) is None:
        return 0
    mine, its = (rounded(value, SCORE_PLACES) for value in pair)
    return (mine > its) - (mine < its)


def _lacks(one: Judgement, other: Judgement) -> list[str]:
    """Return the components that only the other iteration has and that the rules require.

    A supplied score has no components.
    """
    if one.score.is_given or other.score.is_given:
        return []
    return sorted((other.score.components - one.score.components) & one.score.wanted)


def _is_unbeaten(baseline: Judgement, chosen: Judgement) -> bool:
    """Return whether the baseline is at least as good as the selected iteration.

    The two are compared on their common components. An equal iteration with additional
    components is better than the baseline.
    """
    if (pair := compared(baseline.score, chosen.score)) is None or pair[0] < pair[1]:
        return False
    has_more = _lacks(baseline, chosen) and not _lacks(chosen, baseline)
    return pair[0] > pair[1] or not has_more


def _later(chosen: Judgement, last: Judgement, judged: Sequence[Judgement]) -> list[int]:
    """Return the iterations between the selected and the last iteration on the chain."""
    built_on = {one.number: one.previous for one in judged}
    later: list[int] = []
    number: int | None = last.number
    while number is not None and number > chosen.number and number not in later:
        later.insert(0, number)
        number = built_on.get(number)
    return later


def _degradation(
    chosen: Judgement, last: Judgement, later: Sequence[int]
) -> Degradation | None:
    pair = compared(chosen.score, last.score)
    if not later or pair is None or not pair[0] or (_order(last, chosen) or 0) >= 0:
        return None
    mine, final = pair
    loss = (final - mine) / mine
    return Degradation(later[0], later[-1], OVER_REFINEMENT, len(later), loss)


def _comparison(
    chosen: Judgement, last: Judgement, degradation: Degradation | None, rules: RulesSet
) -> Comparison | None:
    mine, final = chosen.score.value, last.score.value
    if mine is None or final is None:
        return None
    reason: str | None = None
    if chosen.number != last.number:
        reason = _why_not_last(chosen, last, degradation, rules)
    improvement = (mine - final) / final if final else None
    return Comparison(final, mine, mine - final, improvement, reason)


def _why_not_last(
    chosen: Judgement, last: Judgement, degradation: Degradation | None, rules: RulesSet
) -> str:
    why, name = refusal(last, rules), f"Iteration {last.number}"
    if chosen.number == BASELINE_NUMBER and why is None:
        lost = regression(last, chosen, rules) or "it is not better"
        return f"{name} is a regression against the baseline: {lost}"
    if chosen.number == BASELINE_NUMBER and _is_unbeaten(chosen, last):
        return "The baseline was not beaten"
    if degradation is not None:
        return f"Quality degraded after iteration {chosen.number}"
    if why is not None:
        return f"{name} may not be selected: {why}"
    if lacking := _lacks(last, chosen):
        return f"{name} lacks {', '.join(lacking)}"
    return f"{name} is not better"


def _floor(baseline: Judgement, fit: Sequence[Judgement], rules: RulesSet) -> list[str]:
    """Return sentences that explain why the baseline is the result."""
    score = score_text(baseline.score)
    if not fit:
        return [f"No iteration may be selected, and none beat the baseline ({score})"]
    every = "Every iteration that may be selected is a regression against the baseline"
    named = [(one.number, regression(one, baseline, rules)) for one in fit[:NAMED_MAX]]
    said = [f"{every} ({score})", *(f"Iteration {n}: {lost}" for n, lost in named)]
    if (more := len(fit) - NAMED_MAX) > 0:
        said.append(f"{more} more are regressions too")
    return said


def _rationale(
    chosen: Judgement, judged: Sequence[Judgement], why_not: str | None
) -> list[str]:
    """Return sentences that explain why an iteration is the result."""
    now, name = chosen.figures, f"Iteration {chosen.number}"
    score = score_text(chosen.score)
    said = [f"{name} achieved peak quality ({score})"]
    if why_not is not None:
        said = [f"{name} has the best score ({score}), not verified: {why_not}"]
    elif any((_order(one, chosen) or 0) > 0 for one in judged):
        said = [f"{name} has the highest quality of those verified ({score})"]
    if not_verified(now) is None:
        skipped = "" if now.tests_passed == now.test_count else ", the rest skipped"
        said.append(f"All tests passing ({now.tests_passed}/{now.test_count}{skipped})")
        if now.build_status is None:
            said.append("Its build is not known")
    known = [one.figures.coverage for one in judged if one.figures.coverage is not None]
    if now.coverage is not None and now.coverage == max(known):
        said.append(f"Highest coverage ({short(now.coverage)}%)")
    return said


def _among_equals(
    chosen: Judgement, fit: Sequence[Judgement], rules: RulesSet, off_path: Collection[int]
) -> list[str]:
    """Return sentences that explain why equally good iterations were not selected."""
    others = [one for one in fit if one.number != chosen.number]
    alike = [one for one in others if _order(one, chosen) == 0]
    later = [one for one in alike if one.number > chosen.number]
    lost = {one.number: regression(one, chosen, rules) for one in later}
    alike = [one for one in alike if lost.get(one.number) is None]
    said = []
    if equals := [str(one.number) for one in alike if not _lacks(chosen, one)]:
        where = "" if chosen.number in off_path else " on the path"
        said.append(
            f"Equal to {_counted(equals)}: it is the latest{where}, and holds the most work"
        )
    fewer = [one for one in others if _lacks(one, chosen) and not _lacks(chosen, one)]
    if less := [str(one.number) for one in fewer]:
        said.append(f"More was measured than of {_counted(less)}")
    for number, why in list(lost.items())[-NAMED_MAX:]:
        if why is not None:
            said.append(f"Iteration {number} has the same score, and lost: {why}")
    return said


def _counted(numbers: Sequence[str]) -> str:
    named = ", ".join(numbers[-NAMED_MAX:])
    more = f" and {left} more" if (left := len(numbers) - NAMED_MAX) > 0 else ""
    return f"{'iteration' if len(numbers) == 1 else 'iterations'} {named}{more}"


def lost(degradation: Degradation | None) -> list[str]:
    """Return sentences that describe the loss of quality after the peak."""
    if degradation is None:
        return []
    first, last = degradation.started, degradation.ended
    span = f"iteration {first}" if first == last else f"iterations {first}-{last}"
    return [f"Quality degraded in {span}", RULE]


def chosen_by_a_person(
    chosen: Judgement,
    last: Judgement,
    judged: Sequence[Judgement],
    reason: str | None,
    *,
    rules: RulesSet,
) -> Selection:
    """Return a person's selection, including a comparison with the last iteration."""
    found = describe(chosen, last, judged, rules=rules)
    name = "the baseline" if found.is_baseline else f"iteration {chosen.number}"
    why = f"A person chose {name} ({score_text(chosen.score)})"
    rationale = [why, *([f"Their reason: {reason}"] if reason is not None else [])]
    if (comparison := found.comparison) is not None and comparison.reason is not None:
        comparison = comparison._replace(reason=why)
    found = found._replace(rationale=(*rationale, *lost(found.degradation)))
    return found._replace(comparison=comparison, is_chosen=True, reason=reason)
