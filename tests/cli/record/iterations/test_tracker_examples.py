"""The tracker's worked examples by commands alone, with every exact figure."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from sprintlog.projections.state_files.yaml.reader import load
from tests.spec.iterations.measured import (
    BASELINE_OF_PEAK,
    BASELINE_OF_REGRESSION,
    PEAK,
    REGRESSION,
    Row,
    named,
)

from ...conftest import Run
from .tracker_printed import ARTIFACTS, REGRESSION_PRINTED, SELECTION_PRINTED

Loop = Callable[..., list[str]]


def options(metrics: dict[str, Any]) -> list[str]:
    """Return metrics as options."""
    return [word for n, v in metrics.items() for word in ("--metric", f"{n}={v}")]


@pytest.fixture
def loop(folder: Path, done: Run) -> Loop:
    """Return a function that plays a loop and returns the messages of each iteration."""

    def play(
        baseline: Row | None, rows: Sequence[Row], times: Sequence[str] = ()
    ) -> list[str]:
        (folder / "plan.yaml").write_text("phases: [{id: a, prompt: b}]")
        done("init")
        done("sprint", "create", "auth", "--plan", "plan.yaml")
        done("sprint", "start")
        if baseline is not None:
            loop_id = ["--loop-id", "ralph-001"]
            done("iteration", "baseline", *loop_id, *options(named(baseline)))
        told = []
        for index, row in enumerate(rows):
            done("iteration", "start")
            at = ["--at", times[index]] if times else []
            ended = done("iteration", "end", *options(named(row)), *at)
            told.append(ended.out.splitlines()[1])
        return told

    return play


def tracker(done: Run) -> Any:
    """Return the tracker as data; its YAML and its JSON are equal."""
    shown = load(done("show", "best").out.encode())
    assert shown == done("show", "best", "--json").json
    return shown


def part(whole: Any, expected: Any) -> Any:
    """Return the part of a whole that is expected, for comparing."""
    if isinstance(expected, dict):
        return {key: part(whole[key], value) for key, value in expected.items()}
    if isinstance(expected, list) and len(whole) == len(expected):
        return [part(w, e) for w, e in zip(whole, expected, strict=True)]
    return whole


def test_example_1_baseline(loop: Loop, done: Run) -> None:
    """The baseline is stored with everything that was measured; 0.60 is an illustration."""
    loop(None, ())
    known = named(BASELINE_OF_REGRESSION) | {
        "tests_failed": 3,
        "tests_skipped": 0,
        "pass_rate": 62.5,
        "coverage_lines_covered": 292,
        "coverage_lines_total": 450,
    }
    at = "2026-02-02T10:00:00Z"
    done("iteration", "baseline", *options(known), "--at", at)
    assert tracker(done) == {
        "iteration_metrics": {
            "iteration": 0,
            "timestamp": at,
            "classification": "baseline",
            "testing": {
                "test_count": 8,
                "tests_passed": 5,
                "tests_failed": 3,
                "tests_skipped": 0,
                "pass_rate": 62.5,
                "coverage_percentage": 65.0,
                "coverage_lines_covered": 292,
                "coverage_lines_total": 450,
            },
            "quality": {
                "lint_errors": 8,
                "lint_warnings": 4,
                "type_errors": 0,
                "error_count": 12,
                "build_status": "success",
            },
            "codebase": {"file_count": 3, "loc_total": 450, "complexity_score": 12.5},
            "quality_score": 0.76,
            "is_best_iteration": False,
        },
        "baseline_stored": True,
        "next_action": "await_iteration_1",
    }
    listed = done("list", "--json").json
    assert listed[0]["score"] == 0.764625


def test_example_2_regression(loop: Loop, done: Run) -> None:
    """A deleted test: deltas, alerts in their order, best, advice and its confidence."""
    times = [f"2026-02-02T10:{minute:02d}:00Z" for minute in (5, 10, 15)]
    told = loop(BASELINE_OF_REGRESSION, REGRESSION, times)
    assert told[2] == "ALERT: Test deletion, recommend rollback"
    expected = REGRESSION_PRINTED
    shown = tracker(done)
    assert part(shown, expected) == expected
    assert list(shown) == list(expected)
    rates = [one["figures"]["pass_rate"] for one in done("list", "--json").json]
    assert [round(rate, 1) for rate in rates] == [62.5, 75.0, 80.0, 77.8]
    advice = done("iteration decide", "--json").json["recommendation"]
    assert (advice["action"], advice["target_iteration"]) == ("rollback", 2)
    assert advice["confidence"] == 0.95


def test_example_3_selection(loop: Loop, done: Run) -> None:
    """The peak is selected, not the last: trajectory, comparison, degradation, files."""
    times = [f"2026-02-02T10:{minute:02d}:00Z" for minute in (10, 15, 20, 25, 30)]
    told = loop(BASELINE_OF_PEAK, PEAK, times)
    assert told[:4] == ["Forward progress detected, continue"] * 3 + [
        "Metrics are stable, continue"
    ]
    classes = [one["class"] for one in done("list", "--json").json]
    assert classes == ["baseline", *["forward"] * 3, "plateau", "regression"]
    alerts = [
        (alert["severity"], alert["type"], alert["triggered_at"])
        for alert in done("iteration alerts", "--all", "--json").json
    ]
    assert alerts == [
        ("CRITICAL", "working_tests_failing", 5),
        ("HIGH", "coverage_regression", 5),
    ]
    advice = done("iteration decide", "--json").json["recommendation"]
    assert (advice["target_iteration"], advice["confidence"]) == (3, 0.9)
    chosen = done("iteration", "select")
    assert chosen.out == "Selected iteration 3 (quality: 0.88 vs final 0.81)\n"
    applied = {
        "source": ARTIFACTS,
        "destination": ".aiwg/output/",
        "files_copied": ["src/auth/login.ts", "test/auth/login.test.ts"],
    }
    done("append", "artifacts-applied", "--data", json.dumps(applied))
    expected = SELECTION_PRINTED
    shown = tracker(done)["best_output_selection"]
    assert part(shown, expected) == expected
    assert list(shown) == list(expected)


def test_example_4_conversation(loop: Loop, done: Run) -> None:
    """The short messages of the conversation are the answers of the commands."""
    told = loop(BASELINE_OF_REGRESSION, REGRESSION[:1])
    assert told == ["Forward progress detected, continue"]
    decided = done("iteration decide").out.splitlines()
    assert decided[0] == "Forward progress detected, continue"
    assert decided[1].startswith("iteration 1: forward, quality 0.78")


def test_example_4_conversation_of_a_coverage_loss(loop: Loop, done: Run) -> None:
    """A loss of coverage alone advises a rollback if the best one was better."""
    loop(None, ())
    for coverage, score in ((70, 0.70), (85, 0.88), (80, 0.81)):
        done("iteration", "start")
        whole = {
            "test_count": 10,
            "tests_passed": 10,
            "coverage_percentage": coverage,
            "build_status": "success",
        }
        ended = done("iteration", "end", "--score", score, *options(whole))
    assert ended.out.splitlines()[1] == "ALERT: Coverage regression, recommend rollback"
    decided = done("iteration decide").out.splitlines()
    assert decided[0] == "ALERT: Coverage regression, recommend rollback"
    chosen = done("iteration", "select").out
    assert chosen == "Selected iteration 2 (quality: 0.88 vs final 0.81)\n"
