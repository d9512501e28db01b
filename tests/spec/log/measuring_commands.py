"""Events about iterations that are asked for by their types, and their commands."""

from typing import Any

from sprintlog.engine.judging import events as i
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events
from sprintlog.engine.sprint.iterations import budgets, decisions, described, measurement

from ..conftest import Data, Make

_GO: list[Event] = [events.SprintStarted(), events.IterationStarted(1)]
_M = {"test_count": 9, "tests_passed": 7, "coverage_percentage": 72.5}
_LIMITS = i.Thresholds(target=0.9, error_increase=0)
_NO_BUDGETS: dict[str, float | None] = {
    **dict.fromkeys(("iterations", "cost_usd", "tokens", "seconds", "failures"))
}
_FILES: dict[str, Any] = {"source": "a/", "destination": "b/", "files_copied": ["x"]}

MEASURING: list[tuple[list[Event], str, Data, Make, Data]] = [
    (
        _GO,
        "baseline-captured",
        {"metrics": _M, "loop_id": "ralph-001"},
        measurement.CaptureBaseline,
        {"metrics": _M, "loop_id": "ralph-001"},
    ),
    (
        _GO,
        "iteration-measured",
        {"metrics": _M, "score": 0.5},
        measurement.MeasureIteration,
        {"metrics": _M, "score": 0.5},
    ),
    (
        _GO,
        "iteration-measured",
        {"metrics": _M, "origins": [{"name": "a", "format": "b"}], "usage": {"turns": 3}},
        measurement.MeasureIteration,
        {"metrics": _M, "origins": (i.Origin("a", "b"),), "usage": i.Usage(turns=3)},
    ),
    (
        _GO,
        "measurement-failed",
        {"error": "no report", "command": "make test", "exit_code": 2, "output": "x"},
        measurement.FailMeasurement,
        {"error": "no report", "command": "make test", "exit_code": 2, "output": "x"},
    ),
    (
        _GO,
        "iteration-described",
        {"number": 1, "params": {"seed": "7"}, "note": "x", "tags": ["a", "b"]},
        described.DescribeIteration,
        {"number": 1, "params": {"seed": "7"}, "note": "x", "tags": ("a", "b")},
    ),
    (
        _GO,
        "rules-set",
        {"thresholds": {"target": 0.9, "error_increase": 0}},
        decisions.SetRules,
        {"rules": i.RulesSet(thresholds=_LIMITS)},
    ),
    (
        _GO,
        "budgets-set",
        {"budgets": {"cost_usd": 5.5, "seconds": 60}},
        budgets.ChangeBudgets,
        {"budgets": {**_NO_BUDGETS, "cost_usd": 5.5, "seconds": 60}},
    ),
    (
        [*_GO, i.BestSelected(1, 1, True)],
        "artifacts-applied",
        _FILES,
        decisions.ApplyArtifacts,
        _FILES,
    ),
]

ANSWERS = {"recommendation-given", "best-selected"}
"""Events that follow from the measurements, and are not requested."""
