"""The loop's result on completion: the best iteration, never blindly the last one."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from .exact import exact, short, shown
from .facts import BestSelected, RulesSet
from .judging import Judgement
from .metrics import FAILED
from .tracker import BASELINE_NUMBER, Best

OVER_REFINEMENT = "over_refinement"
RULE = "Per REF-015, select peak quality, not final iteration"


class Degradation(NamedTuple):
    """What was lost after the peak."""

    started: int
    """The first iteration after the peak."""
    ended: int
    pattern: str
    iterations_after_peak: int
    quality_loss: Fraction
    """A part of the selected score, not above 0."""


class Comparison(NamedTuple):
    """The selected iteration against the last one."""

    final: Fraction
    selected: Fraction
    delta: Fraction
    improvement: Fraction | None
    """A part of the final score; None where that is 0."""
    reason: str | None
    """Why the last one was not selected; None when it was."""


class Selection(NamedTuple):
    """Which iteration's output is the loop's result, and why."""

    selected: Judgement
    final: Judgement
    why_not: str | None
    """Why it may not be selected by itself; None when it may."""
    is_baseline: bool
    rationale: tuple[str, ...]
    comparison: Comparison | None
    degradation: Degradation | None

    @property
    def is_verified(self) -> bool:
        """Tell whether its tests pass and its score is high enough."""
        return self.why_not is None

    @property
    def message(self) -> str:
        """Return the selection in a few words, as it is said to a loop."""
        what = "baseline" if self.is_baseline else f"iteration {self.selected.number}"
        mine, last = _score(self.selected), _score(self.final)
        marked = "" if self.why_not is None else f", not verified: {self.why_not}"
        return f"Selected {what} (quality: {mine} vs final {last}){marked}"

    @property
    def fact(self) -> BestSelected:
        """Return the fact that this was selected."""
        mine, last = self.selected.score.value, self.final.score.value
        return BestSelected(
            number=self.selected.number,
            final=self.final.number,
            is_verified=self.is_verified,
            score=None if mine is None else float(mine),
            final_score=None if last is None else float(last),
        )


def not_verified(judged: Judgement) -> str | None:
    """Return why an iteration is not verified; None when it is."""
    now = judged.figures
    if now.tests_failed is None or now.tests_passed is None:
        return "its tests are not known"
    if now.tests_failed > 0:
        return f"{now.tests_failed} of its tests failed"
    if now.tests_passed < 1:
        return "none of its tests passed"
    if now.build_status == FAILED:
        return "its build failed"
    return None


def refusal(judged: Judgement, rules: RulesSet) -> str | None:
    """Return why an iteration may not be selected; None when it may."""
    value = judged.score.value
    if value is None:
        return "it has no score"
    if judged.is_incomplete:
        return "it lacks a metric that others have"
    limit = exact(rules.thresholds.acceptance)
    if value < limit:
        return f"its score {shown(value, 2)} is below {shown(limit, 2)}"
    return not_verified(judged) if rules.verification_required else None


def select(
    judged: Sequence[Judgement],
    *,
    final: int,
    best: Best | None,
    baseline: Judgement | None,
    rules: RulesSet,
) -> Selection | None:
    """Return the best of all measured iterations; None when none can be told to be best.

    The highest score among those that may be selected, the earlier one of equals; the
    tracker's best where none may; the baseline where it is not strictly beaten.
    """
    by_number = {one.number: one for one in judged}
    fit = [one for one in judged if refusal(one, rules) is None]
    chosen = max(fit, key=lambda one: (_value(one), -one.number)) if fit else None
    if chosen is None and best is not None:
        chosen = by_number[best.number]
    if baseline is not None:
        by_number[BASELINE_NUMBER] = baseline
    last = by_number[final]
    if baseline is not None and (chosen is None or _value(baseline) >= _value(chosen)):
        if baseline.score.value is None:
            return None
        chosen = baseline
    if chosen is None:
        return None
    return describe(chosen, last, judged, rules)


def describe(
    chosen: Judgement,
    last: Judgement,
    judged: Sequence[Judgement],
    rules: RulesSet,
) -> Selection:
    """Return a selection with its comparison to the last iteration, and why it is so."""
    later = _later(chosen, last, judged)
    degradation = _degradation(chosen, last, later)
    # The baseline is a floor: it needs no score of its own, only sound tests.
    is_baseline = chosen.number == BASELINE_NUMBER
    why_not = not_verified(chosen) if is_baseline else refusal(chosen, rules)
    return Selection(
        selected=chosen,
        final=last,
        why_not=why_not,
        is_baseline=is_baseline,
        rationale=tuple(_rationale(chosen, judged, degradation, why_not)),
        comparison=_comparison(chosen, last, degradation, rules),
        degradation=degradation,
    )


def _later(chosen: Judgement, last: Judgement, judged: Sequence[Judgement]) -> list[int]:
    """Return the iterations after the chosen one, in the chain that led to the last."""
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
    mine, final = chosen.score.value, last.score.value
    if not later or not mine or final is None or final >= mine:
        return None
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
        why = refusal(last, rules)
        if chosen.number == BASELINE_NUMBER and final <= mine:
            reason = "The baseline was not beaten"
        elif degradation is not None:
            reason = f"Quality degraded after iteration {chosen.number}"
        elif why is not None:
            reason = f"Iteration {last.number} may not be selected: {why}"
        else:
            reason = f"Iteration {last.number} is not better"
    improvement = (mine - final) / final if final else None
    return Comparison(final, mine, mine - final, improvement, reason)


def _rationale(
    chosen: Judgement,
    judged: Sequence[Judgement],
    degradation: Degradation | None,
    why_not: str | None,
) -> list[str]:
    """Return the sentences that say why it was selected."""
    if chosen.number == BASELINE_NUMBER:
        return [f"No iteration that may be selected beat the baseline ({_score(chosen)})"]
    now, name = chosen.figures, f"Iteration {chosen.number}"
    said = [f"{name} achieved peak quality ({_score(chosen)})"]
    if why_not is not None:
        said = [f"{name} has the best score ({_score(chosen)}), not verified: {why_not}"]
    elif any(_value(one) > _value(chosen) for one in judged):
        said = [f"{name} has the highest quality of those verified ({_score(chosen)})"]
    if not_verified(chosen) is None:
        skipped = "" if now.tests_passed == now.test_count else ", the rest skipped"
        said.append(f"All tests passing ({now.tests_passed}/{now.test_count}{skipped})")
        if now.build_status is None:
            said.append("Its build is not known")
    known = [one.figures.coverage for one in judged if one.figures.coverage is not None]
    if now.coverage is not None and now.coverage == max(known):
        said.append(f"Highest coverage ({short(now.coverage)}%)")
    if degradation is not None:
        first, last = degradation.started, degradation.ended
        span = f"iteration {first}" if first == last else f"iterations {first}-{last}"
        said += [f"Quality degraded in {span}", RULE]
    return said


def _value(judged: Judgement) -> Fraction:
    return judged.score.value if judged.score.value is not None else Fraction(-1)


def _score(judged: Judgement) -> str:
    value = judged.score.value
    return "unknown" if value is None else shown(value, 2)
