"""`run` towards a goal with an agent that changes no file."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.trees import git

from ...conftest import Run
from ..loops.judged_loops import advised, types

IDLE = "cat >/dev/null; echo looked"


@pytest.fixture
def tree(folder: Path, done: Run) -> Path:
    """Return a repository with a sprint that has a goal; it ignores the folder `out`."""
    tree = folder / "tree"
    tree.mkdir()
    os.chdir(tree)
    git(tree, "init", "-q")
    (tree / ".gitignore").write_text("out/\n")
    done("init", "--here")
    done("sprint", "create", "one", "--goal", "Win", "--max-iterations", "6")
    return tree


def loop(run: Run, script: str, *options: str) -> Any:
    """Return the result of a loop whose agent is a shell script."""
    return run("run", "--rest", "0", *options, "--json", "--", "sh", "-c", script)


def changes(done: Run) -> list[bool | None]:
    """Return for each run of an agent whether it changed files."""
    events = done("log", "--type", "agent-ran", "--json").lines
    return [event["data"].get("changed_files") for event in events]


@pytest.mark.parametrize(
    "script",
    [
        IDLE,
        f"{IDLE}; mkdir -p out; date > out/$ITERATION_NUMBER",
        f"{IDLE}; {sys.executable} -m sprintlog.cli note 'still at it' >/dev/null",
        'cat >/dev/null; echo "{\\"status\\": \\"continue\\", \\"pending\\": [\\"s\\"]}"',
    ],
    ids=["nothing", "ignored file", "own files", "step"],
)
def test_stops_after_five_unchanged_iterations(
    tree: Path, run: Run, done: Run, script: str
) -> None:
    """Ignored files, sprintlog's own files and steps are not changed files."""
    result = loop(run, script)
    assert (result.code, result.json["because"]) == (26, "judge")
    assert "no file changed in 5 consecutive iterations" in result.json["why"]
    assert changes(done) == [False] * 5
    given = done("log", "--type", "recommendation-given", "--json").lines
    (advice,) = (event["data"] for event in given)
    assert (advice["number"], advice["action"], advice["cause"]) == (5, "stop", "unchanged")
    runs = done("log", "--type", "agent-ran", "--json").lines
    assert advice["evidence"] == [event["version"] for event in runs]
    # Starting the loop again costs nothing.
    assert loop(run, script).code == 26
    assert types(done).count("agent-ran") == 5
    assert "decide --go-on" in done("next").out


def test_goes_on_when_a_person_decides_so(tree: Path, run: Run, done: Run) -> None:
    """`decide --go-on` records the decision and lets the loop reach its limit."""
    assert loop(run, IDLE).code == 26
    assert "a person decided" in done("iteration", "decide", "--go-on").out
    assert loop(run, IDLE).code == 20
    assert types(done).count("agent-ran") == 6
    assert [cause for _, _, cause in advised(done)] == ["unchanged", "person"]


@pytest.mark.parametrize(
    "script",
    [
        "echo $ITERATION_NUMBER > work",
        "touch .gitignore",
        "chmod +x .gitignore; chmod -x .gitignore",
        "test -e a && rm a || touch a",
        "ln -sfn $ITERATION_NUMBER link",
    ],
)
def test_any_changed_file_is_a_change(tree: Path, run: Run, done: Run, script: str) -> None:
    """New, deleted, rewritten and touched files keep the loop running to its limit."""
    assert loop(run, f"{IDLE}; {script}").code == 20
    assert changes(done) == [True] * 6


def test_a_nested_repository_is_unknown(tree: Path, run: Run, done: Run) -> None:
    """Changes in a nested repository cannot be seen, so they never stop the loop."""
    (tree / "inner").mkdir()
    git(tree / "inner", "init", "-q")
    assert loop(run, IDLE).code == 20
    assert changes(done) == [None] * 6


def test_a_measured_loop_names_the_best_iteration(tree: Path, run: Run, done: Run) -> None:
    """With equal measurements, the reason for the stop names the best iteration."""
    measure = ("--measure", "echo 3/4", "--on-regression", "continue")
    done("iteration", "rules", "set", "--threshold", "stall-variance=0")
    result = loop(run, IDLE, *measure)
    assert (result.code, advised(done)[-1]) == (26, (5, "stop", "unchanged"))
    assert result.json["why"].endswith("the best iteration is 1")


def test_a_measurement_that_differs_is_a_change(tree: Path, run: Run, done: Run) -> None:
    """The loop continues while its measurements differ, even without changed files."""
    measure = 'n=$(cat ../n || echo 0); echo $((n + 1)) > ../n; echo "$n/50"'
    assert loop(run, IDLE, "--measure", measure).code == 20
    assert changes(done) == [False] * 6
