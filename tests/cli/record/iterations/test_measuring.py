"""The commands about the worth of iterations: measure, list, compare, decide, select."""

import json
from pathlib import Path
from typing import Any

import pytest

from sprintlog.projections import Workspace

from ...conftest import Run, read_state
from .test_tracker_examples import options

M = {"test_count": 10, "tests_passed": 9, "coverage_percentage": 80}


@pytest.fixture
def measured(sprint: Path, done: Run) -> Path:
    """Return a folder whose sprint has a baseline and three measured iterations."""
    done("iteration", "baseline", *options(M))
    for passed in (9, 10, 8):
        done("iteration", "start")
        done("iteration", "end", *options({**M, "tests_passed": passed}))
    return sprint


def test_ends_and_measures_in_one_append(sprint: Path, done: Run) -> None:
    """`iteration end` with metrics returns both events; again it changes nothing."""
    done("iteration", "start")
    line = ("iteration", "end", "--summary", "x", *options(M), "--json")
    assert [one["type"] for one in done(*line).json] == [
        "iteration-ended",
        "iteration-measured",
    ]
    assert done(*line).json["unchanged"]


def test_measures_without_ending(sprint: Path, done: Run) -> None:
    """`iteration measure` records the result of an iteration in progress."""
    done("iteration", "start")
    answer = done("iteration", "measure", "--number", 1, "--score", 0.5)
    assert answer.out.splitlines() == [
        "auth: iteration-measured 1  [position 4, version 4]",
        "First measurement, continue",
    ]


def test_reads_metrics_from_a_file(sprint: Path, done: Run, run: Run) -> None:
    """A JSON object of metrics is read completely; an option overrides it."""
    (sprint / "m.json").write_text(json.dumps({**M, "lint_errors": None}))
    done("iteration", "start")
    done("iteration", "end", "--metrics", "m.json", "--metric", "tests_passed=10")
    data = done("log", "--last", "1", "--json").json["data"]
    expected = {**M, "coverage_percentage": 80.0, "tests_passed": 10}
    assert data == {"number": 1, "metrics": expected}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "m.json: must be an object of metrics"),
        ("{", "m.json: not JSON"),
        ('{"test_count": 1, "test_count": 2}', "duplicate key"),
        ('{"test_count": "8"}', "m.json: test_count: Input should be a valid integer"),
        ('{"test_count": 8.5}', "m.json: test_count: "),
        ('{"tests": 8}', "m.json: tests: there is no such metric"),
        ('{"coverage_percentage": 101}', "m.json: coverage_percentage: "),
        ('{"build_status": "green"}', "m.json: build_status: 'green' is unknown"),
        ('{"test_count": 1, "tests_passed": 2}', "m.json: the metrics contradict"),
        ('{"test_count": NaN}', "m.json: not JSON: NaN is not a number"),
        ("{}", "nothing was measured"),
    ],
)
def test_refuses_a_file_naming_the_field(
    sprint: Path, done: Run, run: Run, text: str, says: str
) -> None:
    """Invalid values of a file are refused, naming file and field; nothing is recorded."""
    (sprint / "m.json").write_text(text)
    done("iteration", "start")
    result = run("iteration", "measure", "--metrics", "m.json")
    assert (result.code, result.out) == (1, "")
    assert says in result.err
    assert len(done("log", "--json").lines) == 3


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--metric", "tests=1"], 1, "there is no metric 'tests'"),
        (["--metric", "test_count=nan"], 1, "test_count: 'nan' is not a finite number"),
        (["--metric", "test_count=many"], 1, "test_count: 'many' is not a number"),
        (["--metric", "test_count"], 2, "must be NAME=VALUE"),
        (["--metric", "=1"], 2, "must be NAME=VALUE"),
        (["--metric", "test_count=1", "--metric", "test_count=2"], 2, "is given twice"),
        (["--number", "9", "--metric", "test_count=1"], 3, "iteration 9 was never started"),
        (["--number", "1", "--metric", "test_count=1"], 1, "is already measured"),
        (["--metrics", "missing.json"], 3, "missing.json: there is no such file"),
        (["--score", "1.5"], 1, "score 1.5 is out of range"),
        ([], 1, "nothing was measured"),
    ],
)
def test_refuses_what_cannot_be_measured(
    measured: Path, run: Run, words: list[str], code: int, says: str
) -> None:
    """An unknown metric, a number used or never started: each is refused clearly."""
    result = run("iteration", "measure", *words)
    assert (result.code, result.out) == (code, "")
    assert says in result.err


def test_lists_what_was_measured(measured: Path, done: Run) -> None:
    """One line per iteration, with class, score and marks; `--at` shows earlier ones."""
    lines = done("list").out.splitlines()
    assert lines[0].split()[:3] == ["iteration", "class", "score"]
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["0", "baseline"],
        ["1", "plateau"],
        ["2", "forward"],
        ["3", "regression"],
    ]
    assert lines[3].endswith(" best")
    unknown = "of each score: 20% unknown, nothing measures readability, efficiency"
    assert lines[5] == unknown
    earlier = done("list", "--at", "iter:1", "--json").json
    assert [one["iteration"] for one in earlier] == [0, 1]
    assert earlier[1]["is_best"]
    last = done("list", "--last", "1", "--json").json
    assert [one["iteration"] for one in last] == [3]


def test_says_when_nothing_was_measured(sprint: Path, done: Run, run: Run) -> None:
    """Before the first measurement each reading reports this."""
    assert done("list").out == "no iteration was measured\n"
    assert done("iteration best").out == "there is no best iteration yet\n"
    nothing = {"sprint": "auth", "best": None, "rollback_target": None}
    assert done("iteration best", "--json").json == nothing
    assert done("iteration alerts").out == "no alert\n"
    assert "nothing to decide" in run("iteration decide").err
    assert "can be selected" in run("iteration", "select").err
    assert run("rollback", "best").code == 3


def test_the_tracker_starts_without_a_best_iteration(sprint: Path, done: Run) -> None:
    """Before the first iteration `show best` prints the initial tracker."""
    assert done("show", "best", "--json").json == {
        "best_iteration_tracker": {
            "current_best": None,
            "best_quality_score": 0.0,
            "best_artifacts_path": None,
            "current_iteration_score": None,
            "quality_trajectory": {},
        }
    }


def test_compares_two_iterations(measured: Path, done: Run, run: Run) -> None:
    """Metrics and scores side by side, with signs; 0 is the baseline."""
    lines = done("iteration compare", 2, 3).out.splitlines()
    assert ["tests_passed", "10", "8", "-2"] in [line.split() for line in lines]
    assert ["class", "forward", "regression"] in [line.split() for line in lines]
    answer = done("iteration compare", 0, 2, "--json").json
    assert answer["deltas"]["tests_passed"] == 1
    assert [one["iteration"] for one in answer["iterations"]] == [0, 2]
    assert run("iteration compare", 1, 9).code == 3


def test_explains_the_best_one(measured: Path, done: Run) -> None:
    """The best one with its breakdown, and the candidates."""
    assert done("iteration best").out.splitlines() == [
        "iteration 2 (quality: 0.97)",
        "of the score: 20% unknown, nothing measures readability, efficiency",
    ]
    explained = done("iteration best", "--explain").out
    for word in ("all_tests_pass", "contribution", "regression"):
        assert word in explained
    assert done("iteration best", "--json").json["best"]["iteration"] == 2
    assert done("iteration best", "--at", "iter:1").out.startswith("iteration 1 ")


def test_tells_alerts(measured: Path, done: Run) -> None:
    """Alerts of the last iteration, of one, or of all."""
    last = done("iteration alerts").out
    assert last.startswith("CRITICAL  working_tests_failing  iteration 3  ")
    assert done("iteration alerts", "--all").out == last
    assert done("iteration alerts").out == last
    assert done("iteration alerts", "--iteration", 2).out == "no alert in iteration 2\n"


def test_alerts_that_a_rollback_answered_are_said_to_be(measured: Path, done: Run) -> None:
    """A discarded iteration has no open alert, and is named with a command."""
    count = len(done("iteration alerts", "--json").json)
    done("rollback", "iter:2")
    found = done("iteration alerts")
    assert found.out == "no alert in iteration 2\n"
    more = f"{count} more alert{'' if count == 1 else 's'}"
    answered = (
        "resolved by the rollback of iteration 3: run `sprintlog iteration alerts --all`"
    )
    assert f"hint: {more}, {answered}" in found.err


@pytest.mark.parametrize(
    ("setup", "code", "message"),
    [
        ([], 11, "ALERT: Working tests failing, recommend rollback"),
        ([("rollback", "best")], 0, "Forward progress detected, continue"),
        (
            [
                ("iteration", "rules", "set", "--threshold", "target=0.9"),
                ("rollback", "best"),
            ],
            10,
            "Target quality reached, recommend stop",
        ),
        (
            [("iteration", "rules", "set", "--threshold", "measured_share=0.9")],
            12,
            "ALERT: Too little measured, recommend asking a person",
        ),
    ],
)
def test_decides(
    measured: Path, run: Run, done: Run, setup: list[Any], code: int, message: str
) -> None:
    """It prints an action and its iteration; `--exit-code` is for scripts."""
    for line in setup:
        done(*line)
    result = run("iteration decide", "--exit-code")
    subject = "iteration 2: forward, quality 0.97 with 20% unknown"
    if not any("rollback" in line for line in setup):
        subject = "iteration 3: regression, quality 0.83 with 20% unknown"
    assert (result.code, result.out.splitlines()) == (code, [message, subject])
    assert done("iteration decide").out == result.out


def test_a_used_up_loop_stops_whatever_was_measured(sprint: Path, run: Run) -> None:
    """`decide` stops at the maximum as `next` does, also without measurements."""
    run("iteration", "start", "--max-iterations", 1)
    run("iteration", "end")
    result = run("iteration decide", "--exit-code")
    assert (result.code, result.out.splitlines()) == (
        10,
        ["Maximum iterations reached, recommend stop", "iteration 1: of at most 1"],
    )
    run("sprint", "limit", 0)
    assert "nothing to decide" in run("iteration decide").err
    run("iteration", "start")
    run("iteration", "end", "--score", "0.5", "--metric", "tests_passed=1")
    assert run("iteration decide", "--exit-code").code == 0


def test_records_an_answer_once(measured: Path, done: Run) -> None:
    """The same state again records nothing new; another state does."""
    first = done("iteration decide", "--json").json
    assert first["type"] == "recommendation-given"
    assert first["recommendation"]["action"] == "rollback"
    again = done("iteration decide", "--json").json
    assert again["unchanged"]
    assert again["recommendation"] == first["recommendation"]
    done("rollback", "best")
    assert done("iteration decide", "--json").json["type"] == "recommendation-given"


def test_answers_a_key_with_the_first_advice(measured: Path, done: Run, run: Run) -> None:
    """A key returns the recorded advice, even if the state has changed."""
    done("iteration decide", "--key", "k")
    done("rollback", "best")
    again = run("iteration decide", "--key", "k", "--exit-code")
    assert (again.code, again.out) == (
        11,
        "Rollback to iteration 2 due to regression\niteration 3\n",
    )


def test_explains_its_advice(measured: Path, done: Run) -> None:
    """Every reason is printed, with the computation of the confidence."""
    lines = done("iteration decide", "--explain").out.splitlines()
    assert lines[2:4] == ["action: rollback", "target: iteration 2"]
    assert lines[-1].startswith("confidence: 1 - (1 - 0.8)")


def test_goes_back_to_the_best_one(measured: Path, done: Run) -> None:
    """`--to best` is the state in which the best iteration ended."""
    best = Workspace.open(measured)
    version = best.version_at("auth", "best")
    assert best.version_at("auth", "iter:2") == version
    best.close()
    done("rollback", "best")
    assert read_state(measured)["stats"]["current-iteration"] == 2
    listed = {one["iteration"]: one for one in done("list", "--json").json}
    assert not listed[3]["is_on_path"]
    done("iteration", "start")
    done("iteration", "end", *options(M))
    listed = {one["iteration"]: one for one in done("list", "--json").json}
    assert (listed[4]["previous"], listed[4]["is_on_path"]) == (2, True)


def test_the_target_is_named_beside_the_best_one(sprint: Path, done: Run) -> None:
    """`best`, `decide`, the tracker and `--to best` agree on a rollback's target."""
    for passed in (10, 10, 4):
        done("iteration", "start")
        done("iteration", "end", *options({**M, "tests_passed": passed}))
    lines = done("iteration best").out.splitlines()
    assert lines[0].startswith("iteration 1 ")
    assert lines[2:] == [
        "a rollback to the best targets iteration 2: as good as the best, and later",
        "  as good: verified, and its score is not lower "
        "(`sprintlog iteration compare 1 2`)",
    ]
    assert done("iteration best", "--json").json["rollback_target"] == 2
    assert (
        "target: iteration 2 (the best one is iteration 1)"
        in done("iteration decide", "--explain").out
    )
    tracker = done("show", "best", "--json").json["best_iteration_tracker"]
    assert (tracker["current_best"], tracker["rollback_target"]) == (
        "iteration_1",
        "iteration_2",
    )
    done("rollback", "best")
    assert read_state(sprint)["stats"]["current-iteration"] == 2


def test_files_that_cannot_come_back_are_said(sprint: Path, done: Run, run: Run) -> None:
    """If the target has no snapshot, only the state is rolled back, with a message."""
    good, bad = options(M), options({**M, "tests_passed": 4})
    done("iteration", "start")
    done("iteration", "end", *good, "--snapshot")
    for line in (options({**M, "tests_passed": 10}), bad):
        done("iteration", "start")
        done("iteration", "end", *line)
    result = run("rollback", "best")
    assert result.code == 0
    assert result.err == (
        "warning: iteration 2 has no snapshot: the files remain unchanged\n"
    )
    assert run("restore", "best", "--apply").code == 3


def test_selects_and_says_so_again(measured: Path, done: Run) -> None:
    """A selection is recorded once, with all that speaks for it."""
    first = done("iteration", "select", "--json").json
    assert first["type"] == "best-selected"
    assert first["selection"]["selected_iteration"] == 2
    again = done("iteration", "select", "--json").json
    assert again["unchanged"]
    assert again["selection"] == first["selection"]


def test_sets_and_shows_rules(measured: Path, done: Run, run: Run) -> None:
    """Rules are changed one by one, are events, and can be shown at any point."""
    done("iteration rules set", "--threshold", "coverage-drop=1", "--no-verification")
    done("iteration rules set", "--weight", "validation=0.4", "--weight", "efficiency=0")
    rules = done("iteration rules show", "--json").json
    assert rules["thresholds"]["coverage_drop"] == 1.0
    assert rules["weights"]["validation"] == 0.4
    assert not rules["policies"]["verification_required"]
    assert "weight validation             0.4" in done("iteration rules show").out
    earlier = done("iteration rules show", "--at", "iter:1", "--json").json
    assert earlier["weights"]["validation"] == 0.3
    assert run("iteration rules set", "--weight", "validation=0.5").code == 1
    assert run("iteration rules set", "--weight", "validation=much").code == 2
    assert done("iteration rules set", "--json").json["unchanged"]


def test_prints_the_schema_of_metrics(folder: Path, done: Run) -> None:
    """The schema names every metric and allows no other."""
    schema = done("schema", "metrics").json
    assert not schema["additionalProperties"]
    assert "tests_passed" in schema["properties"]
