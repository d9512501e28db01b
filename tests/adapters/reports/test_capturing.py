"""Commands that write reports have a time limit, and only reports they wrote are read."""

import os
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.adapters.measurement.capture import Capture, MeasurementOrder
from sprintlog.engine.adapters.measurement.figures import Measured
from sprintlog.engine.errors import (
    InvalidInputError,
    NotFoundError,
    RefusedError,
    SprintlogError,
)

from ..remains import alive_with

SUITE = "<testsuite><testcase name='a'/></testsuite>"
WRITE = f'echo "{SUITE}" > junit.xml'


def captured(folder: Path, mark: str = "", **asked: Any) -> Measured:
    """Measure a folder that is also the root of the work tree."""
    environment = {"PATH": os.environ["PATH"], "MARK": mark}
    return Capture(
        MeasurementOrder(**asked), folder=folder, root=folder, environment=environment
    ).measure()


def test_a_run_writes_what_is_read(tmp_path: Path) -> None:
    """The reports are those written by the command."""
    measured = captured(tmp_path, runs=[WRITE], reports=["junit.xml"])
    assert measured.metrics["test_count"] == 1
    assert measured.notes == ()


def test_a_run_that_fails_is_said_and_read(tmp_path: Path) -> None:
    """Test runners end with 1 when tests fail: their report is read nevertheless."""
    command = f"{WRITE}; exit 1"
    measured = captured(tmp_path, runs=[command], reports=["junit.xml"])
    assert measured.metrics["test_count"] == 1
    assert measured.notes == (f"{command}: exit code 1",)


def test_runs_happen_in_order_in_the_root(tmp_path: Path) -> None:
    """Commands see earlier commands' results; names are relative to the caller's folder."""
    folder = tmp_path / "below"
    folder.mkdir()
    runs = ["mkdir out", f'echo "{SUITE}" > out/junit.xml']
    measured = Capture(
        MeasurementOrder(reports=["../out/*.xml"], runs=runs),
        folder=folder,
        root=tmp_path,
        environment={"PATH": os.environ["PATH"]},
    ).measure()
    assert measured.origins[0].name == "../out/*.xml"


@pytest.mark.parametrize("is_there", [True, False])
def test_a_report_that_is_missing_after_a_failure_says_so(
    tmp_path: Path, is_there: bool
) -> None:
    """If the run failed, its exit status explains why there is no new report."""
    if is_there:
        (tmp_path / "junit.xml").write_text(SUITE)
    capture = Capture(
        MeasurementOrder(reports=["junit.xml"], runs=["echo boom; exit 3", "true"]),
        folder=tmp_path,
        root=tmp_path,
        environment={"PATH": os.environ["PATH"]},
    )
    with pytest.raises(RefusedError, match="failed: echo boom; exit 3: exit code 3"):
        capture.measure()
    assert capture.culprit is not None
    assert capture.culprit.command == "echo boom; exit 3"
    assert (capture.culprit.result.exit_code, capture.culprit.result.output) == (
        3,
        "boom\n",
    )


def test_a_report_that_a_run_did_not_write_is_stale(tmp_path: Path) -> None:
    """An earlier report does not describe the run, and is refused."""
    (tmp_path / "junit.xml").write_text(SUITE)
    with pytest.raises(InvalidInputError, match="is unchanged after the run") as caught:
        captured(tmp_path, runs=["true"], reports=["junit.xml"])
    assert caught.value.fields["file"] == "junit.xml"
    for builds in ([], ["true"]):
        measured = captured(tmp_path, builds=builds, reports=["junit.xml"])
        assert measured.metrics["test_count"] == 1


def test_a_report_written_again_is_fresh(tmp_path: Path) -> None:
    """A report that the run wrote is its result, even if the content is unchanged."""
    (tmp_path / "junit.xml").write_text(f"{SUITE}\n")
    measured = captured(tmp_path, runs=[WRITE], reports=["junit.xml"])
    assert measured.metrics["test_count"] == 1


def test_an_agents_result_may_be_older(tmp_path: Path) -> None:
    """The agent's result was written before its work is measured."""
    (tmp_path / "agent.json").write_text('{"type":"result","num_turns":3}')
    measured = captured(tmp_path, runs=["true"], reports=["agent.json"])
    assert measured.usage is not None
    assert measured.usage.turns == 3


def test_a_run_that_takes_too_long_measures_nothing(tmp_path: Path) -> None:
    """At the time limit, a command and all its processes are ended, and nothing is read."""
    mark = f"captured-{tmp_path}"
    command = f"{WRITE}; sleep 60 & sleep 60"
    with pytest.raises(RefusedError, match=r"timed out after 0\.5 s"):
        captured(tmp_path, mark, runs=[command], reports=["junit.xml"], timeout_seconds=0.5)
    assert alive_with(mark) == []


def test_a_run_that_writes_nothing_is_not_found(tmp_path: Path) -> None:
    """A report that should be there and is not is named."""
    with pytest.raises(NotFoundError, match=r"^junit\.xml: no such file"):
        captured(tmp_path, runs=["nowhere-to-be-found"], reports=["junit.xml"])


@pytest.mark.parametrize(
    ("builds", "status", "notes"),
    [
        (["true"], "success", ()),
        (["exit 2"], "failed", ("exit 2: the build failed: exit code 2",)),
        (["true", "false"], "failed", ("false: the build failed: exit code 1",)),
        (["sleep 9"], "failed", ("sleep 9: the build failed: its time limit",)),
    ],
)
def test_a_build_succeeds_when_it_ends_with_zero(
    builds: list[str], status: str, notes: tuple[str, ...], tmp_path: Path
) -> None:
    """The status of the build is a success when every command's exit code is 0."""
    measured = captured(tmp_path, builds=builds, timeout_seconds=2)
    assert measured.metrics == {"build_status": status}
    assert measured.notes == notes


THREE_OF_4 = {"test_count": 4, "tests_passed": 3}
PYTEST_NONE = dict.fromkeys(
    ("test_count", "tests_passed", "tests_failed", "tests_skipped"), 0
)
PYTEST = {"test_count": 7, "tests_passed": 2, "tests_failed": 2, "tests_skipped": 3}
FAILED = "the build failed: exit code"


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("3/4", {"test_count": 4, "tests_passed": 3}),
        ('{"tests_passed": 3, "p95_ms": 1.5}', {"tests_passed": 3, "p95_ms": 1.5}),
        ('{"coverage_percentage": 80, "lint_errors": null}', {"coverage_percentage": 80}),
        ("= 1 failed, 2 passed, 3 skipped, 1 error in 62.02s (0:01:02) =", PYTEST),
        ("1 failed, 2 passed, 3 skipped, 4 warnings, 1 error in 0.02s", PYTEST),
        (
            "2 passed, 4 subtests passed in 0.1s",
            {**PYTEST_NONE, "test_count": 2, "tests_passed": 2},
        ),
        ("4 passed in 1.5s of work", {}),
        ("10 failed attempts in 5s", {}),
        ("4 deselected in 0.01s", {}),
        ("no tests ran in 0.01s", {}),
        ("3/4 passed", {}),
        ("3 of 4", {}),
        ("-3/4", {}),
        ('{"passed": 3, "name": "test_count"}', {}),
        ("[3, 4]", {}),
        ("", {}),
    ],
)
@pytest.mark.parametrize("code", [0, 1])
def test_a_last_line_counts_in_three_formats_and_no_other(
    line: str, said: dict[str, object], code: int, tmp_path: Path
) -> None:
    """Three formats are read: `PASSED/ALL`, pytest's summary, or an object of metrics."""
    (tmp_path / "said").write_text(f"7/7\n{line}\n" if line else "")
    measured = captured(tmp_path, builds=[f"cat said; exit {code}"], own=["p95_ms"])
    status = "failed" if code else "success"
    assert measured.metrics == {"build_status": status, **said}
    told = [one.metrics for one in measured.origins if one.format == "last-line"]
    assert told == ([tuple(said)] if said else [])


@pytest.mark.parametrize(
    ("command", "is_build", "metrics", "notes"),
    [
        ("echo 3/4", False, THREE_OF_4, ()),
        ("echo 3/4; false", False, THREE_OF_4, ("echo 3/4; false: exit code 1",)),
        ("echo 3/4", True, {**THREE_OF_4, "build_status": "success"}, ()),
        ("true", False, {"build_status": "success"}, ()),
        ("false", False, {"build_status": "failed"}, (f"false: {FAILED} 1",)),
        (
            *("echo 3/4; false", True, {**THREE_OF_4, "build_status": "failed"}),
            (f"echo 3/4; false: {FAILED} 1",),
        ),
    ],
)
def test_a_measure_that_prints_figures_is_not_judged_by_its_exit_status(
    command: str,
    is_build: bool,
    metrics: dict[str, object],
    notes: tuple[str, ...],
    tmp_path: Path,
) -> None:
    """The exit status is the build status only without figures, or if named as a build."""
    builds = [command] if is_build else []
    measured = captured(tmp_path, runs=[command], builds=builds)
    assert (measured.metrics, measured.notes) == (metrics, notes)


def test_a_command_that_writes_a_report_can_be_the_build(tmp_path: Path) -> None:
    """A command named as both runs once, for the report's figures and the build status."""
    command = f"{WRITE}; echo x >> ran; false"
    measured = captured(tmp_path, runs=[command], builds=[command], reports=["junit.xml"])
    assert measured.metrics["build_status"] == "failed"
    assert measured.metrics["tests_passed"] == 1
    assert (tmp_path / "ran").read_text() == "x\n"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("5/4", "tests_passed 5 are more than test_count 4"),
        ('{"test_count": 4, "passed": 3}', "there is no metric 'passed'"),
        ('{"test_count": "4"}', "'4' is not a number"),
        ('{"test_count": 4, "test_count": 5}', 'duplicate key "test_count"'),
        ('{"test_count": 4,}', "not JSON"),
        ('{"build_status": "success"}', "specify build_status"),
    ],
)
def test_a_last_line_that_is_meant_and_wrong_measures_nothing(
    line: str, why: str, tmp_path: Path
) -> None:
    """An invalid measurement is not guessed: the error names the line and the problem."""
    (tmp_path / "said").write_text(line)
    with pytest.raises(SprintlogError, match="cat said") as caught:
        captured(tmp_path, builds=["cat said"])
    assert why in str(caught.value)


def test_a_report_and_a_last_line_do_not_say_the_same(tmp_path: Path) -> None:
    """If two reports state the number of tests, one of them must be omitted."""
    (tmp_path / "junit.xml").write_text(SUITE)
    with pytest.raises(
        RefusedError, match=r"both echo 3/4 and junit.xml specify test_count"
    ):
        captured(tmp_path, builds=["echo 3/4"], reports=["junit.xml"])


def test_everything_together_is_one_measurement(tmp_path: Path) -> None:
    """Reports, a build and sources are combined."""
    (tmp_path / "a.py").write_text("def f():\n    pass\n")
    measured = captured(
        tmp_path, runs=[WRITE], reports=["junit.xml"], builds=["true"], sources=["a.py"]
    )
    assert measured.metrics == {
        "build_status": "success",
        "test_count": 1,
        "tests_passed": 1,
        "tests_failed": 0,
        "tests_skipped": 0,
        "file_count": 1,
        "loc_total": 2,
        "complexity_score": 1.0,
    }
    assert [source.format for source in measured.origins] == ["build", "junit", "source"]


LCOV = "printf 'SF:a\\nDA:1,1\\nend_of_record\\n'"
READ = "is written by the measure and read as"


def test_a_report_at_its_usual_place_is_read_if_the_measure_wrote_it(
    tmp_path: Path,
) -> None:
    """Without a specified report, the usual ones are read, and a note names each."""
    command = f"mkdir -p coverage; {WRITE}; {LCOV} > coverage/lcov.info; exit 1"
    measured = captured(tmp_path, runs=[command])
    assert measured.metrics["test_count"] == 1
    assert measured.metrics["coverage_percentage"] == 100
    assert "build_status" not in measured.metrics
    assert measured.notes == (
        f"{command}: exit code 1",
        f"junit.xml {READ} junit",
        f"coverage/lcov.info {READ} lcov",
    )
    assert [one.name for one in measured.origins] == ["junit.xml", "coverage/lcov.info"]


def test_a_usual_report_from_before_the_measure_is_not_read(tmp_path: Path) -> None:
    """A report that the measure did not write is ignored silently."""
    (tmp_path / "junit.xml").write_text(SUITE)
    measured = captured(tmp_path, runs=["true"])
    assert measured.metrics == {"build_status": "success"}
    assert measured.notes == ()


def test_of_two_usual_reports_with_the_same_figures_none_is_read(tmp_path: Path) -> None:
    """If two reports have the same figures, neither is used, and one note names both."""
    command = f"mkdir -p TestResults; {WRITE}; cp junit.xml TestResults/a.trx"
    command += "; cp junit.xml TestResult.xml"
    measured = captured(tmp_path, runs=[command])
    assert measured.metrics == {"build_status": "success"}
    (note,) = measured.notes
    assert note == (
        "junit.xml and TestResult.xml and TestResults/*.trx are written by the measure and "
        "not read, because they state the same figures: name one with --report"
    )


def test_a_usual_report_that_cannot_be_read_does_not_end_the_measurement(
    tmp_path: Path,
) -> None:
    """Without a request the note states why the report was not read."""
    measured = captured(tmp_path, runs=["echo '<testsuite>' > junit.xml"])
    assert measured.metrics == {"build_status": "success"}
    (note,) = measured.notes
    assert note.startswith("junit.xml is written by the measure and not read: ")


def test_printed_figures_and_named_reports_are_preferred_to_usual_reports(
    tmp_path: Path,
) -> None:
    """If the location of the figures is specified, the usual reports are not searched."""
    measured = captured(tmp_path, runs=[f"{WRITE}; echo 3/4"])
    assert measured.metrics == {"test_count": 4, "tests_passed": 3}
    command = f"{WRITE}; {LCOV} > lcov.info"
    measured = captured(tmp_path, runs=[command], reports=["lcov.info"])
    assert "test_count" not in measured.metrics


def test_of_a_pattern_only_the_files_that_the_measure_wrote_are_read(
    tmp_path: Path,
) -> None:
    """Surefire leaves the reports of deleted classes in place."""
    folder = tmp_path / "target" / "surefire-reports"
    folder.mkdir(parents=True)
    (folder / "TEST-gone.xml").write_text(SUITE)
    command = f'echo "{SUITE}" > target/surefire-reports/TEST-new.xml'
    measured = captured(tmp_path, runs=[command])
    assert measured.metrics["test_count"] == 1
    assert measured.origins[0].files == 1


def test_a_build_is_judged_even_if_it_wrote_a_usual_report(tmp_path: Path) -> None:
    """With `--measure-build`, the exit status is the build status."""
    command = f"{WRITE}; exit 1"
    measured = captured(tmp_path, runs=[command], builds=[command])
    assert measured.metrics["build_status"] == "failed"
    assert measured.metrics["test_count"] == 1
