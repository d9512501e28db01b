"""The number of SQL statements per recorded action."""

import sqlite3
from pathlib import Path

import pytest

from sprintlog.engine.sprint.events import Place
from sprintlog.engine.sprint.phases.leaves import CompletePhase, StartPhase
from sprintlog.engine.sprint.phases.lifecycle import StartSprint
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.projections.workspace import Workspace
from tests.kept_states import keep_only

FIRST_MAX = 22
"""Of an action for which the log is opened, with the state file behind it.

One of them is a second look at the log's end: the sprint is read to see whether it belongs
to this work tree, and somebody else may append before it is acted on.
"""
EACH_MAX = 3
"""Of an action in a process that stays: is it there, is anybody else's there, insert."""


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list to which every connection adds its statements."""
    said: list[str] = []
    connect = sqlite3.connect

    def say(text: str) -> None:
        # A trigger repeats the statement that called it.
        if said[-1:] != [text]:
            said.append(text)

    def traced(*given: object, **named: object) -> sqlite3.Connection:
        connection = connect(*given, **named)  # type: ignore[call-overload]
        connection.set_trace_callback(say)
        return connection  # type: ignore[no-any-return]

    monkeypatch.setattr(sqlite3, "connect", traced)
    return said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a sprint with two phases, the first in progress."""
    phases = [{"id": "build", "prompt": "Build"}, {"id": "ship", "prompt": "Ship"}]
    create = CreateSprint(plan={"phases": phases}, place=Place("PROGRESS.yaml"))
    with Workspace.init(tmp_path, here=True) as workspace:
        for command in (create, StartSprint(), StartPhase("build")):
            workspace.handle(command, sprint_id="s")
        keep_only(workspace.repository, workspace.sprint("s"))
    return tmp_path


def test_one_action_takes_few_statements(folder: Path, statements: list[str]) -> None:
    """Opening the log, acting, and writing the file repeat no query."""
    with Workspace.open(folder) as workspace:
        workspace.handle(CompletePhase("build"), sprint_id=workspace.choose(None))
        workspace.refresh("s")
    assert len(statements) <= FIRST_MAX, statements
    # One for the event, and one for the digest of the file.
    assert sum(text.startswith("INSERT") for text in statements) == 2


def test_every_further_action_takes_few(folder: Path, statements: list[str]) -> None:
    """A resident process only checks for other writers and for the sprint."""
    with Workspace.open(folder) as workspace:
        workspace.handle(CompletePhase("build"), sprint_id=workspace.choose(None))
        statements.clear()
        workspace.handle(StartPhase("ship"), sprint_id=workspace.choose(None))
        assert len(statements) <= EACH_MAX, statements
