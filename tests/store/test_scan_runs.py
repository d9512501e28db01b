"""Long stretches of a stream: read without numbers, and believed no more for that."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sprintlog.engine.errors import UnreadableError
from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.sqlite.queries import ROWS_PER_READ
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.engine.service.streams.catalogue import new_event as recordable
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.sprint.events import ActivitySeen
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.workspace import Workspace

AT = "2026-01-15T09:00:00Z"
PLAN = {"goal": "Try", "phases": [{"id": "a", "prompt": "do it"}]}
DAMAGED = 3 * ROWS_PER_READ + 17


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Provide a sprint of five full pages, with consecutive events."""
    with Workspace.init(tmp_path, here=True) as workspace:
        made = CreateSprint(plan=PLAN).decide(Sprint("s"), AT)
        events = [*made, *[ActivitySeen()] * (5 * ROWS_PER_READ - len(made))]
        wanted = [recordable(event, at=AT, actor="runtime") for event in events]
        workspace.log.append(sprint_stream("s"), wanted, expect=0)
        yield workspace


@pytest.mark.parametrize(
    "change",
    [
        "version = 9999",
        "version = 'none'",
        "stream = 'sprint/other'",
        "at = x'00'",
        "type = x'00'",
        "type = 'nobody-knows'",
        "schema_version = 7",
        "schema_version = 'one'",
        "payload = '{'",
        "payload = 7",
        "payload = NULL",
    ],
)
def test_a_damaged_row_of_a_run_is_noticed(workspace: Workspace, change: str) -> None:
    """It is detected in any column, with its position if the row itself has it."""
    assert isinstance(workspace.log, SqliteLog)
    raw = workspace.log.connection.raw
    raw.execute("DROP TRIGGER events_never_change")
    raw.execute("PRAGMA ignore_check_constraints = ON")
    raw.execute(f"UPDATE events SET {change} WHERE position = {DAMAGED}")
    with pytest.raises(UnreadableError) as error:
        workspace.repository.from_nothing("s")
    # A different number or name is valid alone; the chain detects the change.
    if change not in ("version = 9999", "stream = 'sprint/other'"):
        assert error.value.fields["position"] == DAMAGED


def test_a_missing_row_of_a_run_is_noticed(workspace: Workspace) -> None:
    """In the midst of a page as between two of them."""
    assert isinstance(workspace.log, SqliteLog)
    raw = workspace.log.connection.raw
    raw.execute("DROP TRIGGER events_never_go")
    for position in (DAMAGED, ROWS_PER_READ, ROWS_PER_READ + 1):
        raw.execute("SAVEPOINT before")
        raw.execute(f"DELETE FROM events WHERE position = {position}")
        with pytest.raises(UnreadableError, match="versions"):
            workspace.repository.from_nothing("s")
        raw.execute("ROLLBACK TO before")


def test_events_in_one_stretch_are_read_without_their_numbers(
    log: SqliteLog, new_event: NewEvent
) -> None:
    """Concurrent records cause one page to be read again, not all following ones."""
    for _ in range(2):
        log.append("a", [new_event] * 10 * ROWS_PER_READ, expect=Expect.ANY)
        log.append("b", [new_event] * 3, expect=Expect.ANY)
    said: list[str] = []
    log.connection.raw.set_trace_callback(said.append)
    pages = list(log.scan("a"))
    log.connection.raw.set_trace_callback(None)
    assert sum(len(page.rows) for page in pages) == 20 * ROWS_PER_READ
    with_numbers = [sql for sql in said if sql.startswith("SELECT version, position, ")]
    assert 1 <= len(with_numbers) <= 3, with_numbers
