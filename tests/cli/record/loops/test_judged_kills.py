"""A judged night that is killed after any append, and a custom loop that does the same."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ...conftest import Run
from .judged_loops import GATE, MEASURES, PLAN, aim, drive, outcome, prepare, runs

pytestmark = pytest.mark.long

NIGHT = "2) echo 1 > tests ;;"
RULES = (*MEASURES, "--on-regression", "rollback", "--select")
STEPS_MAX = 200
PLACES_APART = 5
"""Every so many appends the short form is killed after one."""


def plan(done: Run, folder: Path) -> Path:
    """Create a plan in which an iteration regresses, and a gate needs a repair."""
    return prepare(done, folder, NIGHT, PLAN % GATE)


def goal(done: Run, folder: Path) -> Path:
    """Create a goal that is first claimed with fewer tests."""
    ends = "status=goal-complete; echo"
    return aim(done, folder, f"2) {ends} 1 > tests ;;\n4) {ends} 9 > tests ;;")


@pytest.mark.parametrize(("make", "last"), [(plan, 5), (goal, 4)])
def test_killed_after_any_append_it_ends_the_same(
    folder: Path, done: Run, make: Callable[[Run, Path], Path], last: int
) -> None:
    """A kill between two events leads to the same end; nothing is paid twice."""

    def night(name: str) -> Path:
        place = folder / name
        place.mkdir()
        tree = make(done, place)
        done("iteration rules set", *RULES)
        return tree

    tree = night("undisturbed")
    _, appends = drive(tree)
    expected, paid = outcome(tree), runs(tree)
    assert (expected["back"], expected["iterations"]) == ([2], [*range(1, last + 1)])
    for place in range(1, appends, PLACES_APART):
        tree = night(f"killed-{place}")
        assert drive(tree, appends=place)[0] is None
        action, _ = drive(tree)
        assert action is not None
        assert action.do == "done", (place, action)
        assert outcome(tree) == expected, place
        assert runs(tree) == paid, place
    assert appends > 15


def test_ones_own_loop_by_commands_ends_the_same(folder: Path, done: Run, run: Run) -> None:
    """A loop that types the answers of `next` ends in the same state as `run`."""
    ours = folder / "ours"
    theirs = folder / "theirs"
    ours.mkdir()
    theirs.mkdir()
    tree = prepare(done, ours, NIGHT, PLAN % GATE)
    done("iteration rules set", *RULES)
    drive(tree)
    expected = outcome(tree)
    tree = prepare(done, theirs, NIGHT, PLAN % GATE)
    done("iteration rules set", *RULES)
    for _ in range(STEPS_MAX):
        action = done("next", "--json").json
        if action["do"] == "done":
            break
        _perform(action, tree, done, run)
    done("iteration", "select", "--apply", "--yes")
    assert outcome(tree) == expected


def _perform(action: dict[str, object], tree: Path, done: Run, run: Run) -> None:
    match action["do"]:
        case "start":
            done("sprint", "start")
        case "measure":
            done("iteration", "measure", "--by-rules")
        case "decide":
            done("iteration decide")
        case "restore":
            done("rollback", f"iter:{action['target']}", "--yes")
        case "work":
            done("iteration", "start", "--phase", action["phase"])
            done("phase", "start", action["phase"])
            _work(action, tree)
            number = action["iteration"]
            if action.get("gated"):
                done(
                    "append",
                    "work-done",
                    "--data",
                    f'{{"phase": "{action["phase"]}", "summary": "did {number}"}}',
                )
            else:
                done("phase", "complete", action["phase"], "--summary", f"did {number}")
            done("iteration", "end")
        case "gate" if action.get("prompt"):
            done("iteration", "start", "--phase", action["phase"])
            _work(action, tree)
            data = json.dumps({"phase": action["phase"]})
            done("append", "gate-repaired", "--data", data)
            done("iteration", "end")
        case "gate":
            run("gate", "run")
        case "end":
            done("phase", "complete", action["phase"])
        case "complete":
            done("sprint", "complete")
        case other:
            raise AssertionError(other)


def _work(action: dict[str, object], tree: Path) -> None:
    subprocess.run(
        ["sh", "agent.sh"],
        cwd=tree,
        input=str(action["prompt"]),
        text=True,
        env={**os.environ, "ITERATION_NUMBER": str(action["iteration"])},
        check=True,
        stdout=subprocess.DEVNULL,
    )
