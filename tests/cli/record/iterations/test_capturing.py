"""`iteration end --report …`: metrics from tools' reports, all of them or none."""

import sys
from pathlib import Path
from typing import Any

import pytest

from ...conftest import Run

SUITE = (
    "<testsuite><testcase name='a'/><testcase name='b'><failure/></testcase></testsuite>"
)
WRITE = f'echo "{SUITE}" > junit.xml'
COUNTS = {"test_count": 2, "tests_passed": 1, "tests_failed": 1, "tests_skipped": 0}


@pytest.fixture
def loop(sprint: Path, done: Run) -> Path:
    """Return a folder whose sprint has an iteration in progress."""
    done("iteration", "start")
    return sprint


def measured(run: Run) -> dict[str, Any]:
    """Return the newest measurement."""
    events = run("log", "--json", "--type", "iteration-measured").lines
    data: dict[str, Any] = events[-1]["data"]
    return data


def test_reports_are_recorded_with_where_they_came_from(loop: Path, run: Run) -> None:
    """The event has the metrics, the file, its format, and the agent's cost."""
    (loop / "junit.xml").write_text(SUITE)
    (loop / "agent.json").write_text('{"type":"result","num_turns":3}')
    done = run("iteration", "end", "--report", "junit.xml", "--report", "agent.json")
    assert done.code == 0, done.err
    found = measured(run)
    assert [report["file"] for report in found.pop("reports")] == [
        "junit.xml",
        "agent.json",
    ]
    assert found == {
        "number": 1,
        "metrics": COUNTS,
        "origins": [
            {"name": "junit.xml", "format": "junit", "metrics": list(COUNTS)},
            {"name": "agent.json", "format": "agent"},
        ],
        "usage": {"turns": 3},
    }


def test_commands_write_build_and_count(loop: Path, run: Run) -> None:
    """`--run`, `--build` and `--source` work together, and their failures are reported."""
    (loop / "a.py").write_text("def f():\n    return 1\n")
    done = run(
        "iteration", "end", "--run", f"{WRITE}; exit 1", "--report", "*.xml",
        "--build", "exit 3", "--source", "a.py", "--metric", "lint_errors=0",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert f"warning: {WRITE}; exit 1: exit code 1" in done.err
    assert "warning: exit 3: the build failed: exit code 3" in done.err
    assert measured(run)["metrics"] == {
        **COUNTS,
        "build_status": "failed",
        "lint_errors": 0,
        "file_count": 1,
        "loc_total": 2,
        "complexity_score": 1.0,
    }


@pytest.mark.parametrize(
    ("options", "code", "error"),
    [
        (["--report", "cut.xml"], 1, "error: cut.xml:1: not well-formed XML"),
        (["--report", "nowhere.xml"], 3, "error: nowhere.xml: no such file"),
        (["--report", "junit=plan.yaml"], 1, "error: plan.yaml:1: not well-formed XML"),
        (["--run", "true", "--report", "junit.xml"], 1, "error: junit.xml: is unchanged"),
        (
            ["--run", "sleep 9", "--timeout", "0.2", "--source", "."],
            1,
            "error: sleep 9: timed out",
        ),
        (["--source", "plan.yaml"], 1, "error: plan.yaml: contains no source file"),
        (
            ["--report", "junit.xml", "--metric", "test_count=3"],
            1,
            "error: test_count: 3 is specified, but junit.xml states 2",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_cannot_be_measured_is_kept_and_nothing_else(
    options: list[str], code: int, error: str, loop: Path, run: Run
) -> None:
    """The failure and its reason are recorded; the iteration can still be measured."""
    (loop / "junit.xml").write_text(SUITE)
    (loop / "cut.xml").write_text(SUITE[:-4])
    before = run("log", "--json").lines
    done = run("iteration", "end", *options)
    assert (done.code, done.out) == (code, "")
    assert error in done.err
    *same, failed = run("log", "--json").lines
    assert same == before
    assert failed["type"] == "measurement-failed"
    assert error.endswith(failed["data"]["error"][: len(error) - len("error: ")])
    assert run("iteration", "end", "--metric", "test_count=2").code == 0
    assert run("list", "--json").json[0]["measured_share"] == 0


def test_a_failed_measurement_names_what_was_run(loop: Path, run: Run) -> None:
    """The event has the command, its exit code, the end of its output and its digest."""
    (loop / "junit.xml").write_text(SUITE)
    token = f"ghp_{'a1' * 20}"
    noise = "yes x | head -c 9000"
    command = f"{noise}; echo {token}; exit 2"
    done = run("iteration", "end", "--run", command, "--report", "junit.xml")
    assert done.code == 1
    assert f"is unchanged after the run, which failed: {noise}; echo [masked: " in done.err
    assert token not in done.err
    data = run("log", "--json", "--last", "1").lines[0]["data"]
    masked = "[masked: github-token f65b37ab]"
    assert (data["number"], data["exit_code"]) == (1, 2)
    assert data["command"] == f"{noise}; echo {masked}; exit 2"
    assert token not in data["error"]
    assert data["output"].endswith(f"x\n{masked}\n")
    assert len(data["output"]) == 4000
    assert len(data["output_sha256"]) == 64
    assert data["error"].endswith("exit code 2")


def test_an_iteration_without_a_measurement_is_for_a_person(loop: Path, run: Run) -> None:
    """Broken measurements are listed, and `decide` refers to them, not to earlier ones."""
    write = ("--run", WRITE, "--report", "junit.xml")
    assert run("iteration", "end", *write).code == 0
    assert run("iteration decide", "--exit-code").code == 0
    assert run("iteration", "start").code == 0
    assert (
        run("iteration decide", "--exit-code")
        .out.splitlines()[1]
        .startswith("iteration 1: ")
    )
    broken = ("--run", "echo broken; exit 2", "--report", "junit.xml")
    assert run("iteration", "end", *broken).code == 1
    decided = run("iteration decide", "--exit-code")
    assert (decided.code, decided.out.splitlines()) == (
        12,
        [
            "ALERT: Iteration 2 was not measured, recommend asking a person",
            "iteration 2: was not measured: junit.xml: is unchanged after the run, "
            "which failed: echo broken; exit 2: exit code 2",
        ],
    )
    lines = run("list").out.splitlines()
    assert lines[2].split()[:2] == ["2", "-"]
    assert "not measured: junit.xml: is unchanged" in lines[2]
    (_, failed) = run("list", "--json").json
    assert (failed["iteration"], failed["score"]) == (2, None)
    assert failed["failed"]["exit_code"] == 2
    assert [one["iteration"] for one in run("list", "--last", "1", "--json").json] == [2]
    summary = run("report").out
    assert "| 2 | not measured  " in summary
    assert "| `exit 2: " in summary
    assert "1 not measured" in summary
    assert run("report", "--json").json["iterations"][1]["failed"]
    assert run("iteration", "end", *write).code == 0
    assert run("iteration decide").out.splitlines()[1].startswith("iteration 2: ")
    assert "failed" not in run("list", "--json").json[1]


def test_an_iteration_that_only_ended_is_for_a_person_too(loop: Path, run: Run) -> None:
    """In a measured loop, an iteration that ended without a measurement is missing."""
    assert run("iteration", "end").code == 0
    assert "nothing to decide" in run("iteration decide").err
    for options in (["--metric", "test_count=1", "--score", "0.5"], []):
        assert run("iteration", "start").code == 0
        assert run("iteration", "end", *options).code == 0
    decided = run("iteration decide", "--exit-code")
    assert (decided.code, decided.out.splitlines()[1]) == (
        12,
        "iteration 3: was not measured",
    )


def test_a_baseline_that_cannot_be_measured_is_not_there(loop: Path, run: Run) -> None:
    """Before any change nothing is lost, so it is measured again."""
    before = run("log", "--json").out
    assert run("iteration", "baseline", "--report", "nowhere.xml").code == 3
    assert run("log", "--json").out == before


def test_the_measured_files_are_known_by_their_digest(loop: Path, run: Run) -> None:
    """With --snapshot, the measurement has the digest of the saved files."""
    line = ("iteration", "end", "--metric", "tests_passed=2", "--snapshot")
    assert run(*line).code == 0
    _, measured, taken = run("log", "--json", "--last", "3").lines
    assert measured["data"]["tree"] == taken["data"]["tree"]
    assert run(*line).out.splitlines()[0] == "auth: nothing to record"


def test_a_key_runs_and_reads_once(loop: Path, run: Run) -> None:
    """The same command with its key is answered again without running anything."""
    command = [
        "iteration", "end", "--key", "end-1", "--json",
        "--run", f"echo run >> runs; {WRITE}", "--report", "junit.xml",
    ]  # fmt: skip
    first = run(*command)
    assert first.code == 0, first.err
    (loop / "junit.xml").unlink()
    again = run(*command)
    assert [event["id"] for event in again.json] == [event["id"] for event in first.json]
    assert again.json[0]["duplicate"] is True
    assert (loop / "runs").read_text() == "run\n"
    assert run(*command[:5], "--report", "junit.xml").code == 5


def test_nothing_is_run_in_vain(loop: Path, run: Run) -> None:
    """A command that cannot be recorded is refused before anything is run."""
    command = ["iteration", "end", "--run", f"echo run >> runs; {WRITE}"]
    for options in (["--metric", "tests=1"], ["--score", "2"]):
        assert run(*command, "--report", "junit.xml", *options).code == 1
    assert run(*command, "--metric", "tests=1").code == 1
    assert not (loop / "runs").exists()
    for _ in range(2):
        done = run(*command, "--report", "junit.xml")
    assert done.err.startswith("error: iteration 1 is already measured")
    assert (loop / "runs").read_text() == "run\n"


def test_the_baseline_is_read_too(loop: Path, run: Run) -> None:
    """Before any change the same reports measure the baseline."""
    (loop / "junit.xml").write_text(SUITE)
    done = run("iteration", "baseline", "--report", "junit.xml")
    assert done.code == 0, done.err
    (event,) = run("log", "--json", "--type", "baseline-captured").lines
    assert event["data"]["metrics"] == COUNTS
    assert event["data"]["origins"][0]["name"] == "junit.xml"


def test_no_tests_are_said(loop: Path, run: Run) -> None:
    """An empty suite is recorded, and marked as not passed."""
    (loop / "junit.xml").write_text("<testsuites/>")
    done = run("iteration", "end", "--report", "junit.xml")
    assert done.code == 0, done.err
    assert "warning: junit.xml: no tests were collected" in done.err
    assert measured(run)["metrics"]["test_count"] == 0


def test_tokens_in_commands_are_masked(loop: Path, run: Run) -> None:
    """The recorded origin of a metric contains no secret."""
    command = f": ghp_{'a1' * 20}"
    assert run("iteration", "end", "--build", command).code == 0
    assert measured(run)["origins"][0]["name"] == ": [masked: github-token f65b37ab]"


def test_commands_get_stated_variables(
    loop: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command gets the variables of gates, and those passed on explicitly."""
    monkeypatch.setenv("SECRET", "s")
    monkeypatch.setenv("WANTED", "w")
    script = 'test "$SPRINT_ID-$SECRET-$WANTED" = auth--w'
    done = run("iteration", "end", "--build", script, "--env", "WANTED")
    assert done.code == 0, done.err
    assert measured(run)["metrics"] == {"build_status": "success"}


@pytest.mark.long
def test_real_tools_measure_an_iteration(loop: Path, run: Run) -> None:
    """The output of pytest is immediately in the log, and the agent gets the advice."""
    (loop / "test_a.py").write_text("def test_a():\n    assert True\n")
    python = f'"{sys.executable}" -m'
    done = run(
        "iteration", "end",
        "--run", f"{python} pytest -q -p no:cacheprovider --junitxml=junit.xml test_a.py",
        "--report", "junit.xml",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert measured(run)["metrics"] == {
        "test_count": 1,
        "tests_passed": 1,
        "tests_failed": 0,
        "tests_skipped": 0,
    }
    assert measured(run)["origins"][0]["tool"] == "pytest"


def test_a_usual_report_is_read_without_being_named(loop: Path, run: Run) -> None:
    """`--run` alone reads its report at a usual path, and one line reports this."""
    done = run("iteration", "end", "--run", WRITE)
    assert done.code == 0
    assert done.err == "warning: junit.xml is written by the measure and read as junit\n"
    assert measured(run)["metrics"] == COUNTS
    assert [one["name"] for one in measured(run)["origins"]] == ["junit.xml"]
