"""Deferred requests return at their boundary exactly once, with its event."""

from typing import Any

import pytest

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.agent.stops import on_request
from sprintlog.engine.sprint.events import RequestReturned
from sprintlog.engine.sprint.iterations.rollback import RollBack, Undo
from sprintlog.engine.sprint.phases import leaves, lifecycle
from sprintlog.engine.sprint.phases.gate import GateResult
from sprintlog.engine.sprint.phases.gate_checks import RecordGate
from sprintlog.engine.sprint.queue import decisions as d
from sprintlog.engine.sprint.queue.returns import for_the_next_sprint, with_returns

from ..conftest import Scenario, for_each, simple
from ..queued import AT, deferred, derived, entry, found, status

PHASE, SPRINT, NEXT = "end-of-phase", "end-of-sprint", "next-sprint"
complete, skip = derived(leaves.CompletePhase()), derived(leaves.SkipPhase())


def test_comes_back_when_its_phase_ends(running: Any) -> None:
    """The last leaf of the phase returns it in the same append; earlier ones do not."""
    scenario = deferred(running({"phases": [for_each("p", x=("i", "j"))]}), PHASE)
    scenario.when(skip).then(f.PhaseSkipped("p/x/i"))
    scenario.do(leaves.StartPhase()).when(complete)
    scenario.then(f.PhaseCompleted("p/x/j"), RequestReturned("r", PHASE))


def test_is_pending_as_if_nobody_had_decided(running: Any) -> None:
    """A returned request has no decision, and can be decided as before."""
    scenario = deferred(running(simple("a", "b")), PHASE)
    before = {**entry(scenario)}
    shown = entry(scenario.do(skip))
    for key in ("decided-at", "decision", "deferred-until"):
        del before[key]
    assert shown == {**before, "status": "pending"}
    scenario.do(d.DeferRequest(request="r", reasoning="Later", until=PHASE))
    assert status(scenario.do(skip)) == "pending"


def test_comes_back_once(running: Any) -> None:
    """Later ends do not return it again."""
    scenario = deferred(running(simple("a", "b")), PHASE).do(skip)
    scenario.when(skip).then(f.PhaseSkipped("b"))


def test_waits_for_its_own_phase(running: Any) -> None:
    """The end of a different phase does not return it."""
    scenario: Scenario = running(simple("a", "b", "c"))
    deferred(scenario, PHASE).when(derived(leaves.SkipPhase("b"))).then(f.PhaseSkipped("b"))


def test_waits_for_the_gate(running: Any) -> None:
    """A phase with a gate ends when the gate has passed."""
    phase = {**for_each("p", x=("i",)), "gate": {"script": "true"}}
    scenario = deferred(running({"phases": [phase, *simple("z")["phases"]]}), PHASE)
    scenario.do(leaves.StartPhase()).when(complete).then(f.PhaseCompleted("p/x/i"))
    scenario.do(derived(RecordGate(result=GateResult(1))))
    assert status(scenario) == "deferred"
    scenario.do(derived(RecordGate(result=GateResult(0))))
    assert status(scenario) == "pending"


def test_comes_back_when_nothing_is_left_to_do(running: Any) -> None:
    """The end of the sprint is reached before completion, so approval is possible."""
    scenario = deferred(running(simple("a", "b")), SPRINT)
    scenario.when(skip).then(f.PhaseSkipped("a"))
    scenario.when(skip).then(f.PhaseSkipped("b"), RequestReturned("r", SPRINT))
    scenario.do(d.ApproveRequest(request="r", reasoning="So"))
    assert scenario.document["current"]["phase"] == 2


def test_stands_at_a_breakpoint_first(running: Any) -> None:
    """At a breakpoint on the last phase one decides before the sprint is resumed."""
    scenario = deferred(running(simple("a", **{"break": True})), SPRINT).do(skip)
    assert (scenario.status, status(scenario)) == ("in-progress", "pending")
    scenario = deferred(running(simple("a", **{"break": True})), SPRINT)
    scenario.do(leaves.StartPhase()).do(complete)
    assert (scenario.status, status(scenario)) == ("paused-at-breakpoint", "pending")


def test_next_asks_to_decide_before_the_end(running: Any) -> None:
    """A loop stops if a deferred request returns; after the decision it completes."""
    scenario = deferred(running(simple("a", "b")), PHASE).do(skip)
    assert next_action(scenario.sprint, now=AT).do == "work"
    action = next_action(scenario.do(skip).sprint, now=AT)
    assert (action.do, "requests are undecided: r" in str(action.why)) == ("stop", True)
    scenario.do(d.BacklogRequest(request="r", reasoning="So"))
    assert next_action(scenario.sprint, now=AT).do == "complete"


@pytest.mark.parametrize("priority", ["medium", "low"])
def test_pending_requests_keep_no_sprint_open(running: Any, priority: str) -> None:
    """Completing is permitted by the transition table; pending requests stay pending."""
    request = found(priority=priority)
    scenario: Scenario = running(simple("a"), request, f.PhaseSkipped("a"))
    assert next_action(scenario.sprint, now=AT).do == "complete"
    scenario.when(derived(lifecycle.CompleteSprint())).then(f.SprintCompleted())
    assert status(scenario) == "pending"


@pytest.mark.parametrize("priority", ["critical", "high"])
def test_urgent_requests_keep_a_sprint_open(running: Any, priority: str) -> None:
    """Urgent requests do not stop work but must be decided before the end."""
    request = found(priority=priority)
    scenario: Scenario = running(simple("a"), request)
    assert next_action(scenario.sprint, now=AT).do == "work"
    action = next_action(scenario.do(skip).sprint, now=AT)
    assert (action.do, action.because) == ("stop", "person")
    assert "sprint complete" not in str(action.hint)
    scenario.when(lifecycle.CompleteSprint()).then_refused(requests=["r"])
    scenario.do(d.RejectRequest(request="r", reasoning="So"))
    assert next_action(scenario.sprint, now=AT).do == "complete"
    scenario.do(lifecycle.CompleteSprint())


def test_a_breakpoint_at_the_end_finishes_nothing_over_them(running: Any) -> None:
    """The resume that would complete the sprint leaves it open for the decision."""
    scenario: Scenario = running(simple("a", **{"break": True}), found()).do(skip)
    scenario.given(f.BreakpointReached("a"))
    scenario.when(lifecycle.ResumeSprint()).then(f.SprintResumed())
    assert next_action(scenario.sprint, now=AT).because == "person"


@pytest.mark.parametrize(("priority", "stops"), [("critical", False), ("high", True)])
def test_a_loop_may_stop_at_once(running: Any, priority: str, stops: bool) -> None:
    """On request, an undecided request of that priority comes before everything else."""
    scenario: Scenario = running(simple("a"), found())
    assert (on_request(scenario.sprint, priority=priority) is not None) is stops


def test_comes_back_with_the_goal(given: Any) -> None:
    """In Ralph mode the goal's completion counts, not the end of phases."""
    plan = {"mode": "ralph", "goal": "g", **simple("a")}
    scenario = deferred(given(plan, f.SprintStarted()), SPRINT)
    scenario.when(skip).then(f.PhaseSkipped("a"))
    done = lifecycle.CompleteSprint(abandons_goal=True, reason="no time")
    completed = f.SprintCompleted(abandons_goal=True, reason="no time")
    scenario.when(derived(done))
    scenario.then(completed, RequestReturned("r", SPRINT))


@pytest.mark.parametrize("until", [PHASE, SPRINT])
def test_rollback_takes_the_return_back(running: Any, until: str) -> None:
    """After the rollback it is deferred again, and the end returns it again."""
    scenario = deferred(running(simple("a")), until)
    before = scenario.bytes()
    after = scenario.do(skip).bytes()
    scenario.do(RollBack(to=4, is_inside_append=False))
    assert scenario.bytes() == before
    scenario.do(Undo())
    assert scenario.bytes() == after
    scenario.do(RollBack(to=4, is_inside_append=False)).do(skip)
    assert status(scenario) == "pending"


def test_next_sprint_is_not_an_end_of_this_one(running: Any) -> None:
    """Requests for the next sprint stay deferred here, and are available there."""
    scenario = deferred(running(simple("a")), NEXT).do(skip)
    scenario.do(derived(lifecycle.CompleteSprint()))
    assert status(scenario) == "deferred"
    assert [e["id"] for e in for_the_next_sprint(scenario.sprint)] == ["r"]


def test_changes_nothing_that_brings_back_nothing(running: Any) -> None:
    """Without deferrals, and over rollbacks and imports, events are unchanged."""
    scenario: Scenario = running(simple("a"))
    events: list[Event] = [f.PhaseSkipped("a")]
    assert with_returns(scenario.sprint, events, at=AT) is events
    deferred(scenario, SPRINT)
    for other in (f.RolledBack(1), f.SprintImported("x", patch=[])):
        assert with_returns(scenario.sprint, [other], at=AT) == [other]
