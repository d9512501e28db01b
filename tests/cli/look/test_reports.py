"""Reports on iterations and on the selected output: their contents and places."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sprintlog.cli.output import shows_bars
from sprintlog.projections.text.summary_report import BARS, PLAIN, sparkline
from tests.spec.iterations.measured import (
    BASELINE_OF_PEAK,
    BASELINE_OF_REGRESSION,
    PEAK,
    REGRESSION,
    named,
)

from ..conftest import Run
from ..record.iterations.test_tracker_examples import Loop, loop, options

__all__ = ["loop"]

FOLDER = Path(".aiwg/ralph/ralph-001")
EVIL = "x</code> | <b>@ana</b> [l](http://e) `# no`\n## Heading"


def section(text: str, title: str) -> list[str]:
    """Return the lines below a heading that are not empty."""
    part = text.split(f"### {title}\n", 1)[1].split("\n#", 1)[0]
    return [line for line in part.splitlines() if line]


def test_the_iteration_that_deletes_a_test(loop: Loop, done: Run) -> None:
    """Example 2 in the document's template, with the figures of the formula."""
    times = [f"2026-02-02T10:{minute:02d}:00Z" for minute in (5, 10, 15)]
    loop(BASELINE_OF_REGRESSION, REGRESSION, times)
    text = done("report", "iter:3").out
    assert text == done("report", "3").out
    assert text.splitlines()[:5] == [
        "## Iteration 3 Progress Report",
        "",
        "**Timestamp**: 2026-02-02T10:15:00Z",
        "**Classification**: regression",
        "**Quality Score**: 0.75",
    ]
    assert section(text, "Metrics") == [
        "| Metric | Current | Previous | Delta | Baseline | Delta from Baseline |",
        "|--------|---------|----------|-------|----------|---------------------|",
        "| Test Count | 9 | 10 | -1 | 8 | +1 |",
        "| Pass Rate | 77.8% | 80.0% | -2.2% | 62.5% | +15.3% |",
        "| Coverage | 72.0% | 75.0% | -3.0% | 65.0% | +7.0% |",
        "| Errors | 21 | 16 | +5 | 12 | +9 |",
    ]
    assert section(text, "Quality Score Breakdown") == [
        "| Dimension | Score | Weight | Contribution |",
        "|-----------|-------|--------|--------------|",
        "| Validation | 0.69 | 0.30 | 0.21 |",
        "| Completeness | 0.86 | 0.25 | 0.22 |",
        "| Correctness | 0.68 | 0.25 | 0.17 |",
        "| Readability | 0.58 | 0.10 | 0.06 |",
        "| Efficiency | 1.00 | 0.10 | 0.10 |",
        "| **Total** | **0.75** | 1.00 | **0.75** |",
    ]
    assert section(text, "Alerts") == [
        "- **CRITICAL** test_deletion: Test count decreased from 10 to 9",
        "- **HIGH** coverage_regression: Coverage dropped 75%→72% (exceeds -2% threshold)",
        "- **HIGH** functionality_loss: Passing tests decreased from 8 to 7",
    ]
    assert section(text, "Best Iteration Tracker") == [
        "- **Current Best**: Iteration 2 (quality: 0.80)",
        "- **This Iteration**: Iteration 3 (quality: 0.75)",
        "- **Best Preserved**: no",
    ]
    advice = section(text, "Recommendation")
    assert advice[0] == "**Action**: rollback"
    assert advice[1].startswith("**Reason**: Rollback to iteration 2 due to regression")
    assert advice[2] == "**Confidence**: 0.95"
    whole = done("report", "3", "--json").json
    assert round(whole["judgement"]["from_previous"]["pass_rate"], 1) == -2.2
    assert whole["recommendation"]["target_iteration"] == 2


def test_later_iterations_change_no_report(loop: Loop, done: Run) -> None:
    """A report has the knowledge at the time of its measurement."""
    loop(BASELINE_OF_PEAK, PEAK[:2])
    then = done("report", "1").out
    assert "- **Current Best**: Iteration 1 (quality: 0.65)" in then
    done("iteration", "start")
    done("iteration", "end", *options(named(PEAK[2])))
    done("rollback", "iter:1")
    assert done("report", "1").out == then


def test_what_is_missing_is_no_zero(loop: Loop, done: Run) -> None:
    """Missing metrics, dimensions and comparisons are reported as missing."""
    loop(None, ())
    done("iteration", "start")
    done("iteration", "end", "--metric", "coverage_percentage=50")
    text = done("report", "1").out
    assert "**Classification**: nothing to compare with" in text
    rows = section(text, "Metrics")[2:]
    assert rows[0] == f"| Test Count |{' missing |' * 5}"
    assert rows[2] == f"| Coverage | 50.0% |{' missing |' * 4}"
    assert "**Quality Score**: 0.50 (75% unknown, nothing measures validation, " in text
    assert "| Validation | missing | missing | missing |" in text
    assert "error_count" not in done("report", "1", "--json").json["judgement"]["figures"]


def test_the_selected_output(loop: Loop, done: Run) -> None:
    """Example 3: its fields in their order, its figures as printed."""
    times = [f"2026-02-02T10:{minute:02d}:00Z" for minute in (10, 15, 20, 25, 30)]
    loop(BASELINE_OF_PEAK, PEAK, times)
    done("iteration", "select")
    files = ["src/auth/login.ts", "test/auth/login.test.ts"]
    source = f"{FOLDER}/iterations/iteration-003/"
    applied = {"source": source, "destination": ".aiwg/output/", "files_copied": files}
    done("append", "artifacts-applied", "--data", json.dumps(applied))
    text = done("report", "--selection").out
    assert section(text, "Quality Trajectory")[2:] == [
        "| 1 | 0.65 |  |",
        "| 2 | 0.82 |  |",
        "| 3 | 0.88 | selected |",
        "| 4 | 0.85 |  |",
        "| 5 | 0.81 | final |",
    ]
    assert section(text, "Comparison to Final") == [
        "- **Final Quality**: 0.81",
        "- **Selected Quality**: 0.88",
        "- **Delta**: +0.07",
        "- **Improvement Percentage**: 8.6%",
        "- **Reason Final Not Selected**: Quality degraded after iteration 3",
    ]
    assert section(text, "Degradation Analysis") == [
        "- **Degradation Started**: iteration_4",
        "- **Pattern**: over_refinement",
        "- **Iterations After Peak**: 2",
        "- **Quality Loss**: -7.95%",
    ]
    assert [line[2:] for line in section(text, "Artifacts Applied")[-2:]] == [
        f"- `{path}`" for path in files
    ]
    assert list(done("report", "--selection", "--json").json) == [
        *("loop_id", "total_iterations", "selected_iteration", "final_iteration"),
        *("quality_trajectory", "selection_criteria", "selected_iteration_details"),
        *("comparison_to_final", "selection_rationale", "degradation_analysis"),
        *("artifacts_applied", "report_generated"),
    ]


def test_hostile_texts_stay_text(folder: Path, done: Run) -> None:
    """The name of a sprint and the summary of an iteration are code in the summary."""
    name = "a`[x](mailto:e@e)|<b>"
    (folder / "plan.yaml").write_text("phases: [{id: a, prompt: b}]")
    done("init")
    done("sprint", "create", name, "--plan", "plan.yaml")
    done("sprint", "start")
    done("iteration", "start")
    done("iteration", "end", "--metric", "tests_passed=1", "--summary", EVIL)
    text = done("report").out
    assert text.splitlines()[0] == f"## Sprint ``{name}``"
    assert not [line for line in text.splitlines()[1:] if line.startswith("#")]
    cell = text.splitlines()[-1].split(" | ", 7)[-1]
    assert cell.startswith("`` x</code> \\| <b>")
    assert "\n## Heading" not in text


def test_what_a_sprint_came_to(loop: Loop, done: Run) -> None:
    """One page: state, classes, scores over time, the best, the next action, all rows."""
    times = [f"2026-02-02T1{hour}:00:00Z" for hour in range(5)]
    loop(BASELINE_OF_PEAK, PEAK, times)
    done("iteration", "select")
    text = done("report").out
    lines = [line for line in text.splitlines() if "**Time**" not in line]
    assert lines[:9] == [
        "## Sprint `auth`",
        "",
        "- **Status**: `in-progress`",
        "- **Done**: 0 of 1 phases",
        "- **Iterations**: 5: 3 forward, 1 plateau, 1 regression",
        "- **Quality**: `▁▆█▇▆` 0.65 → 0.81",
        "- **Best**: iteration 3 (0.88)",
        "- **Now**: ALERT: Working tests failing, recommend rollback "
        "(Rollback to iteration 3 due to regression): `sprintlog rollback iter:3`; "
        "with --files, only the files",
        "- **Result**: Selected iteration 3 (quality: 0.88 vs final 0.81)",
    ]
    cells = [one.split(" | ") for one in text.splitlines() if one.startswith("| 5 |")]
    assert [one.strip() for one in cells[0][1:6]] == (
        ["regression", "0.81", "9/10", "80.0%", "19"]
    )
    assert section(text, "What got worse")[0].startswith("- **CRITICAL** iteration 5, ")
    whole: Any = done("report", "--json").json
    assert [one["iteration"] for one in whole["iterations"]] == [0, 1, 2, 3, 4, 5]
    assert (whole["status"], whole["stopped"], whole["best_iteration"]) == (
        *("in-progress", None),
        3,
    )


def test_what_nobody_measured_is_in_the_table(folder: Path, loop: Loop, done: Run) -> None:
    """An unmeasured iteration has a row with its outcome and usage."""
    loop(None, ())
    said = {"type": "result", "is_error": False, "result": "half", "total_cost_usd": 0.5}
    (folder / "said.json").write_text(json.dumps(said))
    done("iteration", "start")
    done("iteration", "end", "--from", "said.json", "--agent", "claude")
    text = done("report").out
    assert "- No iteration was measured" in text
    assert "$0.50" in text.splitlines()[-1]
    assert text.splitlines()[-1].startswith("| 1 | not measured | ")
    assert text.splitlines()[-1].endswith(" `completed: half` |")
    (one,) = done("report", "--json").json["iterations"]
    assert (one["iteration"], one["score"], one["summary"]) == (1, None, "half")


def test_unknown_costs_are_called_unknown(loop: Loop, done: Run) -> None:
    """Without a recorded run of an agent the cost is reported as unknown."""
    loop(BASELINE_OF_PEAK, PEAK)
    assert "- **Agents**: what they took is not known" in done("report").out


def test_a_stopped_sprint_says_why(loop: Loop, run: Run, done: Run) -> None:
    """The page of a stopped sprint states the reason and the next command."""
    loop(None, ())
    done("sprint", "pause", "--reason", "lunch `x`")
    result = run("report")
    assert "- **Status**: `paused`\n- **Outcome**: `` why: " in result.out
    assert "lunch `x`" in result.out
    assert "- No iteration was measured" in result.out
    assert "; next: `sprintlog sprint resume`" in result.out
    assert done("report", "--json").json["stopped"]["because"] == "paused"


def test_the_list_shows_how_the_score_went(loop: Loop, done: Run) -> None:
    """A line of bars follows the table, without colours unless on a terminal."""
    loop(BASELINE_OF_PEAK, PEAK)
    assert done("list").out.splitlines()[-1] == "score  ▁▆█▇▆  0.65 to 0.88"


@pytest.mark.parametrize(
    ("values", "marks", "expected"),
    [
        ((), BARS, ""),
        ((0, 1), PLAIN, "_@"),
        ((1, None, 2), BARS, "▁ █"),
        ((3, 3), BARS, "▄▄"),
        (range(70), "ab", "a" * 30 + "b" * 30),
    ],
)
def test_bars(values: Any, marks: str, expected: str) -> None:
    """Bars range from the smallest to the greatest value, with gaps for missing ones."""
    numbers = [None if value is None else Fraction(value) for value in values]
    assert sparkline(numbers, marks) == expected


@pytest.mark.parametrize(
    ("is_terminal", "locale", "expected"),
    [
        (False, "C", True),
        (True, "C", False),
        (True, "", False),
        (True, "en_US.UTF-8", True),
        (True, "C.utf8", True),
    ],
)
def test_terminals_get_what_they_can_show(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, locale: str, expected: bool
) -> None:
    """A terminal gets ASCII unless it reports more; a file gets bars."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.setenv(name, locale)
    assert shows_bars() is expected


def test_refuses_what_cannot_be_reported(loop: Loop, run: Run, done: Run) -> None:
    """Without measurement, selection or iteration it fails, and writes no file."""
    loop(None, ())
    for words in (("report", "0"), ("report", "7"), ("report", "--selection")):
        assert run(*words).code == 3
    assert run("report", "--write").code == 3
    assert run("report", "latest").code == 1
    assert run("report", "--write", "--selection").code == 2
    assert run("iteration", "end", "--write").code == 2
