"""The number of passes over a stream for its state, and the savings."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.engine.service.streams.catalogue import new_event, sprint_stream
from sprintlog.engine.sprint.events import ActivitySeen, PhaseStarted, RolledBack
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.state.sprint import Sprint, pack
from sprintlog.projections.workspace import Workspace
from tests.kept_states import keep_only

from .steps import steps_of

AT = "2026-01-15T09:00:00Z"
PLAN = {"goal": "Try", "phases": [{"id": "a", "prompt": "do it"}]}
EVENTS = 3000


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Provide a long sprint with two rollbacks, the last one near its end."""
    with Workspace.init(tmp_path, here=True) as workspace:
        made = CreateSprint(plan=PLAN).decide(Sprint("s"), AT)
        seen = [ActivitySeen()] * (EVENTS // 2)
        events = [*made, PhaseStarted("a"), *seen, RolledBack(2), *seen, RolledBack(1)]
        wanted = [new_event(event, at=AT, actor="runtime") for event in events]
        workspace.log.append(sprint_stream("s"), wanted, expect=0)
        yield workspace


def steps_of_a_fold(workspace: Workspace) -> int:
    """Return SQLite's steps for a state from nothing."""
    assert isinstance(workspace.log, SqliteLog)
    with steps_of(workspace.log.connection.raw) as steps:
        workspace.repository.from_nothing("s")
    return steps[0]


def test_a_fold_walks_through_a_stream_once(workspace: Workspace) -> None:
    """If a checkpoint knows the rollbacks, they are not searched for first."""
    assert isinstance(workspace.log, SqliteLog)
    keep_only(workspace.repository, workspace.repository.from_nothing("s"))
    with steps_of(workspace.log.connection.raw) as steps:
        pages = workspace.log.scan(sprint_stream("s"))
        assert sum(len(page.rows) for page in pages) > EVENTS
    assert steps_of_a_fold(workspace) < 1.1 * steps[0]


def test_what_a_checkpoint_says_of_rollbacks_is_not_believed(workspace: Workspace) -> None:
    """A checkpoint with too many or too few does not affect a state from nothing."""
    state = workspace.repository.from_nothing("s")
    expected = pack(state)
    for wrong in ([], [(1502, 3)], [*state.knowledge.rollbacks, (900, 2)]):
        state.knowledge.rollbacks = wrong
        keep_only(workspace.repository, state)
        assert pack(workspace.repository.from_nothing("s")) == expected
        state = workspace.repository.from_nothing("s")


def test_a_walk_keeps_little_in_memory(workspace: Workspace) -> None:
    """While a long stream is read, SQLite caches few pages, and afterwards as before."""
    assert isinstance(workspace.log, SqliteLog)
    ask = workspace.log.connection.raw.execute
    before = ask("PRAGMA cache_size").fetchone()
    pages = workspace.log.scan(sprint_stream("s"))
    next(pages)
    assert ask("PRAGMA cache_size").fetchone() == (-64,)
    assert list(pages)
    assert ask("PRAGMA cache_size").fetchone() == before


def test_a_scan_holds_few_events_at_a_time(workspace: Workspace) -> None:
    """However long a stream is, the memory of a fold does not grow."""
    sizes = [len(page.rows) for page in workspace.log.scan(sprint_stream("s"))]
    assert len(sizes) > EVENTS // 256
    assert max(sizes) <= 256
