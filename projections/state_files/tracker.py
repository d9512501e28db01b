"""The data of the best-iteration tracker at a version, as used in reports.

Numbers are rounded here, with halves rounded away from zero; computed values stay exact
(ITR-023).
"""

from typing import Any

from msgspec.structs import asdict

from sprintlog.engine.judging import changes as d
from sprintlog.engine.judging.evaluation import MESSAGE as LOOP_MESSAGE
from sprintlog.engine.judging.evaluation import Judgement
from sprintlog.engine.judging.exact import Number, exact, rounded, shown
from sprintlog.engine.judging.metrics import GROUPS, named
from sprintlog.engine.judging.recommend import Recommendation
from sprintlog.engine.judging.score import Score
from sprintlog.engine.service.place.location import LOOPS, SELECTION, artifacts_path
from sprintlog.engine.service.streams.evaluation import Judged

Data = dict[str, Any]
SCORE_PLACES, RATE_PLACES, LOSS_PLACES = 2, 1, 2


def tracker_data(judged: Judged) -> Data:
    """Return all tracker data, in the order of the tracker's documents."""
    last = judged.last
    baseline = judged.baseline()
    data: Data = {}
    now = baseline if last is None else judged.one(last)
    if now is not None:
        data["iteration_metrics"] = iteration_data(judged, now)
    if last is None and baseline is not None:
        data |= {"baseline_stored": True, "next_action": "await_iteration_1"}
        if not judged.tracker.highest:
            return data
    data["best_iteration_tracker"] = _best(judged, now)
    if last is not None:
        data["recommendation"] = recommendation_data(judged.recommendation())
        data |= _patterns(now)
    if (selected := selection_data(judged)) is not None:
        data["best_output_selection"] = selected
    return data


def iteration_data(judged: Judged, one: Judgement) -> Data:
    """Return an iteration's data: metrics, deltas, score, class and alerts."""
    best = judged.tracker.best
    data: Data = {
        "iteration": one.number,
        "timestamp": one.at,
        "classification": one.classification,
        **metrics_data(one),
    }
    found = {"from_previous": one.from_previous, "from_baseline": one.from_baseline}
    deltas = {name: _deltas(change) for name, change in found.items() if change is not None}
    if deltas:
        data["deltas"] = deltas
    data |= _score(one.score)
    if one.is_incomplete:
        data["is_incomplete"] = True
    data["is_best_iteration"] = best is not None and best.number == one.number
    if one.number:
        data["alerts"] = [
            {**asdict(alert), "triggered_at": _name(alert.triggered_at)}
            for alert in one.alerts
        ]
    return data


def metrics_data(one: Judgement) -> Data:
    """Return the measured and derived figures, in groups."""
    now = one.figures
    known: Data = {
        **named(one.metrics),
        "test_count": now.test_count,
        "tests_failed": now.tests_failed,
        "error_count": now.error_count,
        "pass_rate": _number(now.pass_rate, RATE_PLACES),
        "coverage_percentage": _number(now.coverage, RATE_PLACES),
    }
    groups = {
        group: {name: known[name] for name in names if known[name] is not None}
        for group, names in GROUPS.items()
    }
    groups["own"] = dict(one.metrics.own)
    return {group: values for group, values in groups.items() if values}


def recommendation_data(given: Recommendation) -> Data:
    """Return the recommendation's action, target, reasons and confidence."""
    data: Data = {"action": given.action}
    if given.target is not None:
        data["target_iteration"] = given.target
    data["reason"] = given.reason
    data["reasons"] = [reason.text for reason in given.reasons]
    data["confidence"] = _number(given.confidence, SCORE_PLACES)
    data["confidence_derivation"] = given.derivation
    if given.alternatives:
        data["alternatives"] = list(given.alternatives)
    return data


def selection_data(judged: Judged) -> Data | None:
    """Return the selected output and the reasons for it, or None without a selection."""
    if (selection := judged.selected()) is None:
        return None
    tracker = judged.tracker
    until = tracker.selected_at or judged.sprint.version
    rules = tracker.rules_at(until)
    chosen, compared = selection.selected, selection.comparison
    measured = judged.hundredths(until)
    data: Data = {
        "loop_id": judged.loop_id,
        "total_iterations": len(measured),
        "selected_iteration": chosen.number,
        "final_iteration": selection.final.number,
        "quality_trajectory": _trajectory(measured),
        "selection_criteria": {
            "primary": "a_person" if selection.is_chosen else "highest_quality_score",
            "threshold": _number(exact(rules.thresholds.acceptance), SCORE_PLACES),
            "verification_required": rules.verification_required,
        },
        "selected_iteration_details": {
            "iteration": chosen.number,
            **_score(chosen.score),
            "is_verified": selection.is_verified,
            "timestamp": chosen.at,
            **metrics_data(chosen),
            "artifacts_path": artifacts_path(judged.loop_id, chosen.number),
        },
    }
    if compared is not None:
        better = compared.improvement
        data["comparison_to_final"] = {
            "final_quality": _number(compared.final, SCORE_PLACES),
            "selected_quality": _number(compared.selected, SCORE_PLACES),
            "delta": _number(compared.delta, SCORE_PLACES),
            "improvement_percentage": _number(
                None if better is None else better * 100, RATE_PLACES
            ),
            "reason_final_not_selected": compared.reason,
        }
        final = selection.final.score
        if final.share < 1 and not final.is_given:
            share = _number(final.share, SCORE_PLACES)
            data["comparison_to_final"]["final_measured_share"] = share
    data["selection_rationale"] = list(selection.rationale)
    if (lost := selection.degradation) is not None:
        data["degradation_analysis"] = {
            "degradation_started": _name(lost.started),
            "pattern": lost.pattern,
            "iterations_after_peak": lost.iterations_after_peak,
            "quality_loss": f"{shown(lost.quality_loss * 100, LOSS_PLACES, signed=True)}%",
        }
    if tracker.applied:
        applied = tracker.applied[-1]
        # The tracker's document has a list of objects with one field each.
        data["artifacts_applied"] = [
            {"source": applied.source},
            {"destination": applied.destination},
            {"files_copied": list(applied.files_copied)},
        ]
    data["report_generated"] = f"{LOOPS}/{judged.loop_id}/{SELECTION}"
    return data


def _best(judged: Judged, now: Judgement | None) -> Data:
    best = judged.tracker.best
    data: Data = {
        "current_best": None if best is None else _name(best.number),
        "best_quality_score": _number(best.value if best else 0, SCORE_PLACES),
        "best_artifacts_path": best and artifacts_path(judged.loop_id, best.number),
        "current_iteration_score": _number(now and now.score.value, SCORE_PLACES),
        "quality_trajectory": _trajectory(judged.hundredths()),
    }
    target = judged.target()
    if target is not None and (best is None or target != best.number):
        data["rollback_target"] = _name(target)
    if off := judged.off_path():
        data["iterations_off_path"] = [_name(number) for number in sorted(off)]
    return data


def _patterns(now: Judgement | None) -> Data:
    """Return the data about a stall or infinite loop, if one was detected."""
    data: Data = {}
    if now is not None and now.classification == d.STALLED:
        data["stall_detection"] = {
            "action": "suggest_termination",
            "message": d.STALL_MESSAGE,
            "alternatives": list(d.STALL_ALTERNATIVES),
        }
    if now is not None and now.loop is not None and now.loop.is_infinite:
        data["infinite_loop_detection"] = {
            "severity": d.CRITICAL,
            "response": "force_terminate",
            "message": LOOP_MESSAGE,
            "preserve_state": True,
        }
    return data


def _deltas(change: d.Deltas) -> Data:
    found = {
        "test_count_delta": change.test_count,
        "pass_rate_delta": _number(change.pass_rate, RATE_PLACES),
        "coverage_delta": _number(change.coverage, RATE_PLACES),
        "error_count_delta": change.error_count,
        **{f"{name}_delta": float(by) for name, by in change.own.items()},
    }
    return {name: value for name, value in found.items() if value is not None}


def _score(score: Score) -> Data:
    data: Data = {"quality_score": _number(score.value, SCORE_PLACES)}
    if score.is_given:
        data["is_score_given"] = True
    elif score.share < 1:
        data["measured_share"] = _number(score.share, SCORE_PLACES)
    return data


def _trajectory(measured: dict[int, int | None]) -> Data:
    return {
        _name(number): None if score is None else score / 100
        for number, score in measured.items()
    }


def _name(number: int) -> str:
    return f"iteration_{number}"


def _number(value: Number | None, places: int) -> float | None:
    return None if value is None else float(rounded(value, places))
