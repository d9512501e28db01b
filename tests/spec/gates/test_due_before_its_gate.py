"""Unfinished work comes first: a gate is due when all the work it checks is finished."""

from typing import Any

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.phases import leaves
from sprintlog.engine.sprint.plan.create import ImportDocument
from sprintlog.engine.sprint.plan.injection import InjectPhases, InjectSteps
from sprintlog.engine.sprint.plan.recompile import TakePlan
from sprintlog.engine.sprint.queue.decisions import ApproveRequest

from ..conftest import Data, Scenario, for_each
from ..gated import NEXT, check, record
from ..phases.test_inject_phases import at, node
from ..queued import found

NOW = "2026-01-15T10:00:00Z"


def gated(*levels: int) -> Data:
    """Return a plan whose first phase, step and sub-phase have the given gates."""
    plan: Data = {"phases": [for_each("p", x=("i", "j"), y=("i",)), NEXT]}
    step = plan["phases"][0]["steps"][0]
    for level, one in enumerate((plan["phases"][0], step, step["phases"][1]), start=1):
        if level in levels:
            one["gate"] = {"script": "make"}
    return plan


def do_all(scenario: Scenario) -> list[str]:
    """Perform the next actions until the phase is done; return them, in order."""
    done: list[str] = []
    for _ in range(20):
        action = next_action(scenario.sprint, now=NOW)
        assert action.phase is not None, action
        if action.phase == "q":
            return done
        done.append(f"{action.do} {action.phase}")
        match action.do:
            case "work":
                scenario.do(leaves.StartPhase(phase=action.phase))
                if not action.gated:
                    scenario.do(leaves.CompletePhase(phase=action.phase))
                else:
                    scenario.do(leaves.EndWork(phase=action.phase))
            case "gate":
                record(scenario, 0, phase=action.phase).go()
            case "end":
                scenario.do(leaves.CompletePhase(phase=action.phase))
            case _:
                raise AssertionError(action)
    raise AssertionError(done)


def until_the_gate(running: Any, *levels: int) -> Scenario:
    """Return a sprint in which all work is done that the gate of the phase waits for."""
    scenario: Scenario = running(gated(*levels))
    while (action := next_action(scenario.sprint, now=NOW)).phase != "p":
        assert action.phase is not None
        match action.do:
            case "work" if action.gated:
                scenario.do(leaves.StartPhase())
                record(scenario, 0, phase=action.phase).go()
            case "work":
                scenario.do(leaves.StartPhase()).do(leaves.CompletePhase())
            case "gate":
                record(scenario, 0, phase=action.phase).go()
            case _:
                scenario.do(leaves.CompletePhase())
    return scenario


@pytest.mark.parametrize("levels", [(1,), (1, 2), (1, 3), (1, 2, 3)])
@pytest.mark.parametrize("kind", ["before", "after"])
@pytest.mark.parametrize("ref", ["p/x/i", "p/x/j", "p/x", "p/y/i", "p/y"])
def test_does_what_came_in_first(
    running: Any, levels: tuple[int, ...], kind: str, ref: str
) -> None:
    """Work added to a phase that waits for its gate is done before the check."""
    scenario = until_the_gate(running, *levels)
    inject = InjectPhases if ref.count("/") == 2 else InjectSteps
    scenario.do(inject(nodes=[node()], position=at(kind, ref)))
    into = ref.rpartition("/")[0]
    expected = [f"work {into}/n"]
    if 2 in levels and into == "p/x":
        expected.append("gate p/x")
    assert do_all(scenario) == [*expected, "gate p"]


def test_does_an_approved_request_first(running: Any) -> None:
    """A request that is approved for the end of a phase is done before its gate."""
    scenario = until_the_gate(running, 1)
    scenario.given(found("r"))
    position = at("end-of-phase", "p")
    scenario.do(ApproveRequest(request="r", reasoning="w", prompt="x", position=position))
    first, *rest = do_all(scenario)
    assert first.startswith("work p/")
    assert rest == ["gate p"]


def test_does_a_new_item_first(running: Any) -> None:
    """An item added in the middle of a definition is done before the gate."""
    scenario = until_the_gate(running, 1)
    plan = gated(1)
    plan["phases"][0]["steps"].insert(1, {"id": "n", "prompt": "x"})
    scenario.do(TakePlan(plan=plan))
    assert do_all(scenario) == ["work p/n", "gate p"]


def test_stays_at_the_gate_for_work_elsewhere(running: Any) -> None:
    """A due gate stays due when work is injected before its phase."""
    scenario = until_the_gate(running, 1)
    scenario.do(InjectPhases(nodes=[node()], position=at("before", "p")))
    assert do_all(scenario) == ["gate p", "work n"]


def test_does_more_work_before_what_came_in_elsewhere(running: Any) -> None:
    """More work for the current gate precedes work injected before its phase."""
    scenario = until_the_gate(running, 1)
    scenario.do(InjectPhases(nodes=[node()], position=at("before", "p")))
    scenario.do(InjectSteps(nodes=[node("m")], position=at("before", "p/x")))
    first, *rest = do_all(scenario)
    assert first == "work p/m"
    assert sorted(rest) == ["gate p", "work n"]


def test_checks_what_a_document_contradicts(running: Any) -> None:
    """A gate is due when all leaves are finished, whatever status steps have."""
    scenario = until_the_gate(running, 1)
    theirs = scenario.document
    theirs["phases"][0]["steps"][0]["status"] = "in-progress"
    scenario.do(ImportDocument(document=theirs, source="x")).given(f.ActivitySeen())
    assert do_all(scenario) == ["gate p"]
    assert scenario.node("p")["status"] == "completed"


def test_forgets_where_it_was_held_once_passed(running: Any) -> None:
    """A passed gate no longer holds the pointer, even if a leaf is reopened."""
    scenario = until_the_gate(running, 1)
    scenario.do(InjectPhases(nodes=[node()], position=at("before", "p")))
    check(scenario).go()
    assert scenario.sprint.plan.held is None
