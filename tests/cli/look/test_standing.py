"""The part of `status` about iterations: quality, alerts, and open advice."""

from pathlib import Path

import pytest

from ..conftest import Run

GOOD, BAD = ("test_count=10", "tests_passed=10"), ("test_count=9", "tests_passed=8")
ADVICE = "advice: roll back to iteration 1: "


def metrics(figures: tuple[str, ...]) -> list[str]:
    """Return the options that measure."""
    return [
        word for one in (*figures, "build_status=success") for word in ("--metric", one)
    ]


@pytest.fixture
def worse(sprint: Path, done: Run) -> Path:
    """Return a sprint whose second iteration is worse than the first, with saved files."""
    for number, figures in enumerate((GOOD, BAD), 1):
        done("iteration", "start")
        (sprint / "work.txt").write_text(f"iteration {number}\n")
        done("iteration", "end", "--snapshot", *metrics(figures))
    return sprint


def told(done: Run, *options: str) -> list[str]:
    """Return the lines of `status` that speak of the iterations."""
    names = ("quality", "alerts", "advice")
    lines = done("status", *options).out.splitlines()
    return [line for line in lines if line.startswith(tuple(f"{n}: " for n in names))]


def test_what_got_worse_is_told_with_its_command(worse: Path, done: Run) -> None:
    """Best and last, the worst alert, and the advice: each with a command."""
    quality, alerts, advice = told(done)
    assert quality.startswith("quality: best iteration 1 (1.00), last iteration 2 (0.")
    assert quality.endswith(", regression)  (`sprintlog report`)")
    assert alerts.startswith(
        "alerts: 2 alerts in iteration 2, CRITICAL: Test count decreased from 10 to 9"
    )
    assert alerts.endswith("(`sprintlog iteration alerts`)")
    assert advice.startswith(ADVICE)
    typed = "`sprintlog rollback iter:1`"
    assert f"({typed}; its files alone: {typed[:-1]} --files`)" in advice
    said = done("status", "--json").json["iterations"]
    assert (said["best"]["iteration"], said["last"]["iteration"]) == (1, 2)
    assert said["alerts"] == {"CRITICAL": 2}
    assert (said["advice"]["action"], said["advice"]["target_iteration"]) == ("rollback", 1)


@pytest.mark.parametrize("of", ["--plan", "--files", None])
def test_what_was_answered_waits_no_more(worse: Path, done: Run, of: str | None) -> None:
    """After a rollback of plan or files nothing is advised; an undo brings it again."""
    done("rollback", "iter:1", "--yes", *filter(None, [of]))
    assert not [line for line in told(done) if line.startswith("advice")]
    assert "advice" not in done("status", "--json").json["iterations"]
    done("undo", "--yes")
    assert told(done)[-1].startswith(ADVICE)


def test_the_past_has_its_own_advice(worse: Path, done: Run) -> None:
    """With --at it is the knowledge of that time: after the first iteration, no problem."""
    assert told(done, "--at", "iter:1") == [
        "quality: best iteration 1 (1.00), last iteration 1 (1.00)  (`sprintlog report`)"
    ]


def test_a_finished_sprint_advises_nothing(worse: Path, done: Run) -> None:
    """If the sprint is completed no rollback is advised."""
    for leaf in done("status", "--json").json["phases"]:
        if "/" not in leaf["address"]:
            done("phase", "skip", leaf["address"], "--reason", "x")
    done("sprint", "complete")
    assert [line.partition(":")[0] for line in told(done)] == ["quality", "alerts"]


def test_nothing_is_said_where_nothing_was_measured(sprint: Path, done: Run) -> None:
    """A sprint without measurements has no line of quality, and no field of it."""
    done("iteration", "start")
    done("iteration", "end")
    assert told(done) == []
    assert "iterations" not in done("status", "--json").json


def test_a_measurement_that_failed_is_for_a_person(sprint: Path, run: Run) -> None:
    """An iteration that could not be measured must be examined by a person."""
    run("iteration", "start")
    run("iteration", "end", "--run", "exit 3", "--report", "junit=none.xml")
    (advice,) = told(run)
    assert advice.startswith("advice: a person should look: iteration 1 was not measured")
    assert advice.endswith("(`sprintlog report`)")


def test_zero_of_zero_is_left_out(folder: Path, done: Run) -> None:
    """A loop without phases and steps has no figures of them."""
    done("init")
    done("sprint", "create", "tidy", "--goal", "No warning is left")
    done("sprint", "start")
    done("iteration", "start")
    out = done("status").out
    assert "0/0" not in out
    assert "iteration 1 of 100" in out


def test_whose_files_are_there_is_told_until_the_next_iteration(
    worse: Path, done: Run
) -> None:
    """After a rollback of files `status` names their iteration, until an undo."""
    line = "files: restored from iteration 1: the best"
    assert line not in done("status").out
    done("rollback", "iter:1", "--files", "--yes")
    assert line in done("status").out
    done("undo", "--yes")
    assert line not in done("status").out
    done("rollback", "iter:1", "--files", "--yes")
    done("iteration", "start")
    assert line not in done("status").out


def test_the_report_and_status_advise_the_same(worse: Path, done: Run) -> None:
    """Answered advice is no longer in the report."""
    assert "recommend rollback" in done("report").out
    done("rollback", "iter:1", "--files", "--yes")
    assert "recommend rollback" not in done("report").out


def test_a_row_off_the_path_says_so(worse: Path, done: Run) -> None:
    """The report's table marks the iterations that a rollback of the plan discarded."""
    done("rollback", "iter:1", "--plan", "--yes")
    row = next(x for x in done("report").out.splitlines() if x.startswith("| 2 |"))
    assert row.split(" | ")[1].strip() == "regression"
    assert "| discarded" in row
