"""Forks, undo and redo over random plans and random histories."""

import tempfile
from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.service.fork import fork
from sprintlog.engine.service.streams.history import append_end
from sprintlog.engine.sprint.iterations.rollback import Redo, Undo
from sprintlog.engine.sprint.state.knowledge import OwnTree
from sprintlog.engine.sprint.state.sprint import Sprint

from ..sprint.test_sprint_laws import saved_plan
from ..sprint_histories import World, worlds, written
from .test_exchange_laws import laws, recorded


def plan_of(sprint: Sprint) -> list[Any]:
    """Return everything that determines how a sprint continues, except name and path."""
    document = {**sprint.document, "sprint-id": None}
    plan = sprint.plan
    last = {name: kept.keys() for name, kept in plan.last.stored().items()}
    return [document, list(document), last, plan.last_at, plan.held, plan.turns]


@laws
@given(worlds("import", "inject", "back", "undo", "iterate"), st.data())
def test_fork_is_the_fold_to_there(world: World, data: st.DataObject) -> None:
    """A fork at a version folds to the state at that version, with the same appends.

    It belongs to the work tree in which it is created. Restores of files stay with the
    source: they concern its files.
    """
    version = data.draw(st.sampled_from(world.ends[1:]))
    with tempfile.TemporaryDirectory() as name, recorded(Path(name), world) as workspace:
        before = list(workspace.log.read())
        there = workspace.repository.at_version("s0", version)
        wanted = plan_of(there), deepcopy(there.knowledge)
        wanted[1].restoring, wanted[1].restored = [], []
        wanted[1].forks.append((version, "sprint/s0"))
        options: dict[str, Any] = {
            "name": "new",
            "version": version,
            "place": None,
            "actor": "runtime",
        }
        made = fork(workspace, "s0", **options).sprint
        wanted[1].tree = OwnTree(workspace.own_tree.recorded())
        assert (plan_of(made), made.knowledge) == wanted
        # Events form one append here if and only if they do in the original.
        again = {**options, "name": "next", "version": version + 1}
        ends = [append_end(workspace.log, there, at) for at in range(1, version + 1)]
        for one in (made, fork(workspace, "new", **again).sprint):
            found = [append_end(workspace.log, one, at) for at in range(1, version + 2)]
            assert found == [*ends, version + 1]
        rebuilt = workspace.repository.from_nothing("new")
        assert (plan_of(rebuilt), rebuilt.knowledge) == wanted
        assert list(workspace.log.read(until=len(before))) == before
        assert fork(workspace, "s0", **options).events == []


@laws
@given(worlds("import", "inject", "back", "back", "undo"))
def test_redo_takes_back_an_undo(world: World) -> None:
    """After undo and redo document and plan are restored, any number of times."""
    before, plan = written(world.sprint), saved_plan(world.sprint)
    for _ in range(2):
        try:
            Undo().decide(world.sprint, "2026-01-15T09:00:00Z")
        except RefusedError:
            return
        world.handle_with(Undo())
        world.handle_with(Redo())
        assert written(world.sprint) == before
        assert saved_plan(world.sprint) == plan
