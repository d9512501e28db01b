"""`--metrics` with an iteration's document, in all its formats."""

import json
from pathlib import Path
from typing import Any

import pytest

from ...conftest import Run

LOOP = Path(__file__).resolve().parents[4] / "fixtures/expected/measured-loop-v1.loop"
OURS = LOOP / "aiwg/ralph/loop-7"
DOCUMENT = """\
iteration_metrics:
  iteration: 3
  timestamp: "2026-02-02T10:15:00Z"
  classification: regression

  testing:
    test_count: 9
    tests_passed: 7
    tests_failed: 2
    pass_rate: 77.8
    coverage_percentage: 72

  quality:
    lint_errors: 0
    build_status: success

  deltas:
    from_baseline:
      test_count_delta: +1

  quality_score: 0.75

recommendation:
  action: rollback
"""
METRICS = {
    "test_count": 9,
    "tests_passed": 7,
    "tests_failed": 2,
    "pass_rate": 77.8,
    "coverage_percentage": 72.0,
    "lint_errors": 0,
    "build_status": "success",
}


@pytest.fixture
def iteration(sprint: Path, done: Run) -> Path:
    """Return a folder with a started iteration."""
    done("iteration", "start")
    return sprint


def measured(done: Run) -> Any:
    """Return the recorded measurement of the iteration."""
    events = done("log", "--json").lines
    (found,) = [e["data"] for e in events if e["type"] == "iteration-measured"]
    return found


def test_reads_the_document_of_an_iteration(iteration: Path, done: Run) -> None:
    """Groups contain their metrics; the score and derived values are not imported."""
    (iteration / "m.yaml").write_text(DOCUMENT)
    done("iteration", "end", "--metrics", "m.yaml")
    assert measured(done) == {"number": 1, "metrics": METRICS}


def test_json_says_the_same_as_yaml(iteration: Path, done: Run) -> None:
    """The format of the text makes no difference."""
    groups = {"testing": dict(list(METRICS.items())[:5])}
    groups["quality"] = dict(list(METRICS.items())[5:])
    document = {"iteration_metrics": {"iteration": 3, **groups}}
    (iteration / "m.json").write_text(json.dumps(document))
    done("iteration", "measure", "--metrics", "m.json")
    assert measured(done)["metrics"] == METRICS


def test_names_alone_may_be_yaml(iteration: Path, done: Run) -> None:
    """Metrics by name are read in both formats, too."""
    (iteration / "m.yaml").write_text("tests_passed: 3\nbuild_status: failed\n")
    done("iteration", "measure", "--metrics", "m.yaml")
    assert measured(done)["metrics"] == {"tests_passed": 3, "build_status": "failed"}


def test_our_own_document_says_what_was_measured(iteration: Path, done: Run) -> None:
    """A metrics.json that we wrote can be read; so can a baseline's document."""
    done(
        "iteration", "baseline", "--metrics", OURS / "progress/iteration-000-baseline.json"
    )
    file = OURS / "iterations/iteration-003/metrics.json"
    done("iteration", "measure", "--metrics", file)
    document = json.loads(file.read_text())["iteration_metrics"]
    groups = (document[group] for group in ("testing", "quality", "codebase"))
    assert measured(done)["metrics"] == {k: v for group in groups for k, v in group.items()}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("iteration_metrics: 7\n", "iteration_metrics: must be an object"),
        (
            "iteration_metrics:\n  testing: [1]\n",
            "iteration_metrics.testing: must be an object",
        ),
        (
            "iteration_metrics:\n  testing:\n    tests_passed: many\n",
            "iteration_metrics.testing.tests_passed: ",
        ),
        (
            "iteration_metrics:\n  testing:\n    tests: 3\n",
            "iteration_metrics.testing.tests: there is no such metric",
        ),
        (
            "iteration_metrics:\n  testing: {file_count: 1}\n  codebase: {file_count: 2}",
            "iteration_metrics.codebase.file_count: occurs twice",
        ),
        ("iteration_metrics:\n  testing:\n   cut: [", "m.yaml:"),
        ('{"iteration_metrics": {"testing": {"tests_pa', "not JSON"),
        ("- 1\n", "must be an object of metrics"),
        ("iteration_metrics:\n  testing: &a {tests_passed: 1}\n", "m.yaml:2"),
    ],
)
def test_a_damaged_document_is_refused(
    iteration: Path, run: Run, text: str, said: str
) -> None:
    """One line names the file and the field; nothing is recorded."""
    (iteration / "m.yaml").write_text(text)
    before = run("verify", "--json").json["events"]
    result = run("iteration", "measure", "--metrics", "m.yaml")
    first = result.err.splitlines()[0]
    assert result.code == 1
    assert first.startswith("error: m.yaml")
    assert said in first
    assert run("verify", "--json").json["events"] == before


def test_a_document_without_metrics_measures_nothing(iteration: Path, run: Run) -> None:
    """An empty measurement is refused, as without a file."""
    (iteration / "m.yaml").write_text("iteration_metrics:\n  iteration: 1\n")
    result = run("iteration", "measure", "--metrics", "m.yaml")
    assert result.code == 1
    assert "nothing was measured" in result.err
