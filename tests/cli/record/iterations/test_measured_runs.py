"""Measured iterations have their outcome and consequences next to their score."""

import json
from pathlib import Path

import pytest

from ...conftest import Run
from .test_tracker_examples import options

M = {"test_count": 10, "tests_passed": 9, "coverage_percentage": 80}


@pytest.fixture
def ran(sprint: Path, done: Run) -> Path:
    """Return a folder whose sprint has a measured run that failed, and one that did not."""
    ends: tuple[dict[str, object], ...] = (
        {"status": "failed", "error": "exit code 1: no way", "exit_code": 1},
        {"status": "completed", "output": "all is well\n"},
    )
    for number, said in enumerate(ends, 1):
        done("iteration", "start")
        data = json.dumps({"phase": "", "iteration": number} | said)
        done("append", "agent-ran", "--data", data, "--observed")
        done("iteration", "end", *options(M))
    return sprint


def test_a_measured_iteration_says_how_its_run_ended(ran: Path, done: Run) -> None:
    """A failed run is not a plateau: list, report and answers give the reason."""
    _, first, second, *_ = done("list").out.splitlines()
    assert first.split("  ")[-1].strip() == "failed: exit code 1: no way, best"
    assert second.split("  ")[-1].strip() == "all is well"
    told = done("list", "--json").json
    assert [(one["status"], one["error"]) for one in told] == [
        ("failed", "exit code 1: no way"),
        ("completed", None),
    ]
    lines = done("report", "1").out.splitlines()
    assert "**Ended**: failed" in lines
    assert "**Error**: `exit code 1: no way`" in lines
    assert "**Said last**: `all is well`" in done("report", "2").out
    assert "| `failed: exit code 1: no way` |" in done("report").out.replace("best; ", "")
    assert done("report", "1", "--json").json["judgement"]["status"] == "failed"


def test_a_report_says_what_was_done_about_its_advice(sprint: Path, done: Run) -> None:
    """Advice is followed by its consequence, and counts include discarded iterations."""
    for passed in (9, 10, 8):
        done("iteration", "start")
        done("iteration", "end", *options({**M, "tests_passed": passed}))
    assert "**Then**" not in done("report", "3").out
    assert "**Then**: the loop went on with iteration 3" in done("report", "2").out
    done("rollback", "iter:2", "--plan", "--yes")
    assert "**Then**: rolled back to iteration 2, at 20" in done("report", "3").out
    lines = done("report").out.splitlines()
    assert any("1 forward, 1 regression (discarded)" in line for line in lines)
    assert any("without discarded iterations" in line for line in lines)


def test_equals_by_an_exit_code_alone_are_said(sprint: Path, done: Run) -> None:
    """If runs cannot be distinguished, the best one states this, and a remedy."""
    for _ in range(2):
        assert "by the exit code" not in done("iteration best").out
        done("iteration", "start")
        done("iteration", "end", "--build", "echo 2 of 4 pass")
    said = "2 iterations have this score, by the exit code of a command alone"
    for command in ("best", "list", "report"):
        assert said in " ".join(done(*command.split()).out.split())
    done("iteration", "start")
    done("iteration", "end", "--build", "echo 4/4")
    assert "by the exit code" not in done("iteration best").out
