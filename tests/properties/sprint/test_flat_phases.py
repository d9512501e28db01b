"""A sprint whose nodes are created on demand behaves like any other."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.sprint.events import PhaseCompleted, PhaseStarted, RolledBack
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.phases.leaves import CompletePhase, StartPhase
from sprintlog.engine.sprint.phases.lifecycle import StartSprint
from sprintlog.engine.sprint.state import node, tree
from sprintlog.engine.sprint.state.node import Node
from sprintlog.engine.sprint.state.sprint import Sprint, pack, unpack

from ..random_sprints import Life
from ..sprint_histories import Data, copied

PHASES = [{"id": f"p{number}", "prompt": "x"} for number in range(1000)]


def lived(life: Life, *, long: int) -> Sprint:
    """Return the state after a sprint's events, saved and read after each of them.

    A rollback ends it, because later events were decided on another state.
    """
    sprint = Sprint("s")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node, "FLAT_FROM", long)
        for version, at, event in life.events:
            if isinstance(event, RolledBack):
                break
            sprint = unpack(pack(fold(sprint, [(version, at, copied(event))])))
    return sprint


@given(st.integers(0, 2**32))
def test_lives_are_the_same(seed: int) -> None:
    """A sprint is the same whether or not all its nodes are created."""
    life = Life(Random(seed))
    for _ in range(12):
        life.meddle()
    made_late, made_at_once = lived(life, long=1), lived(life, long=10**9)
    assert made_late.document == made_at_once.document
    assert made_late.plan.held == made_at_once.plan.held


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the address of each created node."""
    found: list[str] = []

    def counting(data: Data, address: str, place: tuple[int, ...], parent: Node) -> Node:
        found.append(address)
        return Node(data, address, place, parent)

    monkeypatch.setattr(tree, "Node", counting)
    return found


def test_a_command_makes_few_nodes(made: list[str]) -> None:
    """Of 1,000 phases only those get a node that a command is about, or the pointer."""
    life = Life(Random(1), document={"phases": copied(PHASES)})
    life.command(StartSprint())
    life.sprint = sprint = unpack(pack(life.sprint))
    made.clear()
    life.command(StartPhase("p500"))
    life.command(CompletePhase("p500", "done"))
    assert sprint.document["stats"]["completed-phases"] == 1
    assert sprint.document["current"]["phase"] == 0
    assert {*made} == {"p500", "p0"}


def test_a_phase_that_changes_again_is_noted() -> None:
    """A phase is noted even if it changed before the notes started."""
    life = Life(Random(1), document={"phases": copied(PHASES)})
    sprint = life.sprint
    for event in [PhaseStarted("p500"), PhaseCompleted("p500", "done")] * 2:
        asked = sprint.plan.tree.watch()
        fold(sprint, [(sprint.version + 1, "2026-01-15T09:00:00Z", event)])
        assert asked == {500}


def test_saved_phases_are_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their plainness and tally are saved: no process counts them again."""
    life = Life(Random(1), document={"phases": copied(PHASES)})
    life.command(StartSprint())
    life.command(StartPhase("p500"))
    life.command(CompletePhase("p500", "done"))
    saved = pack(life.sprint)
    counted: list[object] = []
    monkeypatch.setattr(node, "Counter", counted.append)
    found = unpack(saved).plan.tree
    assert found.phases == life.sprint.plan.tree.phases
    assert counted == []


def test_a_document_ends_what_was_saved_of_its_phases() -> None:
    """Facts about plain phases are not applied to other phases that are added."""
    life = Life(Random(1), document={"phases": copied(PHASES)})
    plan = unpack(pack(life.sprint)).plan
    plan.replace({"phases": [{"id": "a", "status": "pending", "steps": []}]})
    assert [*plan.tree.nodes] == ["a"]
    assert plan.tree.phases["pending"] == 1


def test_finished_phases_are_passed_without_nodes(made: list[str]) -> None:
    """The pointer passes finished phases without gates, without creating their nodes."""
    phases = copied(PHASES)
    for number, phase in enumerate(phases):
        phase["status"] = "completed" if number < 900 else "pending"
    leaf = tree.Tree({"phases": phases}).open_leaf()
    assert leaf is not None
    assert made == [leaf.address] == ["p900"]
