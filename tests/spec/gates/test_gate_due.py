"""When a gate is due, the work that it blocks, and the rest."""

from typing import Any

import pytest

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.phases import gate_checks as g
from sprintlog.engine.sprint.phases import leaves, lifecycle
from sprintlog.engine.sprint.phases.gate import GateResult

from ..conftest import Data, Scenario, for_each
from ..gated import BY, EACH, LEAF, NEXT, at_its_gate, check, record, start, tracking, word


@pytest.mark.parametrize("status", ["pending", "in-progress", "failed", "blocked"])
def test_waits_for_the_work(running: Any, status: str) -> None:
    """A for-each phase is checked when all its leaves are finished."""
    scenario: Scenario = running({"phases": [EACH]})
    events: dict[str, list[Event]] = {
        "in-progress": [f.PhaseStarted("p/x/i")],
        "failed": [f.PhaseStarted("p/x/i"), f.PhaseFailed("p/x/i", "x", "network")],
        "blocked": [f.PhaseBlocked("p/x/i", "x")],
    }
    scenario.given(*events.get(status, []))
    start(scenario).then_refused(containing=f"p/x/i is {status}", phase="p")


@pytest.mark.parametrize("status", ["pending", "failed", "skipped"])
def test_checks_a_leaf_at_work(running: Any, status: str) -> None:
    """The gate of a leaf is checked while the leaf is in progress, before it completes."""
    scenario: Scenario = running({"phases": [LEAF]})
    events: dict[str, list[Event]] = {
        "failed": [f.PhaseStarted("p"), f.PhaseFailed("p", "x", "network")],
        "skipped": [f.PhaseSkipped("p")],
    }
    scenario.given(*events.get(status, []))
    scenario.when(g.StartGate(run="r", phase="p", **BY))
    scenario.then_refused(containing=f"p is {status}", state=status)


def test_lets_a_leaf_complete(running: Any) -> None:
    """A leaf with a gate is completed by its own command after the gate has passed."""
    scenario: Scenario = running({"phases": [LEAF, NEXT]}, f.PhaseStarted("p"))
    check(scenario, 1).go()
    scenario.when(leaves.CompletePhase()).then_refused(containing="has not passed")
    check(scenario, 0).then(f.GateChecked("p", 2, 0))
    assert scenario.node("p")["status"] == "in-progress"
    scenario.when(leaves.CompletePhase(summary="x")).then(f.PhaseCompleted("p", "x"))
    assert scenario.pointer == (1, None, None)


def test_blocks_a_leaf(running: Any) -> None:
    """A leaf whose gate has no retries left is blocked; its work may be repeated."""
    gate = {"script": "make", "max-retries": 0}
    scenario: Scenario = running({"phases": [{**LEAF, "gate": gate}]}, f.PhaseStarted("p"))
    check(scenario, 1).go()
    error = tracking(scenario)["error"]
    assert (scenario.node("p")["status"], scenario.node("p")["error"]) == ("blocked", error)
    scenario.do(lifecycle.ResumeSprint(by="ana", why="x"))
    scenario.do(leaves.RetryPhase())
    assert tracking(scenario) | {"last-output": ""} == {
        "attempts": 0,
        "status": "pending",
        "last-output": "",
        "last-exit-code": 1,
    }
    assert check(scenario.do(leaves.StartPhase()), 0).go().status == "in-progress"


@pytest.mark.parametrize("elsewhere", [False, True])
def test_runs_a_blocked_leaf_gate_again_alone(running: Any, elsewhere: bool) -> None:
    """After a person resolved it, a leaf's gate runs again without repeating the work."""
    gate = {"script": "make", "max-retries": 1}
    scenario: Scenario = running({"phases": [{**LEAF, "gate": gate}]}, f.PhaseStarted("p"))
    check(check(scenario, 1).go(), 1).go()
    start(scenario).then_refused(containing="sprint s is blocked")
    scenario.do(lifecycle.ResumeSprint(by="ana", why="x"))
    if elsewhere:
        record(scenario, 1).then(f.GateChecked("p", 1, 1, elsewhere=True))
    else:
        check(scenario, 1).then(f.GateChecked("p", 1, 1))
    assert (word(scenario), scenario.node("p")["status"]) == ("retrying", "in-progress")
    assert "error" not in scenario.node("p")
    check(scenario, 0).go()
    assert scenario.do(leaves.CompletePhase()).node("p")["status"] == "completed"


@pytest.mark.parametrize(
    ("phase", "containing", "hint"),
    [
        ({**for_each("p", x=("i",))}, "p/x/i is pending", "phase start p/x/i"),
        (
            {"id": "p", "steps": [{**LEAF, "id": "x"}]},
            "p/x is in-progress",
            "gate run --phase p/x",
        ),
    ],
)
def test_says_what_comes_first(
    running: Any, phase: Data, containing: str, hint: str
) -> None:
    """The refusal for a gate that is not due names the pending work and a command."""
    plan = {"phases": [{**phase, "gate": {"script": "make"}}]}
    scenario: Scenario = running(plan)
    if "x" in hint and "start" not in hint:
        scenario.do(leaves.StartPhase())
    scenario.when(g.RecordGate(result=GateResult(0), phase="p"))
    scenario.then_refused(containing=containing)
    assert scenario.refused is not None
    assert hint in str(scenario.refused.hint)


@pytest.mark.parametrize("code", [0, 1])
def test_checks_again_after_a_reopening(running: Any, code: int) -> None:
    """Repeated work is checked again; failed attempts still count."""
    scenario = check(at_its_gate(running), code).go()
    scenario.do(leaves.ReopenPhase(phase="p/x/i"))
    expected = {0: (0, "pending"), 1: (1, "retrying")}[code]
    assert (tracking(scenario)["attempts"], word(scenario)) == expected
    scenario.do(leaves.StartPhase()).do(leaves.CompletePhase())
    assert scenario.node("p")["status"] == "in-progress"
    assert check(scenario, 0).go().node("p")["status"] == "completed"


def test_holds_at_each_gate(running: Any) -> None:
    """A sub-phase, its step and the phase may each have a gate; all must pass."""
    plan: Data = {"phases": [for_each("p", x=("i", "j")), NEXT]}
    step = plan["phases"][0]["steps"][0]
    for node in (plan["phases"][0], step, step["phases"][0]):
        node["gate"] = {"script": "make"}
    scenario: Scenario = running(plan).do(leaves.StartPhase())
    for place, address in (((0, 0, 0), "p/x/i"), ((0, 0, 1), "p/x"), ((0, 0, 1), "p")):
        assert scenario.pointer == place
        start(scenario).then(f.GateStarted(address, 1, "r", 7, "99", "b", 60000))
        scenario.do(g.CheckGate(phase=address, run="r", result=GateResult(0)))
        if address == "p/x/i":
            scenario.do(leaves.CompletePhase()).do(leaves.StartPhase())
            scenario.do(leaves.CompletePhase())
    assert scenario.pointer == (1, None, None)


def test_pauses_at_the_breakpoint_behind_it(running: Any) -> None:
    """A phase that its gate completes reaches its breakpoint at that point."""
    scenario = check(at_its_gate(running, None, **{"break": True}))
    scenario.then(f.GateChecked("p", 1, 0), f.BreakpointReached("p"))
    assert (scenario.status, scenario.pointer) == ("paused-at-breakpoint", (1, None, None))


def test_pauses_a_leaf_when_it_completes(running: Any) -> None:
    """The gate of a leaf does not complete it, so the breakpoint waits for that."""
    plan = {"phases": [{**LEAF, "break": True}]}
    scenario: Scenario = running(plan, f.PhaseStarted("p"))
    check(scenario).then(f.GateChecked("p", 1, 0))
    scenario.when(leaves.CompletePhase())
    scenario.then(f.PhaseCompleted("p"), f.BreakpointReached("p"))


def test_checks_what_another_tool_completed(running: Any) -> None:
    """The pointer stays at a completed leaf with an open gate until the gate passes."""
    plan = {"phases": [{**LEAF, "break": True}, NEXT]}
    scenario: Scenario = running(plan, f.PhaseStarted("p"), f.PhaseCompleted("p"))
    assert scenario.pointer == (0, None, None)
    check(scenario).then(f.GateChecked("p", 1, 0), f.BreakpointReached("p"))
    assert scenario.pointer == (1, None, None)


def test_needs_a_gate(running: Any) -> None:
    """A phase without a gate has nothing to run."""
    scenario: Scenario = running({"phases": [NEXT]}, f.PhaseStarted("q"))
    start(scenario).then_refused(containing="no gate waits at the pointer")
    scenario.when(g.StartGate(run="r", phase="q", **BY))
    scenario.then_refused(containing="phase q has no gate")


@pytest.mark.parametrize(
    ("gate", "said", "containing"),
    [
        ({"script": None}, {}, "has no script"),
        ({"script": " \n"}, {}, "has no script"),
        ({}, {"timeout_seconds": 0.0}, "timeout 0.0 s: must be"),
        ({}, {"timeout_seconds": float("nan")}, "timeout nan s: must be"),
    ],
)
def test_refuses_what_cannot_be_run(
    running: Any, gate: Data, said: Data, containing: str
) -> None:
    """Without a script or a time limit, a gate cannot be run."""
    scenario = at_its_gate(running, gate)
    scenario.when(g.StartGate(run="r", **BY, **said))
    scenario.then_refused(containing=containing)


@pytest.mark.parametrize(
    ("seconds", "limit"), [(0.25, 250), (0.0001, 1), (10.0**300, 10**10)]
)
def test_takes_another_time_limit(running: Any, seconds: float, limit: int) -> None:
    """The time limit of the plan can be replaced for a run."""
    scenario = at_its_gate(running, {"timeout": 5})
    scenario.when(g.StartGate(run="r", timeout_seconds=seconds, **BY))
    scenario.then(f.GateStarted("p", 1, "r", 7, "99", "b", limit))
