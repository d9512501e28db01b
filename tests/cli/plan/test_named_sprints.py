"""If a sprint was named, the typed hints refer to it."""

from pathlib import Path

import pytest

from sprintlog.engine.service import wrap
from sprintlog.projections import Workspace

from ..conftest import Run
from ..typed import commands_in

AT = "2026-01-01T00:00:00.000Z"
NOT_FOUND, SPENT = 3, 20
PLAN = "phases: [{id: a, prompt: x}]"


@pytest.fixture
def two(folder: Path, done: Run) -> Path:
    """Return a folder that chooses the sprint `here`, next to a blocked sprint."""
    (folder / "plan.yaml").write_text(PLAN)
    done("init")
    done("sprint", "create", "here", "--plan", "plan.yaml")
    done("sprint", "create", "there", "--plan", "plan.yaml", "--sprint-dir", "there")
    for name in ("here", "there"):
        done("sprint", "start", "--sprint", name)
        done("sprint", "block", "--reason", "no disk", "--sprint", name)
    return folder


@pytest.mark.parametrize("command", ["next", "status"])
def test_a_hint_is_about_the_sprint_that_was_named(
    two: Path, run: Run, done: Run, command: str
) -> None:
    """The hints in an answer about a sprint refer to that sprint."""
    told = done(command, "--sprint", "there").out
    (hint,) = [line for line in told.splitlines() if "resume" in line]
    (words,) = commands_in(hint)
    assert words[-2:] == ["--sprint", "there"]
    done(*(word.replace("NAME", "ana").replace("TEXT", "x") for word in words))
    assert done("status", "--sprint", "there", "--json").json["status"] == "in-progress"
    assert done("status", "--json").json["status"] == "blocked"


def test_a_refusal_is_about_the_sprint_that_was_named(two: Path, run: Run) -> None:
    """So do commands in refusals; without `--sprint` nothing is added."""
    assert "--why TEXT --sprint there`" in run("phase", "start", "--sprint", "there").err
    assert "--why TEXT`" in run("phase", "start").err


def test_a_loops_sprint_is_made_before_its_first_run(
    folder: Path, run: Run, done: Run
) -> None:
    """Without plan and goal it is created as by `wrap`, so rules can be set before."""
    done("init")
    refused = run("iteration rules set", "--sprint", "second", "--threshold", "target=0.9")
    assert "`sprintlog sprint create second` to create it" in refused.err
    done("sprint", "create", "second")
    done("iteration rules set", "--sprint", "second", "--threshold", "target=0.9")
    assert not (folder / "PROGRESS.yaml").exists()
    with Workspace.open(folder) as log:
        assert (
            wrap.sprint_for(log, "second", place=None, actor="runtime", at=AT) == "second"
        )
        wrap.sprint_for(log, "third", place=None, actor="runtime", at=AT)
        made, other = (log.sprint(name) for name in ("second", "third"))
        assert made.plan.status == other.plan.status == "in-progress"
        fields = ("mode", "goal", "max-iterations")
        assert [made.document.get(x) for x in fields] == [
            other.document.get(x) for x in fields
        ]


def test_a_sprint_named_before_the_command_is_told_where_it_stands(run: Run) -> None:
    """`sprintlog --sprint ID` prints the next command."""
    assert "`sprintlog status --sprint ID`" in run("--sprint", "x").err


def test_a_goal_begins_a_sprint(folder: Path, done: Run) -> None:
    """It starts one sprint per key, or changes the unfinished one, which can be run."""
    first = done("goal", "set", "green", "--key", "g")
    assert "with a limit of 100 iterations" in first.err
    done("goal", "set", "green and fast")
    (made,) = done("sprint", "list", "--json").json
    told = done("status", "--json").json
    assert (told["goal"], told["stats"]["max-iterations"]) == ("green and fast", 100)
    done("sprint", "complete", "--abandon-goal", "--reason", "enough")
    done("goal", "set", "green", "--key", "g")
    assert len(done("sprint", "list", "--json").json) == 1
    done("goal", "set", "small")
    assert done("status", "--json").json["sprint"] != made["sprint"]


def test_a_prompt_begins_a_sprint(folder: Path, run: Run) -> None:
    """`run` needs a plan, a goal or a prompt file; a name alone starts no sprint."""
    assert run("run", "--", "true").code == NOT_FOUND
    (folder / "PROMPT.md").write_text("Do the next task.\n")
    given = ("run", "--prompt-file", "PROMPT.md", "--budget-iterations", "1")
    assert run(*given, "--sprint", "missing", "--", "echo", "x").code == NOT_FOUND
    assert run("sprint", "list").out == ""
    for number in (1, 2):
        assert run(*given, "--", "echo", "x").code == SPENT
        assert run("status", "--json").json["stats"]["current-iteration"] == number
