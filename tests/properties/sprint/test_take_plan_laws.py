"""Laws of compiling again: any plan, at any progress of its sprint.

`make test-long` uses more examples, with `SPRINTLOG_EXAMPLES=10` ten times as many.
"""

from copy import deepcopy

from hypothesis import assume, given
from hypothesis import strategies as st

from sprintlog.engine.sprint.events import SprintCompiled
from sprintlog.engine.sprint.plan.recompile import TakePlan

from ..sprint_histories import Data, World, saved, worlds
from ..sprint_plans import walk
from .test_sprint_laws import laws

HISTORIES = ("inject", "back", "undo")
numbers = st.lists(st.integers(0, 59), min_size=1, max_size=4)


def definition(world: World) -> Data:
    """Return the plan from which the sprint was created."""
    event = world.events[0][2]
    assert isinstance(event, SprintCompiled)
    return deepcopy(event.document)


def enlarged(plan: Data, places: list[int]) -> Data:
    """Return a plan with a new node at each position, of the same kind as its siblings."""
    for count, place in enumerate(places):
        holders = [plan, *(node for node, _ in walk(plan))]
        lists = [
            holder[key]
            for holder in holders
            for key in ("phases", "steps")
            # A step without children is a leaf and remains one.
            if holder.get(key)
            or (key == "steps" and key in holder)
            # A sprint with a goal may have no phases.
            or (key == "phases" and holder is plan)
        ]
        siblings = lists[place % len(lists)]
        node: Data = {"id": f"new-{count}", "prompt": "x"}
        if siblings and "phases" in siblings[0]:
            node["phases"] = [{"id": "only", "prompt": "x"}]
        siblings.insert(place % (len(siblings) + 1), node)
    return plan


@laws
@given(worlds(*HISTORIES))
def test_the_same_plan_is_never_a_difference(world: World) -> None:
    """Whatever the progress of a sprint, compiling its own plan changes nothing."""
    assert (
        TakePlan(plan=definition(world)).decide(world.sprint, "2026-01-15T09:00:00Z") == []
    )


@laws
@given(worlds(*HISTORIES), numbers)
def test_additions_come_in_where_they_stand(world: World, places: list[int]) -> None:
    """New nodes are added once, in the plan's order; all others are unchanged."""
    plan = enlarged(definition(world), places)
    before = [node for node, _ in walk(deepcopy(world.sprint.plan.document))]
    assume(world.handle_with(TakePlan(plan=plan)))
    assert TakePlan(plan=deepcopy(plan)).decide(world.sprint, "2026-01-15T09:00:00Z") == []
    ids = [node["id"] for node, _ in walk(world.sprint.plan.document)]
    wanted = [node["id"] for node, _ in walk(plan)]
    assert [node["id"] for node in before if node["id"] not in ids] == []
    rest = iter(ids)
    assert all(identity in rest for identity in wanted)
    assert saved(world.rebuilt()) == saved(world.sprint)
