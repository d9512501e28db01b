"""`undo` reverses the event that stopped a sprint, with all events of its append."""

from pathlib import Path

import pytest

from ..conftest import Gated, Run


@pytest.mark.parametrize(
    "stop",
    [
        ("phase", "fail", "--error", "no key"),
        ("phase", "block", "--reason", "no key"),
        ("sprint", "block", "--reason", "no key"),
        ("sprint", "needs-human", "--reason", "which key?"),
    ],
)
def test_what_stopped_the_sprint_is_undone(
    sprint: Path, done: Run, stop: tuple[str, ...]
) -> None:
    """The state is that before a failure, a block or a question; `redo` reverses this."""
    done("phase", "start")
    before = done("show", "progress").out
    done(*stop)
    stopped = done("show", "progress").out
    assert done("status", "--json").json["stopped"] is not None
    done("undo", "--reason", "it was the network")
    assert done("show", "progress").out == before
    assert done("next", "--json").json["do"] == "work"
    done("redo")
    assert done("show", "progress").out == stopped


def test_a_gate_that_stopped_the_sprint_is_undone(
    gated: Gated, run: Run, done: Run
) -> None:
    """Its last attempt is discarded, so the gate can be run again."""
    gated("exit 1", retries=1)
    run("gate", "run")
    run("gate", "run")
    assert done("status", "--json").json["status"] == "blocked"
    done("undo")
    assert done("status", "--json").json["status"] == "in-progress"
    # Nothing runs the gate, so a rollback into its run would leave it `running`.
    assert "status: retrying" in done("show", "progress").out
    assert done("next", "--json").json["do"] == "gate"
    assert "(attempt 2, the last, blocked)" in run("gate", "run").err


@pytest.mark.parametrize(
    ("made", "end"),
    [
        (("--goal", "win"), ("goal", "complete", "--summary", "won")),
        (("--goal", "win"), ("sprint", "complete", "--abandon-goal", "--reason", "no")),
        ((), ("sprint", "complete")),
    ],
)
def test_the_completion_of_a_goal_or_a_sprint_is_undone(
    folder: Path, done: Run, made: tuple[str, ...], end: tuple[str, ...]
) -> None:
    """It is later than a copied result, which remains; the sprint continues."""
    done("init")
    (folder / "plan.yaml").write_text("phases: [{id: a, prompt: do a}]\n")
    done("sprint", "create", "s", *(made or ("--plan", "plan.yaml")))
    done("sprint", "start")
    if not made:
        done("phase", "start")
        done("phase", "complete")
    done("iteration", "start")
    (folder / "a").write_text("1")
    done("iteration", "end", "--snapshot", "--metric", "tests_passed=1")
    done("restore", "iter:1", "--apply", "--yes")
    before = done("show", "progress").out
    done(*end)
    ended = done("show", "progress").out
    done("undo", "--yes")
    assert done("show", "progress").out == before
    assert (folder / ".aiwg/output/a").read_text() == "1"
    done("redo", "--yes")
    assert done("show", "progress").out == ended


def test_a_failure_that_was_answered_is_older(sprint: Path, done: Run) -> None:
    """After a resume that is undone first, then the failure."""
    done("phase", "start")
    done("phase", "fail", "--error", "no key")
    done("sprint", "resume", "--by", "ana", "--why", "the key is there")
    done("undo")
    assert done("status", "--json").json["status"] == "blocked"
    done("undo")
    assert done("status", "--json").json["status"] == "in-progress"


def test_a_resume_that_does_not_help_says_what_does(sprint: Path, run: Run) -> None:
    """The obstructing phase is named with its error, and a command."""
    run("phase", "start")
    run("phase", "fail", "--error", "no key")
    told = run("sprint", "resume", "--by", "ana", "--why", "x").err
    assert "warning: cannot continue yet: phase setup: no key" in told
    assert "hint: `sprintlog phase retry setup`" in told


def test_files_that_are_back_are_said_to_be(tree: Path, run: Run, done: Run) -> None:
    """One answer reports it; `audit` lists it as a rollback, once."""
    told = done("rollback", "iter:1", "--files", "--yes", "--reason", "better").out
    assert "files restored" in told
    assert "started" not in told
    (row,) = done("audit", "--kind", "rollback", "--json").json["decisions"]
    assert (row["type"], row["said"]) == ("restore-started", "iteration 1, better")
    done("undo", "--yes")
    done("rollback", "iter:1", "--yes")
    found = done("audit", "--kind", "rollback", "--json").json["decisions"]
    assert [row["type"] for row in found] == [
        "restore-started",
        "restore-started",
        "rolled-back",
    ]


def test_a_new_sprint_names_its_file_and_what_is_next(folder: Path, run: Run) -> None:
    """`sprint create` prints its state file and the next command; JSON is alone."""
    run("init")
    (folder / "plan.yaml").write_text("phases: [{id: a, prompt: b}]")
    told = run("sprint", "create", "one", "--plan", "plan.yaml").err
    assert "run `sprintlog sprint start` to start the sprint" in told
    more = ("--goal", "x", "--sprint-dir", "two")
    assert (
        "`sprintlog sprint start --sprint two`" in run("sprint", "create", "two", *more).err
    )
    more = ("--goal", "x", "--sprint-dir", "three")
    assert run("sprint", "create", "three", *more, "--json").err == ""


def test_log_has_one_number_or_two_that_differ(sprint: Path, done: Run) -> None:
    """A pipe shows the position; `-v` also shows the version, marked as such."""
    assert done("log", "--last", "1").out.split()[:2] == ["2", "2026-01-15T09:00:00Z"]
    assert done("log", "-v", "--last", "1").out.split()[:2] == ["2", "v2"]
