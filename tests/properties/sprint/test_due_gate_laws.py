"""Laws of pending gates, over random histories and injections at every position.

`make test-long` uses more examples, with `SPRINTLOG_EXAMPLES=10` ten times as many.
"""

from collections.abc import Iterator
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.sprint.agent.actions import GATE
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.events import InjectionPosition
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.phases.gate import GateResult
from sprintlog.engine.sprint.phases.gate_checks import RecordGate, StartGate
from sprintlog.engine.sprint.phases.leaves import CompletePhase, StartPhase
from sprintlog.engine.sprint.plan.injection import InjectPhases
from sprintlog.engine.sprint.plan.insertion_points import BESIDE, END_OF_PHASE
from sprintlog.engine.sprint.queue.returns import copied
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.words import FINISHED, IN_PROGRESS, PASSED
from tests.spec.gated import lost

from ..sprint_histories import Data, World, worlds
from .test_injection_laws import number
from .test_sprint_laws import laws, naive_gate

MOVES = ("gate", "wake", "phase", "inject", "inject", "queue", "back", "undo")
NOW = "2026-02-01T00:00:00Z"


@st.composite
def gated(draw: st.DrawFn, *kinds: str) -> World:
    """Return a history in which work is done below gates at any level."""

    def node(identity: str, **keys: Any) -> Data:
        gate = {"gate": {"script": "x", "max-retries": 5}} if draw(st.booleans()) else {}
        return {"id": identity, **keys, **gate}

    def step(identity: str) -> Data:
        subs = [node(name, prompt="x") for name in "ij"[: draw(st.integers(0, 2))]]
        return node(identity, prompt="x", phases=subs)

    steps = [step(name) for name in "xy"[: draw(st.integers(1, 2))]]
    world = World({"phases": [node("p", steps=steps), node("q", prompt="x")]})
    kind = st.sampled_from([*["work"] * 8, *MOVES, *kinds])
    for _ in range(draw(st.sampled_from([5, 15, 30]))):
        move = draw(kind), draw(number), draw(number)
        if move[0] != "work":
            world.move(move)
        elif world.handle_with(StartPhase()):
            world.handle_with(CompletePhase())
    world.move(("wake", 0, 0))
    return world


def check_named_gate(sprint: Sprint) -> None:
    """Check that a gate that is next waits for nothing else, and can be run."""
    action = next_action(sprint, now=NOW)
    event(action.do)
    if action.do != GATE:
        return
    assert action.phase is not None
    node = sprint.plan.tree.find(action.phase)
    assert node is not None
    open_leaves = [leaf for leaf in node.leaves() if leaf.status not in FINISHED]
    assert open_leaves in ([], [node])
    assert node.leaf < 0 or node.is_empty or node.status in (IN_PROGRESS, *FINISHED)
    by: Data = {"pid": 1, "process_started": "s", "boot_id": "b"}
    StartGate(run="r", lost=lost(sprint, action.phase), **by).decide(
        sprint, "2026-01-15T09:00:00Z"
    )
    events = RecordGate(result=GateResult(0), lost=lost(sprint, action.phase)).decide(
        sprint, "2026-01-15T09:00:00Z"
    )
    fold(
        sprint,
        [(sprint.version + n, NOW, event) for n, event in enumerate(events, start=1)],
    )
    assert naive_gate(node.data) == PASSED


def injected_anywhere(sprint: Sprint) -> Iterator[Sprint]:
    """Yield copies of a sprint, each with work injected at a different position."""
    for address in list(sprint.plan.tree.nodes):
        for kind in (*BESIDE, END_OF_PHASE):
            copy, position = copied(sprint), InjectionPosition(kind, address)
            try:
                events = InjectPhases(
                    nodes=[{"prompt": "x"}], position=position, id_prefix="new", is_new=True
                ).decide(copy, "2026-01-15T09:00:00Z")
            except RefusedError:
                continue
            yield fold(copy, [(copy.version + 1, NOW, event) for event in events])


@laws
@given(gated())
def test_names_no_gate_of_unfinished_work(world: World) -> None:
    """Whatever is injected, all work of a gate that is next is finished."""
    for sprint in injected_anywhere(world.sprint):
        check_named_gate(sprint)


@laws
@given(st.one_of(worlds(*MOVES, "import"), gated("import", "import")))
def test_names_no_gate_that_cannot_be_run(world: World) -> None:
    """Whatever other tools write into a document, a gate that is next can be run."""
    check_named_gate(copied(world.sprint))
