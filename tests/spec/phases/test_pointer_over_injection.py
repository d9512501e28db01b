"""The pointer stays on the same work, wherever work is injected (SPR-074)."""

from typing import Any

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.iterations.rollback import RollBack, Undo
from sprintlog.engine.sprint.phases import leaves
from sprintlog.engine.sprint.phases.lifecycle import CompleteSprint
from sprintlog.engine.sprint.plan.create import ImportDocument
from sprintlog.engine.sprint.plan.injection import InjectPhases, InjectSteps
from sprintlog.engine.sprint.state.completion import done_work
from sprintlog.engine.sprint.state.sprint import pack, unpack

from ..conftest import Scenario, for_each, simple
from .test_inject_phases import PLAN, at, node
from .test_pointer_and_figures import finish


def pointed(scenario: Scenario) -> str:
    """Return the address of the pointer."""
    leaf = scenario.sprint.plan.pointed()
    assert leaf is not None
    return leaf.address


@pytest.mark.parametrize("begun", [True, False], ids=["begun", "pending"])
def test_moves_its_index_only(running: Any, begun: bool) -> None:
    """An insertion before the pointer changes its index, not its work."""
    scenario: Scenario = finish(running(PLAN), "a")
    if begun:
        scenario.do(leaves.StartPhase())
    for ref, pointer in (("p/x/i", (1, 0, 1)), ("p/x", (1, 1, 1)), ("a", (2, 1, 1))):
        name = f"before-{ref.count('/')}"
        scenario.do(InjectPhases(nodes=[node(name)], position=at("before", ref)))
        assert scenario.pointer == pointer
        assert pointed(scenario) == "p/x/i"


def test_comes_back_for_what_came_in_before(running: Any) -> None:
    """Work injected before the pointer is next once the current work is finished."""
    scenario: Scenario = finish(running(simple("a", "b", "c")), "a")
    scenario.do(leaves.StartPhase())
    scenario.do(InjectPhases(nodes=[node("m"), node("n")], position=at("before", "a")))
    order = [pointed(scenario)]
    for _ in range(3):
        scenario.do(leaves.SkipPhase())
        order.append(pointed(scenario))
    assert order == ["b", "m", "n", "c"]


def test_goes_to_what_is_taken_up_before_it(running: Any) -> None:
    """To do it first, start it by name: the pointer moves there."""
    scenario: Scenario = running(simple("a", "b"))
    scenario.do(InjectPhases(nodes=[node("m"), node("n")], position=at("before", "a")))
    scenario.do(leaves.SkipPhase(phase="m"))
    assert pointed(scenario) == "a"
    scenario.do(leaves.StartPhase(phase="n"))
    assert pointed(scenario) == "n"
    scenario.do(leaves.CompletePhase())
    assert pointed(scenario) == "a"


def test_is_drawn_back_by_a_reopened_leaf(running: Any) -> None:
    """A leaf reopened before the pointer moves it back, even past injected work."""
    scenario: Scenario = finish(running(simple("a", "b")), "a")
    scenario.do(InjectPhases(nodes=[node()], position=at("before", "b")))
    scenario.do(leaves.ReopenPhase(phase="a"))
    assert pointed(scenario) == "a"
    assert pointed(finish(scenario, "a")) == "n"


def test_forgets_what_it_was_held_at(running: Any) -> None:
    """Once finished, the work it stayed on is a normal leaf, reopened or not."""
    scenario: Scenario = running(simple("a", "b"))
    scenario.do(InjectPhases(nodes=[node()], position=at("before", "a")))
    finish(scenario, "a").do(leaves.ReopenPhase(phase="a"))
    assert pointed(scenario) == "n"


def test_stays_through_one_after_another(running: Any) -> None:
    """Any number of insertions before it do not move the pointer."""
    scenario: Scenario = running(PLAN)
    for number in range(4):
        name = f"n{number}"
        scenario.do(InjectPhases(nodes=[node(name)], position=at("before", "a")))
    scenario.do(InjectPhases(nodes=[node("m")], position=at("after-current")))
    assert pointed(scenario) == "a"
    assert scenario.pointer == (4, None, None)


def test_is_the_first_leaf_before_the_start(given: Any) -> None:
    """Before the start, the pointer is the first leaf."""
    scenario: Scenario = given(simple("a"))
    scenario.do(InjectPhases(nodes=[node()], position=at("before", "a")))
    assert scenario.given(f.SprintStarted()).pointer == (0, None, None)
    assert pointed(scenario) == "n"


def test_goes_to_new_work_when_all_is_finished(running: Any) -> None:
    """If nothing is open, the pointer moves to injected work at any position."""
    scenario: Scenario = finish(running(simple("a", "b")), "a", "b")
    scenario.do(InjectPhases(nodes=[node()], position=at("before", "b")))
    assert pointed(scenario) == "n"
    scenario.when(CompleteSprint()).then_refused(phase="n")


def test_keeps_passed_empty_phases_completed(running: Any) -> None:
    """An empty phase that was passed stays completed at its position."""
    empty = {"id": "e", "steps": []}
    scenario: Scenario = running({"phases": [empty, *simple("a")["phases"]]})
    scenario.do(InjectPhases(nodes=[node()], position=at("before", "e")))
    assert pointed(scenario) == "a"
    assert [p["status"] for p in scenario.document["phases"]] == [
        "pending",
        "completed",
        "pending",
    ]


def test_reaches_empty_phases_no_sooner(running: Any) -> None:
    """An empty phase after the pointer is not reached by work injected before it."""
    empty = {"id": "e", "steps": []}
    ends = (simple(name)["phases"][0] for name in "ab")
    scenario: Scenario = running({"phases": [next(ends), empty, next(ends)]})
    scenario.do(InjectPhases(nodes=[node("m"), node("n")], position=at("before", "a")))
    assert scenario.node("e")["status"] == "pending"
    assert pointed(finish(scenario, "a", "m")) == "n"
    assert scenario.document["phases"][3]["status"] == "pending"
    assert pointed(finish(scenario, "n")) == "b"
    assert scenario.document["phases"][3]["status"] == "completed"


def test_comes_back_for_steps_as_well(running: Any) -> None:
    """A step with sub-phases injected before the pointer is not skipped."""
    scenario: Scenario = running({"phases": [for_each("p", x=("i",), y=("i", "j"))]})
    finish(scenario, "p/x/i", "p/y/i")
    steps = [{"id": "s", "prompt": "x", "phases": [node("k"), node("l")]}]
    scenario.do(InjectSteps(nodes=steps, position=at("before", "p/x")))
    assert pointed(scenario) == "p/y/j"
    assert pointed(finish(scenario, "p/y/j")) == "p/s/k"
    assert pointed(finish(scenario, "p/s/k")) == "p/s/l"


def test_does_new_work_before_the_gate(running: Any) -> None:
    """A phase that waits for its gate does new work first, then waits again."""
    gated = {**for_each("p", x=("i",)), "gate": {"script": "make"}}
    scenario: Scenario = finish(running({"phases": [gated]}), "p/x/i")
    scenario.do(InjectPhases(nodes=[node("top")], position=at("before", "p")))
    assert pointed(scenario) == "p/x/i"
    scenario.do(InjectSteps(nodes=[node("s")], position=at("after-current")))
    assert pointed(scenario) == "p/s"
    assert pointed(finish(scenario, "p/s")) == "p/s"


def test_is_kept_in_a_checkpoint(running: Any) -> None:
    """The pointer's position is part of the state, and of a rollback's target."""
    scenario: Scenario = running(simple("a", "b"))
    scenario.do(InjectPhases(nodes=[node()], position=at("before", "a")))
    again = unpack(pack(scenario.sprint))
    assert again.document == scenario.document
    assert pack(again) == pack(scenario.sprint)
    held = scenario.bytes()
    scenario.do(leaves.StartPhase(phase="n"))
    scenario.do(RollBack(to=3, is_inside_append=False))
    assert (scenario.bytes(), pointed(scenario)) == (held, "a")


def test_is_undone_with_the_injection(running: Any) -> None:
    """A rollback removes injected work; its undo restores it."""
    scenario: Scenario = running(PLAN)
    before = scenario.bytes()
    scenario.do(InjectPhases(nodes=[node()], position=at("before", "a")))
    after = scenario.bytes()
    scenario.do(RollBack(to=2, is_inside_append=False))
    assert scenario.bytes() == before
    assert scenario.do(Undo()).bytes() == after


def test_is_the_first_open_leaf_after_an_import(running: Any) -> None:
    """After another tool's document, the pointer is the first open leaf."""
    scenario: Scenario = running(simple("a"))
    scenario.do(InjectPhases(nodes=[node()], position=at("before", "a")))
    theirs = scenario.document
    theirs["phases"].append(node("z", status="pending"))
    scenario.do(ImportDocument(document=theirs, source="x"))
    assert pointed(scenario.given(f.ActivitySeen())) == "n"


def test_stays_on_what_has_only_an_index(running: Any) -> None:
    """A leaf addressed by its index keeps the pointer when the index changes."""
    twins = [{"id": "t", "prompt": "x", "status": s} for s in ("completed", "pending")]
    document = {"sprint-id": "s", "status": "in-progress", "phases": twins}
    scenario = Scenario().do(ImportDocument(document=document, source="x"))
    scenario.do(leaves.StartPhase())
    assert pointed(scenario) == "#1"
    scenario.do(InjectPhases(nodes=[node()], position=at("before", "t")))
    assert pointed(scenario) == "#2"
    scenario.when(leaves.StartPhase()).then_refused(state="in-progress")


def test_takes_no_other_leaf_for_done(running: Any) -> None:
    """Finished work is forgotten if another leaf gets its leaf's index."""
    twins = [{"id": "t", "prompt": "x", "status": "in-progress"} for _ in range(3)]
    document = {"sprint-id": "s", "status": "in-progress", "phases": twins}
    scenario = Scenario().do(ImportDocument(document=document, source="x"))
    scenario.do(leaves.EndWork(phase="#2"))
    assert done_work(scenario.sprint.plan, "#2") is not None
    scenario.do(InjectPhases(nodes=[node()], position=at("before", "t")))
    assert done_work(scenario.sprint.plan, "#2") is None
