"""Edits of any kind, adopted over random plans and random histories."""

from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.events import EditAdopted
from sprintlog.engine.sprint.plan.adoption import AdoptEdit
from sprintlog.engine.sprint.state.patch import diff

from ..sprint.test_sprint_laws import laws
from ..sprint_histories import World, saved, worlds
from ..sprint_plans import mutated

number = st.integers(0, 59)


def adopted(world: World, base: Any, changes: Any) -> list[Event]:
    """Return the decision on adopting; None if it is refused."""
    observed = f.EditObserved("PROGRESS.yaml", "ab", "kept", 1, changes)
    given: dict[str, Any] = {"edit": 1, "observed": observed, "base": base}
    try:
        return AdoptEdit(**given, by="operator:ana").decide(world.sprint, world.time)
    except RefusedError:
        return []


@laws
@given(
    worlds("import", "inject", "queue", "queue", "back"),
    st.lists(st.tuples(number, number), min_size=1, max_size=4),
)
def test_any_edit_is_adopted_once(world: World, edits: list[tuple[int, int]]) -> None:
    """Adopting either succeeds or is refused, and a second time has nothing to do."""
    base = deepcopy(world.sprint.document)
    theirs = deepcopy(base)
    for i, j in edits:
        theirs = mutated(theirs, i, j)
    changes = diff(base, theirs)
    before = saved(world.sprint)
    events = adopted(world, base, changes)
    assert saved(world.sprint) == before
    if not events:
        return
    assert isinstance(events[-1], EditAdopted)
    world.append(events)
    assert saved(world.rebuilt()) == saved(world.sprint)
    assert adopted(world, base, changes) == []
