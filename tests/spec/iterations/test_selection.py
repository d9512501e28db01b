"""The loop's result: the best verified iteration, not the last (ITR-110 to ITR-117)."""

from fractions import Fraction
from typing import Any

import pytest

from sprintlog.engine.judging.events import Metrics, RulesSet, Thresholds
from sprintlog.engine.judging.metrics import not_verified
from sprintlog.engine.judging.select import Selection, select

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
    found: Measured,
    *,
    final: int | None = None,
    rules: RulesSet | None = None,
    off_path: tuple[int, ...] = (),
) -> Selection | None:
    """Return the selection at the end of a loop."""
    return select(
        found.all(),
        final=final or found.tracker.highest,
        best=found.tracker.best,
        baseline=found.baseline(),
        rules=rules or RulesSet(),
        off_path=off_path,
    )


def scored(*scores: tuple[float, Metrics]) -> Measured:
    """Return a loop with external scores and known tests."""
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
    """Another loop with the same scores produces the text of Example 4."""
    found = scored((0.65, GREEN), (0.88, GREEN), (0.81, GREEN))
    selection = selected(found)
    assert selection is not None
    assert selection.message == "Selected iteration 2 (quality: 0.88 vs final 0.81)"


@pytest.mark.parametrize(
    ("score", "is_verified"), [(0.70, True), (0.6999, False), (0.0001, False)]
)
def test_accepts_from_a_threshold_on(score: float, is_verified: bool) -> None:
    """A score of 0.70 is accepted; below it, the tracker's best is used and marked."""
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
    assert not_verified(found.measure(measured, score=0.9).figures) == why
    selection = selected(found)
    assert selection is not None
    assert selection.is_verified == (why is None)


def test_mentions_an_unknown_build() -> None:
    """An unknown build is accepted and mentioned; a known one is not mentioned."""
    selection = selected(scored((0.9, GREEN)))
    assert selection is not None
    assert "Its build is not known" in selection.rationale


def test_passes_over_a_higher_score_that_is_not_verified() -> None:
    """The highest score among verified iterations counts, and the text states this."""
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
    """Without a verified one the best score is selected, and marked."""
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


def test_takes_the_latest_of_equals() -> None:
    """Of equal printed scores, the latest wins, because it contains the most work."""
    found = scored((0.8, GREEN), (0.904, GREEN), (0.896, GREEN), (0.8, GREEN))
    selection = selected(found)
    assert selection is not None
    assert selection.selected.number == 3
    assert selection.rationale[:2] == (
        "Iteration 3 achieved peak quality (0.90)",
        "Equal to iteration 2: it is the latest on the path, and holds the most work",
    )


def test_equals_on_the_path_come_first() -> None:
    """A discarded iteration is the result only if none on the path is equal."""
    found = scored((0.9, GREEN), (0.9, GREEN), (0.9, GREEN), (0.8, GREEN))
    assert number_of(found, off_path=(2, 3)) == 1
    assert number_of(found, off_path=(1, 2, 3)) == 3
    better = scored((0.9, GREEN), (0.91, GREEN), (0.8, GREEN))
    assert number_of(better, off_path=(2,)) == 2


def test_what_lost_something_serious_is_no_equal() -> None:
    """The same score with one test less replaces nothing; a higher one does."""
    found = scored((0.9, GREEN), (0.9, Metrics(9, 9, coverage_percentage=80.0)))
    selection = selected(found)
    assert selection is not None
    assert selection.selected.number == 1
    assert selection.rationale[1] == (
        "Iteration 2 has the same score, and lost: CRITICAL Test count decreased from 10 "
        "to 9; HIGH Passing tests decreased from 10 to 9"
    )
    assert selection.comparison is not None
    assert selection.comparison.reason == "Iteration 2 is not better"
    found.measure(Metrics(9, 9, coverage_percentage=80.0), score=0.91)
    assert number_of(found) == 3


def test_hands_over_the_work_of_a_healthy_loop() -> None:
    """With tests and build alone a green baseline does not prevent a result."""
    tests = [
        Metrics(count, count, build_status="success") for count in (200, 210, 220, 230)
    ]
    found = loop(tests[0], tests[1:])
    selection = selected(found)
    assert selection is not None
    assert (selection.selected.number, selection.is_verified) == (3, True)
    assert selection.message == (
        "Selected iteration 3 (quality: 1.00 with 20% unknown "
        "vs final 1.00 with 20% unknown)"
    )


def test_selects_the_last_one_when_it_is_best() -> None:
    """If the last iteration is the best, it is selected, and nothing degraded."""
    selection = selected(scored((0.8, GREEN), (0.9, GREEN)))
    assert selection is not None
    assert selection.selected.number == 2
    assert selection.comparison is not None
    assert selection.comparison.delta == 0
    assert selection.comparison.reason is None


@pytest.mark.parametrize(("passed", "number"), [(9, 0), (10, 1)])
def test_keeps_the_baseline_where_nothing_is_verified(passed: int, number: int) -> None:
    """If none may be selected a baseline that is not strictly beaten is the result."""
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


def test_more_measured_beats_an_unverified_baseline_of_less() -> None:
    """An iteration equal to the baseline on its components, with more of them, wins."""
    found = Measured(Metrics(build_status="success"))
    found.measure(Metrics(10, 9, build_status="success"))
    assert number_of(found) == 1
    found = Measured(Metrics(build_status="success"))
    found.measure(Metrics(10, 9, build_status="failed"))
    assert number_of(found) == 0


def test_falls_back_to_the_baseline_when_all_are_regressions() -> None:
    """The baseline is selected if every verified iteration lost something serious."""
    found = Measured(GREEN)
    found.measure(Metrics(9, 9, coverage_percentage=90.0))
    found.measure(Metrics(10, 10, coverage_percentage=77.9))
    selection = selected(found)
    assert selection is not None
    assert selection.is_baseline
    assert selection.rationale == (
        "Every iteration that may be selected is a regression against the baseline "
        "(0.97 with 20% unknown)",
        "Iteration 1: CRITICAL Test count decreased from 10 to 9; "
        "HIGH Passing tests decreased from 10 to 9",
        "Iteration 2: HIGH Coverage dropped 80%→77.9% (exceeds -2% threshold)",
    )
    assert selection.comparison is not None
    assert selection.comparison.reason is not None
    assert selection.comparison.reason.startswith(
        "Iteration 2 is a regression against the baseline: HIGH Coverage"
    )
    found.measure(Metrics(10, 10, coverage_percentage=78.0))
    assert number_of(found) > 0


@pytest.mark.parametrize(("errors", "number"), [(9, 0), (8, 1)])
def test_a_much_lower_score_is_a_regression(errors: int, number: int) -> None:
    """More than 0.1 below the baseline, on common components, is a regression."""
    limits = Thresholds(error_increase=100)
    found = Measured(Metrics(10, 10, lint_errors=0))
    found.measure(Metrics(10, 10, lint_errors=errors, lint_warnings=0))
    assert number_of(found, rules=RulesSet(thresholds=limits)) == number


def test_what_is_not_comparable_beats_nothing() -> None:
    """A baseline without tests is not comparable with iterations that have only tests."""
    found = Measured(Metrics(lint_warnings=0))
    found.measure(Metrics(10, 10, build_status="success"))
    assert number_of(found) == 1
    found = Measured(Metrics(coverage_percentage=100.0))
    found.measure(Metrics(10, 9))
    assert number_of(found) == 1


def test_more_measured_takes_the_place_of_less() -> None:
    """An iteration with all components of the best one, not lower there, replaces it."""
    found = Measured()
    found.measure(Metrics(10, 10, build_status="success"))
    found.measure(Metrics(10, 10, build_status="success", lint_warnings=20))
    selection = selected(found)
    assert selection is not None
    assert selection.selected.number == 2
    assert selection.rationale[:2] == (
        "Iteration 2 achieved peak quality (0.83 with 35% unknown)",
        "More was measured than of iteration 1",
    )
    assert found.tracker.best is not None
    assert found.tracker.best.number == 2


def test_less_measured_takes_nobodys_place() -> None:
    """An iteration without one of the best one's components cannot be better."""
    found = Measured(Metrics(10, 5, coverage_percentage=50.0))
    found.measure(Metrics(10, 10, coverage_percentage=60.0))
    found.measure(Metrics(10, 10))
    assert found.judge(2).is_incomplete
    selection = selected(found)
    assert selection is not None
    assert selection.selected.number == 1
    assert selection.comparison is not None
    assert selection.comparison.reason == "Iteration 2 lacks coverage_percentage"


def test_what_only_the_baseline_has_disqualifies_nobody() -> None:
    """An iteration needs the best one's components, not those of the baseline."""
    found = Measured(Metrics(10, 10, coverage_percentage=90.0, lint_errors=0))
    found.measure(Metrics(11, 11, build_status="success"))
    assert not found.judge(1).is_incomplete
    assert number_of(found) == 1


def test_selects_nothing_without_a_score() -> None:
    """Without any score nothing is selected."""
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
    """Discarded iterations may still be selected; the final one is on the path."""
    found = scored((0.7, GREEN), (0.9, GREEN))
    found.measure(GREEN, number=3, previous=1, score=0.8)
    assert number_of(found, final=3) == 2


def test_degradation_follows_the_chain() -> None:
    """Discarded iterations are not part of the degradation after the peak."""
    found = scored((0.9, GREEN), (0.7, GREEN), (0.7, GREEN))
    found.measure(GREEN, number=4, previous=1, score=0.8)
    found.measure(GREEN, number=5, previous=4, score=0.8)
    selection = selected(found)
    assert selection is not None
    assert selection.degradation is not None
    assert selection.degradation[:4] == (4, 5, "over_refinement", 2)
    assert "Quality degraded in iterations 4-5" in selection.rationale


def test_is_recorded_as_it_was_selected() -> None:
    """The event has both iterations with their scores, and whether it was verified."""
    selection = selected(loop(BASELINE_OF_PEAK, PEAK))
    assert selection is not None
    event = selection.event
    assert (event.number, event.final, event.is_verified) == (3, 5, True)
    assert (event.score, event.final_score) == (0.88, 0.81)
