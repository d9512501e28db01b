"""Laws of gates over random histories in which work advances from gate to gate."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.phases import leaves

from ..sprint_histories import Data, World, saved
from .test_sprint_laws import is_held, laws, naive_gate


@st.composite
def gated(draw: st.DrawFn) -> World:
    """Return a history of a for-each and a simple phase, both with a gate."""

    def phase(**keys: object) -> Data:
        retries = draw(st.integers(0, 2))
        return {**keys, "gate": {"script": "x", "max-retries": retries}}

    sub = {"id": "i", "prompt": "x"}
    step = {"id": "s", "prompt": "x", "phases": [sub]}
    plan = {"phases": [phase(id="p", steps=[step]), phase(id="q", prompt="x")]}
    world = World(plan)
    kind = st.sampled_from(["work", *["gate"] * 4, "wake", "phase", "back", "undo"])
    number = st.integers(0, 59)
    for _ in range(draw(st.sampled_from([10, 30, 60]))):
        move = draw(kind), draw(number), draw(number)
        if move[0] != "work":
            world.move(move)
        elif world.handle_with(leaves.StartPhase()):
            world.handle_with(leaves.CompletePhase())
    return world


@laws
@given(gated())
def test_completes_nothing_but_through_its_gate(world: World) -> None:
    """A phase with a gate is completed if and only if the gate has passed."""
    for version in world.ends[1:]:
        for phase in world.rebuilt(version).document["phases"]:
            assert not is_held(phase) or phase["status"] != "completed"


@laws
@given(gated())
def test_never_tries_a_gate_too_often(world: World) -> None:
    """A gate is checked up to its limit, then blocks unless its leaf failed first."""
    plan = world.sprint.document["phases"]
    allowed = {phase["id"]: 1 + phase["gate"]["max-retries"] for phase in plan}
    events = [*world.events, (0, "", f.NoteAdded("x"))]
    for (version, _, event), (_, _, after) in pairwise(events):
        if isinstance(event, f.GateChecked):
            failed = event.exit_code != 0 or event.timed_out
            leaf = world.rebuilt(version - 1).plan.tree.nodes[event.phase]
            is_over = leaf.status in ("failed", "blocked", "skipped")
            is_over = is_over and naive_gate(leaf.data) != "blocked"
            is_last = failed and event.attempt == allowed[event.phase] and not is_over
            assert 1 <= event.attempt <= allowed[event.phase]
            assert isinstance(after, f.GateBlocked) == is_last


@laws
@given(gated())
def test_rebuilds_to_what_was_carried_along(world: World) -> None:
    """A rebuild from nothing is the state that was caught up event by event."""
    assert saved(world.rebuilt()) == saved(world.sprint)
