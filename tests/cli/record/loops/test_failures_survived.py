"""A loop with a goal tolerates some consecutive failures, whatever their kind."""

import sys
from pathlib import Path

import pytest

from ...conftest import Run
from ...goals import AGENT, Make
from .test_waits_of_run import events

PLAN = "mode: ralph\ngoal: Win\nphases: []\nretry: {failureWaitMs: [2000, 20]}\n"
FAILS = "if number == 2 and len(open('said.txt').readlines()) < {runs}: sys.exit(3)"


@pytest.fixture
def command(folder: Path, done: Run) -> list[str]:
    """Return the end of `run`, for a goal with short pauses after failures."""
    (folder / "plan.yaml").write_text(PLAN)
    done("init")
    done("sprint", "create", "win", "--plan", "plan.yaml")
    return ["--", sys.executable, "agent.py"]


def play(folder: Path, failures: int) -> None:
    """Create an agent whose second iteration fails a number of times."""
    (folder / "agent.py").write_text(AGENT % FAILS.format(runs=failures + 2))


def test_three_failures_in_a_row_do_not_end_a_night(
    folder: Path, run: Run, done: Run, command: list[str]
) -> None:
    """The same iteration is tried again after a pause, and the failure is reported."""
    play(folder, 3)
    result = run("run", "--rest", "0", *command)
    assert result.code == 0, result.err
    assert "exit code 3 (failure 1 in a row, at most 3)" in result.err
    assert "iteration 2, attempt 4" in result.err
    assert [x["data"]["number"] for x in events(done, "iteration-failed")] == [2, 2, 2]
    assert [x["data"]["number"] for x in events(done, "iteration-ended")] == [1, 2, 3]


def test_a_fourth_failure_blocks(
    folder: Path, run: Run, done: Run, command: list[str]
) -> None:
    """The reason states how often the iteration failed."""
    play(folder, 9)
    result = run("run", "--rest", "0", *command)
    assert result.code == 23
    assert "iteration 2 failed 4 times in a row: exit code 3" in result.out
    assert len(events(done, "agent-ran")) == 5


@pytest.mark.parametrize("failures", [2, 5])
def test_a_budget_of_failures_has_its_effect(
    folder: Path, run: Run, done: Run, command: list[str], failures: int
) -> None:
    """A smaller budget ends the run earlier, and a larger one survives more failures."""
    play(folder, 9)
    result = run("run", "--rest", "0", "--budget-failures", str(failures), *command)
    assert result.code == 25, result.out
    assert f"failures in a row {failures} of {failures}" in result.out
    assert len(events(done, "agent-ran")) == 1 + failures


def test_the_number_is_configurable_and_shown(
    run: Run, done: Run, goal_agent: Make
) -> None:
    """`sprint create --max-failures` sets it, and `status` shows it during a pause."""
    line = goal_agent("sys.exit(3)", creating=("--max-failures", "1"))
    assert run("run", "--no-wait", *line[1:]).code == 1
    said = " ".join(done("status").out.split())
    assert "exit code 3 (failure 1 in a row, at most 1)" in said
    done("sprint", "resume")
    result = run(*line)
    assert (result.code, "failed 2 times in a row" in result.out) == (23, True)
