"""The stored decisions of a sprint, over random plans and random histories."""

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.projections.history import kept_decisions
from sprintlog.projections.history.decisions import Decision, decisions
from sprintlog.projections.history.kept_decisions import decisions_at
from sprintlog.projections.workspace import Workspace

from ..sprint_histories import World, worlds
from .test_exchange_laws import laws

KINDS = ("import", "inject", "back", "back", "undo", "iterate", "sprint", "gate", "queue")


def made_anew(workspace: Workspace, version: int) -> list[Decision]:
    """Return the decisions up to a version out of all its events."""
    rollbacks = workspace.sprint("s").knowledge.rollbacks
    events = workspace.log.read_stream("sprint/s", until=version)
    return decisions(events, [r for r in rollbacks if r[0] <= version], version)


@laws
@given(worlds(*KINDS), st.data())
def test_carried_on_they_are_those_made_anew(world: World, data: st.DataObject) -> None:
    """Whatever points they are stored at, they equal newly computed ones."""
    with (
        pytest.MonkeyPatch.context() as patch,
        TemporaryDirectory() as folder,
        Workspace.in_memory(Path(folder)) as workspace,
    ):
        patch.setattr(kept_decisions, "EVERY", 1)
        patch.setattr(kept_decisions, "BLOCK", data.draw(st.sampled_from((1, 2, 1024))))
        for first, last in pairwise(world.ends):
            told = [
                new_event(event, at=at, actor="runtime")
                for _, at, event in world.events[first:last]
            ]
            workspace.log.append("sprint/s", told, expect=Expect.ANY)
            if data.draw(st.integers(0, 2)) == 0:
                decisions_at(workspace, "s", last)
        for version in range(1, len(world.events) + 1):
            found = decisions_at(workspace, "s", version)
            assert found == made_anew(workspace, version)
            kinds = {decision.kind for decision in found}
            some = {kind for kind in sorted(kinds) if data.draw(st.booleans())}
            if some:
                only = decisions_at(workspace, "s", version, some)
                assert only == [decision for decision in found if decision.kind in some]
