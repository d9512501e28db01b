"""The loop's result: the best verified iteration, not blindly the last (R333-R341, P14)."""

from fractions import Fraction
from typing import Any

import pytest

from sprintlog.engine.iterations.facts import Metrics, RulesSet, Thresholds
from sprintlog.engine.iterations.select import Selection, not_verified, select

from .measured import (
    BASELINE_OF_PEAK,
    BASELINE_OF_REGRESSION,
    PEAK,
    REGRESSION,
    Measured,
    loop,
    percent,
)

GREEN = Metrics(10, 10, coverage_percentage=80.0)
RED = Metrics(10, 9, coverage_percentage=80.0)


def selected(
    found: Measured, *, final: int | None = None, rules: RulesSet | None = None
) -> Selection | None:
    """Return what is selected at the end of a loop."""
    return select(
        found.all(),
        final=final or found.tracker.highest,
        best=found.tracker.best,
        baseline=found.baseline(),
        rules=rules or RulesSet(),
    )


def scored(*scores: tuple[float, Metrics]) -> Measured:
    """Return a loop of judgements from elsewhere, whose tests are known."""
    found = Measured()
    for score, measured in scores:
        found.measure(measured, score=score)
    return found


def number_of(found: Measured, **given: Any) -> int:
    """Return the number that is selected."""
    selection = selected(found, **given)
    assert selection is not None
    return selection.selected.number


def test_selects_the_peak() -> None:
    """The worked loop: iteration 3 of 5, with every figure that is printed."""
    selection = selected(loop(BASELINE_OF_PEAK, PEAK))
    assert selection is not None
    assert (selection.selected.number, selection.final.number) == (3, 5)
    compared, lost = selection.comparison, selection.degradation
    assert compared is not None
    assert lost is not None
    assert (compared.final, compared.selected) == (percent("0.81"), percent("0.88"))
    assert compared.delta == percent("0.07")
    assert compared.improvement == Fraction(7, 81)
    assert compared.reason == "Quality degraded after iteration 3"
    assert (lost.started, lost.pattern, lost.iterations_after_peak) == (
        4,
        "over_refinement",
        2,
    )
    assert lost.quality_loss == Fraction(-7, 88)
    assert selection.rationale == (
        "Iteration 3 achieved peak quality (0.88)",
        "All tests passing (10/10)",
        "Highest coverage (85%)",
        "Quality degraded in iterations 4-5",
        "Per REF-015, select peak quality, not final iteration",
    )
    assert selection.message == "Selected iteration 3 (quality: 0.88 vs final 0.81)"


def test_says_the_selection_in_the_documents_words() -> None:
    """Another loop of the same scores gives the text of Example 4."""
    found = scored((0.65, GREEN), (0.88, GREEN), (0.81, GREEN))
    selection = selected(found)
    assert selection is not None
    assert selection.message == "Selected iteration 2 (quality: 0.88 vs final 0.81)"


@pytest.mark.parametrize(
    ("score", "is_verified"), [(0.70, True), (0.6999, False), (0.0001, False)]
)
def test_accepts_from_a_threshold_on(score: float, is_verified: bool) -> None:
    """A score of 0.70 is accepted; below it the tracker's best is taken, marked so."""
    selection = selected(scored((score, GREEN)))
    assert selection is not None
    assert (selection.selected.number, selection.is_verified) == (1, is_verified)
    assert ("not verified" in selection.message) is not is_verified


@pytest.mark.parametrize(
    ("measured", "why"),
    [
        (GREEN, None),
        (Metrics(10, 10, build_status="success"), None),
        (Metrics(10, 9, tests_skipped=1), None),
        (Metrics(tests_passed=5, tests_failed=0), None),
        (RED, "1 of its tests failed"),
        (Metrics(0, 0), "none of its tests passed"),
        (Metrics(10, 10, build_status="failed"), "its build failed"),
        (Metrics(tests_passed=10), "its tests are not known"),
        (Metrics(tests_failed=0), "its tests are not known"),
        (Metrics(), "its tests are not known"),
    ],
)
def test_verifies(measured: Metrics, why: str | None) -> None:
    """No failed test, at least one that passed, and no build that failed."""
    found = Measured()
    assert not_verified(found.measure(measured, score=0.9)) == why
    selection = selected(found)
    assert selection is not None
    assert selection.is_verified == (why is None)


def test_mentions_an_unknown_build() -> None:
    """An unknown build passes and is mentioned; a known one is not."""
    selection = selected(scored((0.9, GREEN)))
    assert selection is not None
    assert "Its build is not known" in selection.rationale


def test_passes_over_a_higher_score_that_is_not_verified() -> None:
    """Of verified ones the highest score counts, and the text says so."""
    selection = selected(scored((0.8, GREEN), (0.95, RED), (0.75, GREEN)))
    assert selection is not None
    assert selection.selected.number == 1
    assert selection.rationale[0] == (
        "Iteration 1 has the highest quality of those verified (0.80)"
    )
    last = selected(scored((0.8, GREEN), (0.95, RED)))
    assert last is not None
    assert last.comparison is not None
    assert last.comparison.reason == (
        "Iteration 2 may not be selected: 1 of its tests failed"
    )
    assert last.degradation is None


def test_needs_no_verification_where_rules_say_so() -> None:
    """Without the policy only score and threshold count."""
    found = scored((0.8, GREEN), (0.95, RED))
    assert number_of(found) == 1
    assert number_of(found, rules=RulesSet(verification_required=False)) == 2
    high = RulesSet(thresholds=Thresholds(acceptance=0.96), verification_required=False)
    selection = selected(found, rules=high)
    assert selection is not None
    assert (selection.selected.number, selection.is_verified) == (2, False)


def test_takes_the_trackers_best_where_none_is_verified() -> None:
    """Nothing verified: the best score is selected all the same, and marked."""
    selection = selected(loop(BASELINE_OF_REGRESSION, REGRESSION))
    assert selection is not None
    assert (selection.selected.number, selection.is_verified) == (2, False)
    assert selection.rationale[0] == (
        "Iteration 2 has the best score (0.80), not verified: 2 of its tests failed"
    )
    assert selection.message == (
        "Selected iteration 2 (quality: 0.80 vs final 0.75), not verified: "
        "2 of its tests failed"
    )


def test_keeps_the_earlier_one_of_equals() -> None:
    """A tie keeps the earlier iteration."""
    found = scored((0.8, GREEN), (0.9, GREEN), (0.9, GREEN))
    assert number_of(found) == 2
    selection = selected(found)
    assert selection is not None
    assert selection.comparison is not None
    assert selection.comparison.reason == "Iteration 3 is not better"
    assert selection.degradation is None


def test_selects_the_last_one_when_it_is_best() -> None:
    """The last iteration is selected when it is the best one; nothing degraded."""
    selection = selected(scored((0.8, GREEN), (0.9, GREEN)))
    assert selection is not None
    assert selection.selected.number == 2
    assert selection.comparison is not None
    assert selection.comparison.delta == 0
    assert selection.comparison.reason is None


@pytest.mark.parametrize(("passed", "number"), [(9, 0), (10, 1)])
def test_falls_back_to_the_baseline(passed: int, number: int) -> None:
    """A baseline that is not strictly beaten is selected, and that is said."""
    found = Measured(RED)
    found.measure(Metrics(10, passed, coverage_percentage=80.0))
    selection = selected(found)
    assert selection is not None
    assert selection.selected.number == number
    if number == 0:
        assert selection.is_baseline
        assert selection.comparison is not None
        assert selection.comparison.reason == "The baseline was not beaten"
        assert selection.message.startswith("Selected baseline (quality: ")


def test_leaves_out_incomplete_iterations() -> None:
    """What lacks a metric that the baseline has cannot be selected."""
    found = Measured(Metrics(10, 5, coverage_percentage=50.0))
    found.measure(Metrics(10, 10, coverage_percentage=60.0))
    found.measure(Metrics(10, 10))
    assert found.judge(2).is_incomplete
    assert number_of(found) == 1


def test_selects_nothing_without_a_score() -> None:
    """Where nothing can be scored nothing is selected."""
    found = Measured()
    found.measure(Metrics(file_count=3))
    assert selected(found) is None
    assert selected(loop(Metrics(file_count=3), [Metrics(file_count=3)])) is None


def test_has_no_percentage_of_nothing() -> None:
    """A final score of 0 leaves the improvement undefined."""
    selection = selected(scored((0.9, GREEN), (0.0, RED)))
    assert selection is not None
    assert selection.comparison is not None
    assert selection.comparison.improvement is None


def test_may_select_what_a_rollback_left_behind() -> None:
    """Iterations off the path may still be selected; the final one is on it."""
    found = scored((0.7, GREEN), (0.9, GREEN))
    found.measure(GREEN, number=3, previous=1, score=0.8)
    assert number_of(found, final=3) == 2


def test_degradation_follows_the_chain() -> None:
    """What a rollback left behind is no part of what degraded after the peak."""
    found = scored((0.9, GREEN), (0.7, GREEN), (0.7, GREEN))
    found.measure(GREEN, number=4, previous=1, score=0.8)
    found.measure(GREEN, number=5, previous=4, score=0.8)
    selection = selected(found)
    assert selection is not None
    assert selection.degradation is not None
    assert selection.degradation[:4] == (4, 5, "over_refinement", 2)
    assert "Quality degraded in iterations 4-5" in selection.rationale


def test_is_recorded_as_it_was_selected() -> None:
    """The fact keeps both iterations with their scores, and whether it was verified."""
    selection = selected(loop(BASELINE_OF_PEAK, PEAK))
    assert selection is not None
    fact = selection.fact
    assert (fact.number, fact.final, fact.is_verified) == (3, 5, True)
    assert (fact.score, fact.final_score) == (0.88, 0.81)
