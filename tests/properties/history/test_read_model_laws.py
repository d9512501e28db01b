"""The content of the read model's tables, over random plans and random histories."""

import sqlite3
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.streams.catalogue import CODEC, new_event
from sprintlog.engine.sprint.state.effective_history import is_effective
from sprintlog.projections.sql.read_model import refreshed
from sprintlog.projections.sql.schema import TABLES
from sprintlog.projections.workspace import Workspace

from ..sprint_histories import World, worlds
from .test_exchange_laws import laws

KINDS = ("import", "inject", "back", "back", "undo", "iterate", "sprint", "gate", "queue")
CARRIED = ("follow_ups", "open_troubles")
"""The stored data for updating the tables."""


def contents(path: Path) -> dict[str, list[Any]]:
    """Return every row of every table."""
    connection = sqlite3.connect(path)
    try:
        return {
            name: sorted(connection.execute(f"SELECT * FROM {name}").fetchall(), key=repr)
            for name in (*TABLES, *CARRIED)
        }
    finally:
        connection.close()


@laws
@given(worlds(*KINDS), st.data())
def test_catches_up_to_what_is_made_anew(world: World, data: st.DataObject) -> None:
    """Tables updated at any points equal newly created ones."""
    with (
        tempfile.TemporaryDirectory() as name,
        Workspace.in_memory(Path(name)) as workspace,
    ):
        for first, last in pairwise(world.ends):
            told = [
                new_event(event, at=at, actor="runtime")
                for _, at, event in world.events[first:last]
            ]
            workspace.log.append("sprint/s", told, expect=Expect.ANY)
            if data.draw(st.integers(0, 4)) == 0:
                refreshed(workspace)
        found = contents(refreshed(workspace))
        assert found == contents(refreshed(workspace, fresh=True))
        live = world.live(len(world.events))
        for row in found["v_events"]:
            recorded = dict(
                zip((c.name for c in TABLES["v_events"].columns), row, strict=True)
            )
            counts = is_effective(live, recorded["version"])
            is_execution = CODEC.events[recorded["type"]].kind.value == "execution"
            assert recorded["in_force"] == int(counts or not is_execution)
        nodes = {node.address for node in world.sprint.plan.tree.nodes.values()}
        assert {row[1] for row in found["v_phases"]} == nodes
