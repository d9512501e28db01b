"""`sprintlog` alone shows a loop's goal, its failures, and pending decisions."""

import shlex
from pathlib import Path

import pytest

from ..conftest import Run


@pytest.fixture
def loop(folder: Path, done: Run) -> Run:
    """Return a function that runs commands, in a sprint with a goal."""
    done("init")
    done("sprint", "create", "win", "--goal", "Win\nand more")
    done("sprint", "start")
    return done


def test_it_says_whether_the_goal_is_reached(loop: Run) -> None:
    """The goal's line, or the first line once it is decided."""
    assert "goal (not reached): Win\n" in loop().out
    loop("goal", "complete", "--summary", "done", "--actor", "operator")
    reached = "done: the goal is reached, according to a person; not verified; "
    assert loop().out.startswith(reached)
    assert loop("status").out.splitlines()[3] == "goal: Win"


def test_a_goal_that_is_given_up_is_not_reached(loop: Run) -> None:
    """A sprint closed without its goal does not look like one that reached it."""
    loop("sprint", "complete", "--abandon-goal", "--reason", "no time")
    assert loop().out.startswith("done: the goal is given up; ")


def test_a_persons_goal_is_shown_whatever_its_words(folder: Path, done: Run) -> None:
    """Only the automatic name of a wrapped loop is not a goal."""
    done("init")
    done("sprint", "create", "win", "--goal", "the loop in parser ends")
    assert "goal (not reached): the loop in parser ends\n" in done().out


def test_requests_that_wait_are_counted(loop: Run) -> None:
    """Undecided requests are shown with the command that lists them; decided ones not."""
    assert "queue" not in loop().out
    loop("queue", "add", "Crash", "--priority", "high", "--type", "bug")
    line = next(x for x in loop().out.splitlines() if x.startswith("queue: "))
    assert line == "queue: 1 for you to decide  (`sprintlog queue list`)"
    command = line.split("`")[1]
    assert "Crash" in loop(*shlex.split(command)[1:]).out
    loop("queue", "reject", "req-1", "--reasoning", "as the interface says")
    assert "for you to decide" not in loop().out


def test_whose_files_were_brought_back_is_said(folder: Path, done: Run) -> None:
    """After a rollback both screens name the iteration, until an undo or the next one."""
    done("init", "--here")
    done("sprint", "create", "win", "--goal", "Win")
    done("sprint", "start")
    for number in (1, 2):
        done("iteration", "start")
        Path("work.txt").write_text(f"{number}\n")
        done("iteration", "end", "--snapshot")
    assert "restored from" not in done().out
    done("rollback", "iter:1", "--yes")
    assert "files: restored from iteration 1\n" in done().out
    assert "`sprintlog wrap --snapshot -- COMMAND`" in done().out
    assert "files: restored from iteration 1\n" in done("status").out
    done("undo", "--yes")
    assert "restored from" not in done().out + done("status").out
    done("rollback", "iter:1", "--yes")
    done("iteration", "start")
    assert "restored from" not in done().out + done("status").out


def test_a_shell_prompt_is_one_line(
    sprint: Path,
    done: Run,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """`status --short` prints the sprint and its pointer; nothing without a sprint."""
    assert done("status", "--short").out == "auth 0/3 setup\n"
    done("iteration", "start")
    assert done("status", "--short").out == "auth 0/3 iter:1 setup\n"
    done("sprint", "pause", "--reason", "lunch")
    assert done("status", "--short").out == "auth 0/3 iter:1 setup (paused)\n"
    assert run("status", "--short", "--json").code == 2
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert done("status", "--short") == (0, "", "")
    done("init", "--here")
    assert done("status", "--short") == (0, "", "")
