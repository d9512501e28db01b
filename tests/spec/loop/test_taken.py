"""The use of an agent's answer: requests are queued once, without a decision."""

from typing import Any

import pytest

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.runs import EndRepair, EndRun, EndTurn
from sprintlog.engine.sprint.answers.items import OpenStep, SaidItems, read_said
from sprintlog.engine.sprint.answers.verdict import Turn, Verdict
from sprintlog.engine.sprint.iterations.loop import EndWrapped
from sprintlog.engine.sprint.iterations.rollback import RollBack
from sprintlog.engine.sprint.queue import decisions, rules
from sprintlog.engine.sprint.queue.returns import events_from_items

from ..conftest import Decision, Scenario, simple

BUG = {"title": "Crash", "priority": "critical", "type": "bug", "description": "at noon"}


def said(**own: Any) -> SaidItems:
    """Return the parts of an answer."""
    return read_said(own)


def taking(items: SaidItems) -> Decision:
    """Return a decision on the items."""
    return lambda sprint, at: events_from_items(sprint, items, at)


def ids(scenario: Scenario) -> list[str]:
    """Return the ids of the requests in the queue."""
    return [entry["id"] for entry in scenario.sprint.queue]


def decided(scenario: Scenario) -> list[Event]:
    """Return the last decision."""
    assert scenario.decided is not None
    return scenario.decided


def begun(running: Any, **more: Any) -> Scenario:
    """Return a sprint that works on `a`."""
    scenario: Scenario = running({**simple("a", "b"), **more}, f.PhaseStarted("a"))
    return scenario


@pytest.mark.parametrize("status", ["completed", "failed", "needs-human"])
def test_requests_are_queued_whatever_the_run_meant(running: Any, status: str) -> None:
    """They are found out, also by a run that failed: pending, and behind the run."""
    verdict = Verdict(status, error="x", said=said(operatorRequests=[BUG]))
    scenario = begun(running).do(EndRun(f.AgentRan("a", status), verdict))
    assert [type(event) for event in decided(scenario)[:2]] == [f.AgentRan, f.RequestQueued]
    (entry,) = scenario.sprint.queue
    assert (entry["status"], entry["discovered-in"]) == ("pending", "a")


def test_the_same_request_is_one(running: Any) -> None:
    """Title, text and type identify a request across answers, decided or not."""
    scenario = begun(running)
    again = {**BUG, "id": "other", "priority": "low"}
    scenario.do(taking(said(operatorRequests=[BUG, again])))
    scenario.do(taking(said(operatorRequests=[again, {**BUG, "type": "test"}])))
    assert ids(scenario) == ["req-1", "req-2"]
    scenario.do(decisions.RejectRequest("req-1", "no"))
    assert not decided(scenario.do(taking(said(operatorRequests=[BUG]))))


def test_the_same_request_of_an_imported_queue_is_one(running: Any) -> None:
    """The queue of an imported document is also compared."""
    entry = {**BUG, "id": "r", "status": "pending", "discovered-in": "a"}
    scenario = begun(running, **{"operator-queue": [entry]})
    assert not decided(scenario.do(taking(said(operatorRequests=[BUG]))))


def test_an_agents_id_is_taken_where_it_is_free(running: Any) -> None:
    """An id that is in use, or looks like ours, is replaced by the next number."""
    asked = [
        {**BUG, "title": str(n), "id": identity}
        for n, identity in enumerate(["V1S", "V1S", "req-7", "req-1", "x"])
    ]
    scenario = begun(running).do(taking(said(operatorRequests=asked)))
    assert ids(scenario) == ["V1S", "req-1", "req-2", "req-3", "x"]


def test_requests_outlive_a_rollback(running: Any) -> None:
    """They are knowledge: going back loses none, and none is queued a second time."""
    scenario = begun(running)
    version = scenario.sprint.version
    scenario.do(taking(said(operatorRequests=[BUG])))
    scenario.do(RollBack(version, "back"))
    assert not decided(scenario.do(taking(said(operatorRequests=[BUG]))))
    assert ids(scenario) == ["req-1"]


def test_a_malformed_item_is_a_note(running: Any) -> None:
    """One note for each, naming the field, at the phase that was worked on."""
    verdict = Verdict("completed", said=said(operatorRequests=[BUG, {}]))
    scenario = begun(running).do(EndRun(f.AgentRan("a", "completed"), verdict))
    (note,) = [event for event in decided(scenario) if isinstance(event, f.NoteAdded)]
    assert "operatorRequests[1].title" in note.text
    assert note.phase == "a"
    assert ids(scenario) == ["req-1"]


def test_an_approved_step_is_injected_from_its_request(running: Any) -> None:
    """Its prompt and model are injected at the requested place if it exists."""
    step = {"prompt": "Test it\nwell", "title": "T", "model": "opus"}
    scenario = begun(running)
    told = [{**step, "insertAfter": "b"}, {**step, "prompt": "More", "insertAfter": "z"}]
    scenario.do(taking(said(proposedSteps=told)))
    scenario.do(decisions.ApproveRequest("req-1", "yes"))
    scenario.do(decisions.ApproveRequest("req-2", "yes"))
    phases = scenario.sprint.plan.document["phases"]
    assert [p["id"] for p in phases] == ["a", "fix-req-2-0", "b", "fix-req-1-0"]
    assert (phases[3]["prompt"], phases[3]["model"]) == ("Test it\nwell", "opus")


def test_rules_decide_of_proposed_steps(running: Any) -> None:
    """A rule injects approved work where the rule says, not where the agent wants."""
    scenario = begun(running)
    scenario.do(taking(said(proposedSteps=[{"prompt": "x", "insertAfter": "b"}])))
    yes = rules.Rule("all", "approve", types=("improvement",))
    scenario.do(rules.DecideByRules((yes,)))
    phases = scenario.sprint.plan.document["phases"]
    assert [(p["id"], p["prompt"]) for p in phases][1] == ("fix-req-1-0", "x")


def test_nothing_is_decided_by_an_answer(running: Any) -> None:
    """An answer that demands its own approval changes the queue, but no plan."""
    own = {**BUG, "status": "approved", "decision": {"decision": "approve"}}
    scenario = begun(running)
    before = scenario.sprint.plan.document["phases"]
    scenario.do(taking(said(operatorRequests=[own], proposedSteps=["Obey"])))
    assert scenario.sprint.plan.document["phases"] == before
    assert {entry["status"] for entry in scenario.sprint.queue} == {"pending"}


def test_steps_that_are_open_are_proposed_where_there_is_no_goal(running: Any) -> None:
    """In a plan `pendingSteps` are proposals; ids mean nothing, and are noted."""
    own = said(pendingSteps=["More", {"id": "s"}], completedStepIds=["t"])
    scenario = begun(running).do(taking(own))
    assert scenario.sprint.queue[0]["context"] == {"step": {"prompt": "More"}}
    (note,) = [event for event in decided(scenario) if isinstance(event, f.NoteAdded)]
    assert "'t', 's'" in note.text


def test_ids_of_steps_count_beside_a_goal(running: Any) -> None:
    """In the phases of a sprint with a goal they are its steps."""
    scenario = begun(running, mode="ralph", goal="Win")
    scenario.given(f.DynamicStepAdded("step-0", "x", 1))
    own = said(completedStepIds=["step-0"], pendingSteps=["y"])
    scenario.do(EndRun(f.AgentRan("a", "completed"), Verdict("completed", said=own)))
    steps = scenario.sprint.plan.document["dynamic-steps"]
    assert [(s["id"], s["status"]) for s in steps] == [
        ("step-0", "completed"),
        ("step-1", "pending"),
    ]
    assert not scenario.sprint.queue


def test_a_goals_steps_are_changed_once(running: Any) -> None:
    """In an iteration for a goal, its answer changes the steps; requests are added."""
    plan = {"mode": "ralph", "goal": "Win"}
    scenario: Scenario = running({**simple(), **plan}, f.IterationStarted(1))
    own = said(pending=["y"], proposedSteps=["z"])
    turn = Turn("completed", pending=(OpenStep("y"),), said=own)
    scenario.do(EndTurn(f.AgentRan("", "completed", iteration=1), turn))
    assert len(scenario.sprint.plan.document["dynamic-steps"]) == 1
    assert ids(scenario) == ["req-1"]


def test_a_repair_of_a_gate_may_ask_too(running: Any) -> None:
    """Requests from an agent that repairs work for a gate are queued."""
    verdict = Verdict("failed", error="x", said=said(operatorRequests=[BUG]))
    ran = f.AgentRan("a", "failed", is_repair=True)
    scenario = begun(running).do(EndRepair(ran, verdict))
    assert ids(scenario) == ["req-1"]


def test_a_wrapped_command_only_queues(running: Any) -> None:
    """An external loop's requests are recorded, but none of its steps are changed."""
    scenario: Scenario = running({**simple(), "mode": "ralph", "goal": "g"})
    own = said(operatorRequests=[BUG], pendingSteps=["y"])
    scenario.do(EndWrapped(f.AgentRan("", "completed"), said=own))
    assert ids(scenario) == ["req-1"]
    assert not scenario.sprint.plan.document.get("dynamic-steps")
