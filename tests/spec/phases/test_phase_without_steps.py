"""A for-each phase without any step: its gate and its breakpoint apply nevertheless."""

from typing import Any

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.phases import leaves, lifecycle
from sprintlog.engine.sprint.plan.injection import InjectSteps

from ..conftest import Data, Scenario, simple
from ..gated import check, record, start, tracking
from .test_inject_phases import at, node
from .test_pointer_and_figures import finish

NOW = "2026-01-15T10:00:00Z"
GATE: Data = {"gate": {"script": "make", "max-retries": 0}}
BREAK: Data = {"break": True}


def around(running: Any, **keys: Any) -> Scenario:
    """Return a sprint whose pointer is at a phase without steps, between two others."""
    first, last = simple("a", "b")["phases"]
    phase = {"id": "p", "steps": [], **keys}
    return finish(running({"phases": [first, phase, last]}), "a")


def do(scenario: Scenario) -> tuple[str, str | None]:
    """Return the next action, and its place."""
    action = next_action(scenario.sprint, now=NOW)
    return action.do, action.phase


def test_waits_for_its_gate(running: Any) -> None:
    """It is completed when its gate has passed, and the pointer stays until then."""
    scenario = around(running, **GATE)
    assert (do(scenario), scenario.pointer) == (("gate", "p"), (1, None, None))
    start(scenario).go()
    assert scenario.node("p")["status"] == "in-progress"
    assert do(scenario) == ("gate", "p")
    record(scenario, 0).then_refused(containing="is being run")
    scenario = check(around(running, **GATE)).go()
    assert scenario.node("p")["status"] == "completed"
    assert scenario.node("p")["completed-at"] == scenario.now
    assert do(scenario) == ("work", "b")


def test_is_not_finished_before_its_gate(running: Any) -> None:
    """The sprint is not finished either, because of the gate."""
    scenario: Scenario = running({"phases": [{"id": "p", "steps": [], **GATE}]})
    scenario.when(lifecycle.CompleteSprint()).then_refused(phase="p")
    scenario.when(leaves.CompletePhase()).then_refused(containing="has not passed")
    record(scenario, 0).go()
    assert do(scenario) == ("complete", None)


def test_blocks_with_its_gate(running: Any) -> None:
    """A gate without work blocks like any other, and can run again without work."""
    scenario = check(around(running, **GATE), 1).go()
    assert (scenario.status, scenario.node("p")["status"]) == ("blocked", "blocked")
    scenario.do(lifecycle.ResumeSprint(by="ana", why="x")).do(leaves.RetryPhase())
    assert do(scenario) == ("gate", "p")
    assert check(scenario).go().node("p")["status"] == "completed"
    assert "error" not in tracking(scenario)


def test_reaches_its_breakpoint(running: Any) -> None:
    """Its breakpoint pauses the sprint when it is completed."""
    scenario = around(running, **BREAK)
    assert do(scenario) == ("end", "p")
    scenario.when(leaves.CompletePhase())
    scenario.then(f.PhaseCompleted("p"), f.BreakpointReached("p"))
    assert (scenario.status, scenario.pointer) == ("paused-at-breakpoint", (2, None, None))


def test_reaches_its_breakpoint_by_its_gate(running: Any) -> None:
    """With both, the gate completes it and the breakpoint follows in the same append."""
    scenario = check(around(running, **GATE, **BREAK))
    scenario.then(f.GateChecked("p", 1, 0), f.BreakpointReached("p"))
    assert do(scenario.do(lifecycle.ResumeSprint())) == ("work", "b")


def test_can_be_left_out(running: Any) -> None:
    """It can be skipped like any other phase, which then blocks nothing."""
    scenario = around(running, **GATE, **BREAK)
    scenario.when(leaves.SkipPhase()).then(f.PhaseSkipped("p"))
    assert do(scenario) == ("work", "b")


@pytest.mark.parametrize("keys", [GATE, BREAK, {**GATE, **BREAK}])
def test_takes_steps(running: Any, keys: Data) -> None:
    """A step injected into it is done first; then it waits like any other phase."""
    scenario = around(running, **keys)
    scenario.do(InjectSteps(nodes=[node()], position=at("end-of-phase", "p")))
    assert do(scenario) == ("work", "p/n")
    scenario.do(leaves.StartPhase()).when(leaves.CompletePhase())
    last: list[Any] = [f.PhaseCompleted("p/n")]
    if "gate" not in keys:
        last.append(f.BreakpointReached("p"))
    scenario.then(*last)
    assert do(scenario)[0] == ("gate" if "gate" in keys else "stop")


def test_stays_where_steps_come_in_again(running: Any) -> None:
    """One completed by its gate is in progress again with a step, and checked again."""
    scenario = check(around(running, **GATE)).go()
    scenario.do(InjectSteps(nodes=[node()], position=at("end-of-phase", "p")))
    assert "completed-at" not in scenario.node("p")
    assert finish(scenario, "p/n").node("p")["status"] == "in-progress"
    assert do(scenario) == ("gate", "p")
