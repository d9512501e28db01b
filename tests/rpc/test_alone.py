"""Requests that cannot be committed with others, and those that wait for that commit."""

from pathlib import Path

import msgspec
import pytest

from sprintlog.engine.commands import registered
from sprintlog.engine.service.port import AloneError
from sprintlog.projections.workspace import Workspace

from ..cli.conftest import Run
from .commands import plan

PLACED = {"plan": {**plan(), "sprint-id": "two"}, "place": {"path": "two/PROGRESS.yaml"}}


@pytest.mark.parametrize(
    ("name", "fields", "of"),
    [("end-iteration", {}, "auth"), ("create-sprint", PLACED, "two")],
)
def test_what_has_other_effects_appends_nothing(
    sprint: Path, done: Run, name: str, fields: dict[str, object], of: str
) -> None:
    """A request that queries git or frees a place is handled alone, then recorded."""
    done("iteration", "start")
    command = msgspec.convert({"type": name, **fields}, registered()[name])
    with Workspace.open(sprint) as workspace:
        before = workspace.log.last_position()
        workspace.is_side_by_side = True
        with pytest.raises(AloneError):
            workspace.handle(command, sprint_id=of)
        assert workspace.log.last_position() == before
        workspace.is_side_by_side = False
        assert workspace.handle(command, sprint_id=of).events


def test_what_waits_beside_the_log_waits_on(
    sprint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spooled events are removed when imported, so not before the commit."""
    note = msgspec.convert({"type": "add-note", "text": "x"}, registered()["add-note"])
    taken: list[object] = []
    with Workspace.open(sprint) as workspace:
        monkeypatch.setattr(workspace, "take_in_spooled", lambda: taken.append(None))
        workspace.is_side_by_side = True
        workspace.handle(note, sprint_id="auth")
        assert not taken
        workspace.is_side_by_side = False
        workspace.handle(note, sprint_id="auth")
        assert len(taken) == 1
