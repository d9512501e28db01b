"""`verify` reads a long log once, both for the chain and for the states."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.log.event import Event
from sprintlog.engine.service.streams.catalogue import (
    CODEC,
    SPRINTS,
    new_event,
    sprint_stream,
)
from sprintlog.engine.sprint.events import (
    ActivitySeen,
    PhaseCompleted,
    PhaseReopened,
    PhaseStarted,
    RolledBack,
)
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.health.folded_states import EVENTS_MIN
from sprintlog.projections.health.verify import verify
from sprintlog.projections.workspace import Workspace
from tests.kept_states import keep_only

AT = "2026-01-15T09:00:00Z"
PLAN = {"goal": "Try", "phases": [{"id": "a", "prompt": "do it"}]}
Made = tuple[Workspace, int]


def made(folder: Path, *more: Event) -> Made:
    """Return a workspace of one long sprint with a saved state, and its events."""
    workspace = Workspace.init(folder, here=True)
    events = [
        *CreateSprint(plan=PLAN).decide(Sprint("s"), AT),
        PhaseStarted("a"),
        *more,
        *[ActivitySeen()] * EVENTS_MIN,
    ]
    wanted = [new_event(event, at=AT, actor="runtime") for event in events]
    workspace.log.append(sprint_stream("s"), wanted, expect=0)
    keep_only(workspace.repository, workspace.repository.from_nothing("s"))
    return workspace, len(events)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the payloads that are decoded, by type."""
    counted: Counter[str] = Counter()
    for event in (ActivitySeen, PhaseStarted, RolledBack):
        decode, kind = CODEC.reader(event.type)

        def count(payload: Any, decode: Any = decode, tag: str = event.type) -> Any:
            counted[tag] += 1
            return decode(payload)

        monkeypatch.setitem(CODEC._readers, event.type, (count, kind))
    # Folding rows stores their decoders.
    fold_rows: Any = SPRINTS.fold_rows
    monkeypatch.setattr(fold_rows, "_takers", type(fold_rows._takers)(CODEC.reader))
    return counted


def test_each_payload_is_decoded_once(tmp_path: Path, decoded: Counter[str]) -> None:
    """The chain, the payloads and the saved states are checked in one pass."""
    workspace, _ = made(tmp_path)
    decoded.clear()
    with workspace:
        assert verify(workspace).findings == []
    assert decoded == {"activity-seen": EVENTS_MIN, "phase-started": 1}


@pytest.mark.parametrize("is_saved", [True, False])
def test_a_state_made_on_the_way_is_whole(tmp_path: Path, is_saved: bool) -> None:
    """Values computed at the end of a fold, such as durations, are complete.

    This applies to a saved state that is compared, and to the file after the last one.
    """
    twice = [PhaseCompleted("a", "made"), PhaseReopened("a", "more"), PhaseStarted("a")] * 2
    workspace, last = made(tmp_path, *(twice[:4] if is_saved else ()))
    with workspace:
        if not is_saved:
            wanted = [new_event(event, at=AT, actor="runtime") for event in twice[:4]]
            workspace.log.append(sprint_stream("s"), wanted, expect=last)
        workspace.refresh("s")
        assert verify(workspace).findings == []


def test_a_wrong_state_is_found_on_the_way(tmp_path: Path) -> None:
    """A saved state that differs from its events is reported, as in a short sprint."""
    workspace, last = made(tmp_path)
    with workspace:
        state = workspace.repository.from_nothing("s")
        state.plan.set_status("completed")
        keep_only(workspace.repository, state)
        (found,) = verify(workspace).findings
    assert (found.severity, found.where) == ("drift", f"s checkpoint {last}")


def test_a_rollback_is_followed_by_itself(tmp_path: Path) -> None:
    """A sprint with a rollback is intact, too: its stream is read again."""
    workspace, _ = made(tmp_path, RolledBack(1))
    with workspace:
        assert verify(workspace).findings == []
