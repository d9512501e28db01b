"""Sessions of very many calls do not slow down commands of a sprint."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.engine.sessions.names import session_stream
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.phases.lifecycle import STALE_AFTER_SECONDS, StartSprint
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.projections.views.work import status
from sprintlog.projections.workspace import Workspace
from tests.store.steps import steps_of

AT = "2026-01-15T09:00:00Z"
PLAN = {"goal": "Try", "phases": [{"id": "a", "prompt": "do it"}]}
CALL = NewEvent("tool-called", b'{"tool": "Bash", "command": "make"}', AT, "agent:claude")


@pytest.fixture
def workspace(folder: Path) -> Iterator[Workspace]:
    """Provide a running sprint with some work by an agent."""
    with Workspace.init(folder, here=True) as workspace:
        workspace.handle(CreateSprint(plan=PLAN), sprint_id="s", at=AT)
        workspace.handle(StartSprint(), sprint_id="s", at=AT)
        call(workspace, 200)
        yield workspace


def call(workspace: Workspace, times: int) -> None:
    """Record a number of calls of one session."""
    stream = session_stream("claude", "s-1")
    done = workspace.log.version(stream)
    workspace.log.append(stream, [CALL] * times, expect=done)


def steps_of_status(workspace: Workspace) -> int:
    """Return SQLite's work for the `status` of a sprint that seems to be inactive."""
    assert isinstance(workspace.log, SqliteLog)
    workspace.clock = lambda: 1_768_467_600_000 + 2000 * STALE_AFTER_SECONDS
    with steps_of(workspace.log.connection.raw) as steps:
        sprint = workspace.sprint(workspace.choose(None))
        answer = status(workspace, sprint, next_action(sprint, now=AT))
    assert answer.stale
    return steps[0]


def test_status_does_not_read_what_agents_did(workspace: Workspace) -> None:
    """With ten times as many calls SQLite does as much for `status`."""
    before = steps_of_status(workspace)
    call(workspace, 1800)
    # SQLite may or may not count the last few steps of a statement.
    assert steps_of_status(workspace) <= before + 5
