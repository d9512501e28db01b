"""The decisions of a sprint are stored: a later query reads only new events."""

from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.log.stores.memory import MemoryLog
from sprintlog.engine.log.stores.sqlite.caches import SqliteCheckpoints
from sprintlog.engine.service.streams.catalogue import EVERY
from sprintlog.engine.service.streams.checkpoints import forget_readings
from sprintlog.engine.sprint import events as f
from sprintlog.projections.history import kept_decisions
from sprintlog.projections.history.kept_decisions import decisions_at
from sprintlog.projections.workspace import Workspace
from tests.cli.look.test_cost_of_the_past import record, worked_on
from tests.kept_states import put_state, saved_states

ROWS_MAX = 8 * EVERY
"""New events, and the basis of the states at the head and at the stored version."""


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Provide the versions of all events read from streams."""
    found: list[int] = []
    read_stream = MemoryLog.read_stream

    def counted(self: MemoryLog, stream: str, **bounds: Any) -> Any:
        for event in read_stream(self, stream, **bounds):
            found.append(event.version)
            yield event

    monkeypatch.setattr(MemoryLog, "read_stream", counted)
    return found


def asked(workspace: Workspace, read: list[int], version: int) -> tuple[int, int]:
    """Return the number of decisions at a version, and the number of events read."""
    read.clear()
    return len(decisions_at(workspace, "s", version)), len(read)


def test_asked_again_only_what_is_new_is_read(read: list[int]) -> None:
    """After one new event, `audit` reads a constant amount of a long log."""
    for rounds in (20, 400):
        with worked_on(2, rounds) as workspace:
            head = workspace.sprint("s").version
            _, first = asked(workspace, read, head)
            assert first >= head
            record(workspace, f.PhaseStarted("p0"), f.PhaseBlocked("p0", "x"))
            before = asked(workspace, read, head)
            after = asked(workspace, read, head + 2)
            early = asked(workspace, read, 20)
            assert after[0] == before[0] + 1 > early[0]
            assert max(before[1], after[1], early[1]) <= ROWS_MAX


def test_what_is_kept_can_be_thrown_away(read: list[int]) -> None:
    """Forgotten or damaged, the decisions are found again in the events."""
    with worked_on(2, 20) as workspace:
        head = workspace.sprint("s").version
        found = decisions_at(workspace, "s", head)
        log, name = workspace.log, "decisions of sprint/s"
        (key,) = [key for key in saved_states(log) if key[0] == name]
        _, state = saved_states(log)[key]
        for damaged in (b"", state[:-1] + bytes([state[-1] ^ 1]), state[:40]):
            put_state(log, key, damaged)
            assert decisions_at(workspace, "s", head) == found
        forget_readings(workspace.log, "sprint/s")
        assert key not in saved_states(log)
        assert decisions_at(workspace, "s", head) == found


def test_only_blocks_that_are_asked_for_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a kind that few blocks contain, few blocks are read."""
    monkeypatch.setattr(kept_decisions, "BLOCK", 16)
    read: list[str] = []
    load = SqliteCheckpoints.load

    def counted(self: SqliteCheckpoints, stream: str, *key: Any, **format_: Any) -> Any:
        read.append(stream)
        return load(self, stream, *key, **format_)

    for rounds in (40, 400):
        with worked_on(2, rounds) as workspace:
            head = workspace.sprint("s").version
            every = len(decisions_at(workspace, "s", head))
            assert every >= rounds
            record(workspace, f.PhaseStarted("p0"), f.PhaseBlocked("p0", "x"))
            monkeypatch.setattr(SqliteCheckpoints, "load", counted)
            read.clear()
            assert decisions_at(workspace, "s", head + 2, ["goal"]) == []
            assert read.count("blocks of decisions of sprint/s") <= 1
            read.clear()
            assert len(decisions_at(workspace, "s", head + 2)) == every + 1
            blocks = read.count("blocks of decisions of sprint/s")
            assert every // 16 - 2 <= blocks <= every // 16
            monkeypatch.undo()
            monkeypatch.setattr(kept_decisions, "BLOCK", 16)


def test_a_block_that_is_gone_is_made_anew() -> None:
    """If a block is damaged, all decisions are determined from the events again."""
    with worked_on(2, 1200) as workspace:
        head = workspace.sprint("s").version
        found = decisions_at(workspace, "s", head)
        log, states = workspace.log, saved_states(workspace.log)
        key, *_ = (key for key in states if key[0] == "blocks of decisions of sprint/s")
        _, state = states[key]
        put_state(log, key, state[:-1] + bytes([state[-1] ^ 1]))
        assert decisions_at(workspace, "s", head) == found
        assert saved_states(log)[key] == states[key]


def test_a_few_events_keep_nothing(tmp_path: Path) -> None:
    """Reading a short sprint writes nothing."""
    with Workspace.in_memory(tmp_path) as workspace:
        record(workspace, f.SprintCompiled({"status": "not-started", "phases": []}))
        assert len(decisions_at(workspace, "s", 1)) == 1
        names = [name for name, _ in saved_states(workspace.log)]
        assert [name for name in names if name.startswith("decisions")] == []
