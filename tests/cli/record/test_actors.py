"""The default actor: a person, a loop, or a process that the loop runs."""

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.phases.lifecycle import AddNote
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.projections.workspace import Workspace

from ..conftest import Run

SPRINTLOG = [sys.executable, "-m", "sprintlog.cli"]
NOTE = f'"{sys.executable}" -m sprintlog.cli note seen'
PLAN = f"""\
phases:
  - id: build
    prompt: Build it
    gate: {{script: '{NOTE}'}}
"""


def actors(done: Run) -> list[str]:
    """Return the actor of each note."""
    return [event["actor"] for event in done("log", "--type", "note-added", "--json").lines]


def test_a_person_at_a_terminal_is_the_operator(sprint: Path, done: Run) -> None:
    """A typed command is the operator's, without a name; a script's is not."""
    assert type_at_terminal("note", "by hand") == 0
    assert type_at_terminal("note", "by name", SPRINTLOG_ACTOR="operator:ana") == 0
    done("note", "by a script")
    assert actors(done) == ["operator", "operator:ana", "runtime"]


def test_an_import_stays_named_for_its_file(folder: Path, done: Run) -> None:
    """An import is recorded under its file, whoever runs the command."""
    done("init")
    (folder / "PROGRESS.yaml").write_text(
        "sprint-id: s\nstatus: in-progress\nphases: [{id: a, status: pending, prompt: x}]\n"
    )
    assert type_at_terminal("import", "progress", "PROGRESS.yaml") == 0
    assert done("log", "--json").json["actor"] == "import:PROGRESS.yaml"


def test_an_actor_from_the_environment_is_named_as_such(
    sprint: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an option a warning explains the origin of a wrong actor."""
    monkeypatch.setenv("SPRINTLOG_ACTOR", "ana")
    refused = run("note", "x")
    assert (refused.code, "invalid actor 'ana'" in refused.err) == (2, True)
    assert "SPRINTLOG_ACTOR" in refused.err


def test_a_program_is_held_to_the_same_forms(sprint: Path, done: Run) -> None:
    """The library refuses actors that commands would refuse."""
    with Workspace.open(sprint) as workspace:
        with pytest.raises(
            InvalidInputError, match="actor: invalid actor 'me': must be runtime"
        ):
            workspace.handle(AddNote("x"), sprint_id="auth", actor="me")
        workspace.handle(AddNote("y"), sprint_id="auth", actor="agent:me")
    assert actors(done) == ["agent:me"]


def test_a_decision_by_nobody_is_hinted_at(sprint: Path, done: Run) -> None:
    """A decision without a name shows the expected form."""
    for title in ("one", "two"):
        done("queue", "add", title, "--priority", "low", "--type", "docs")
    words = ("--reasoning", "no")
    assert "`--actor operator:NAME`" in done("queue", "reject", "req-1", *words).err
    named = done("queue", "reject", "req-2", *words, "--actor", "operator:ana")
    assert "--actor" not in named.err


def test_what_a_loop_runs_says_so(folder: Path, done: Run) -> None:
    """Records by the agent and the gate have their actors; the loop's has its own."""
    (folder / "plan.yaml").write_text(PLAN)
    done("init")
    done("sprint", "create", "s", "--plan", "plan.yaml")
    done("run", "--", "sh", "-c", f"cat > /dev/null; {NOTE}; echo done")
    assert actors(done) == ["agent:sh", "agent:gate"]
    others = [e for e in done("log", "--json").lines if e["type"] != "note-added"]
    assert {event["actor"] for event in others} == {"runtime"}


def test_the_agent_is_named_as_the_loop_is_told(
    folder: Path, run: Run, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent named by the loop's actor has that name, and is never a person."""
    (folder / "plan.yaml").write_text("phases: [{id: a, prompt: x}, {id: b, prompt: x}]")
    done("init")
    done("sprint", "create", "s", "--plan", "plan.yaml", "--max-iterations", "1")
    command = ["--", "sh", "-c", f"cat > /dev/null; {NOTE}; echo done"]
    assert run("run", "--actor", "agent:coder", *command).code == 20
    monkeypatch.setenv("SPRINTLOG_ACTOR", "operator:ana")
    done("sprint", "limit", "2")
    done("run", *command)
    assert actors(done) == ["agent:coder", "agent:sh"]


def type_at_terminal(*arguments: str, **environment: str) -> int:
    """Run a command whose standard files are a terminal; return its exit code."""
    ours, theirs = pty.openpty()
    try:
        return subprocess.run(
            [*SPRINTLOG, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, **environment},
            check=False,
        ).returncode
    finally:
        os.close(ours)
        os.close(theirs)


def test_what_nobody_knows_is_refused(tmp_path: Path) -> None:
    """A misspelled word in the library is an error, and nothing is recorded."""
    with Workspace.in_memory(tmp_path) as workspace:
        workspace.handle(
            CreateSprint({"phases": [{"id": "a", "prompt": "b"}]}), sprint_id="x"
        )
        misspelt: dict[str, Any] = {"keys": "k", "actr": "agent:a"}
        with pytest.raises(TypeError, match="unknown: actr, keys"):
            workspace.handle(AddNote("x"), sprint_id="x", **misspelt)
        assert workspace.log.head().position == 1
