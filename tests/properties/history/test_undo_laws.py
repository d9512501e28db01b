"""`undo` reverses the latest effective decision."""

import tempfile
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.command_context import UNDOABLE, last_decision
from sprintlog.engine.service.streams.catalogue import CODEC, new_event
from sprintlog.engine.sprint.state.effective_history import is_effective
from sprintlog.projections.workspace import Workspace

from ..sprint_histories import World, worlds
from .test_exchange_laws import laws


def by_definition(workspace: Workspace, world: World) -> int:
    """Return the latest effective decision not caused by another event of its append.

    The event that stopped the sprint also counts, from the first event of its append on.
    """
    live, found, caused, begin = world.live(len(world.events)), [0], False, 0
    for event in workspace.log.read_stream("sprint/s"):
        begin = begin if caused else event.version
        how = CODEC.events[event.type].as_decision
        is_one = how is not None and how.kind in UNDOABLE and (not caused or how.stops)
        is_one |= event.type in ("goal-completed", "sprint-completed")
        if is_one and begin not in world.sprint.knowledge.undone:
            found += [begin] if is_effective(live, event.version) else []
        caused = event.remaining > 0
    return found[-1]


@laws
@given(worlds("inject", "back", "back", "undo", "queue", "sprint"), st.integers(1, 5))
def test_the_latest_decision_is_found_from_the_end(world: World, near: int) -> None:
    """However many events are read first, the result is the decision by definition."""
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
        found = last_decision(workspace.log, world.sprint, near=near)
        assert found == by_definition(workspace, world)
