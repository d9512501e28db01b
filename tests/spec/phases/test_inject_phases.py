"""Phases injected into the plan: places, kinds, and refusals."""

from typing import Any

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.phases.leaves import CompletePhase, StartPhase
from sprintlog.engine.sprint.plan.injection import InjectPhases
from sprintlog.engine.sprint.state.sprint import pack, unpack
from sprintlog.engine.sprint.state.words import COMPLETED, SPRINT_STATUSES

from ..conftest import Data, Make, Scenario, for_each, simple
from ..gated import record
from .test_sprint_transitions import HISTORIES

LATER = "2026-01-15T10:26:00Z"
PLAN: Data = {
    "phases": [
        {"id": "a", "prompt": "x"},
        for_each("p", x=("i", "j"), y=("i",)),
        {"id": "e", "steps": []},
        {"id": "z", "prompt": "x"},
    ]
}


def at(kind: str, ref: str | None = None) -> f.InjectionPosition:
    """Return a position."""
    return f.InjectionPosition(kind, ref)


def node(identity: str = "n", **keys: Any) -> Data:
    """Return a phase to inject."""
    return {"id": identity, "prompt": f"Do {identity}", **keys}


def tree(nodes: list[Data]) -> list[Any]:
    """Return the ids in a list of nodes, each followed by those of its children."""
    found: list[Any] = []
    for item in nodes:
        below = item.get("steps") or item.get("phases")
        found += [item["id"], tree(below)] if below else [item["id"]]
    return found


def ids(scenario: Scenario) -> list[Any]:
    """Return the ids of the whole plan."""
    return tree(scenario.document["phases"])


def worked(scenario: Scenario, *turns: Make) -> Scenario:
    """Apply some steps to the current leaf."""
    for turn in turns:
        scenario.do(turn())
    return scenario


@pytest.mark.parametrize(
    ("kind", "ref", "expected"),
    [
        ("after-current", None, ["a", "n", "p", ["x", ["i", "j"], "y", ["i"]], "e", "z"]),
        ("after", "p", ["a", "p", ["x", ["i", "j"], "y", ["i"]], "n", "e", "z"]),
        ("before", "a", ["n", "a", "p", ["x", ["i", "j"], "y", ["i"]], "e", "z"]),
        ("after", "p/x", ["a", "p", ["x", ["i", "j"], "n", "y", ["i"]], "e", "z"]),
        ("before", "p/x", ["a", "p", ["n", "x", ["i", "j"], "y", ["i"]], "e", "z"]),
        ("after", "p/x/i", ["a", "p", ["x", ["i", "n", "j"], "y", ["i"]], "e", "z"]),
        ("before", "p/x/j", ["a", "p", ["x", ["i", "n", "j"], "y", ["i"]], "e", "z"]),
        ("end-of-phase", None, ["a", "n", "p", ["x", ["i", "j"], "y", ["i"]], "e", "z"]),
        ("end-of-phase", "p", ["a", "p", ["x", ["i", "j"], "y", ["i"], "n"], "e", "z"]),
        ("end-of-phase", "p/x", ["a", "p", ["x", ["i", "j", "n"], "y", ["i"]], "e", "z"]),
        ("end-of-phase", "e", ["a", "p", ["x", ["i", "j"], "y", ["i"]], "e", ["n"], "z"]),
        ("end-of-phase", "z", ["a", "p", ["x", ["i", "j"], "y", ["i"]], "e", "z", "n"]),
        ("end-of-workflow", None, ["a", "p", ["x", ["i", "j"], "y", ["i"]], "e", "z", "n"]),
    ],
)
def test_comes_in_where_it_is_asked_for(
    running: Any, kind: str, ref: str | None, expected: list[Any]
) -> None:
    """Every position of the documents leads to its place, on every level."""
    scenario: Scenario = running(PLAN)
    scenario.do(InjectPhases(nodes=[node()], position=at(kind, ref)))
    assert ids(scenario) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("after-current", ["x", ["i", "n", "j"], "y", ["i"]]),
        ("end-of-phase", ["x", ["i", "j"], "y", ["i"], "n"]),
    ],
)
def test_stands_beside_what_is_current(
    running: Any, kind: str, expected: list[Any]
) -> None:
    """In a for-each phase `current` is the sub-phase, and the phase is the top phase."""
    scenario = worked(running(PLAN), StartPhase, CompletePhase)
    scenario.do(InjectPhases(nodes=[node()], position=at(kind)))
    assert tree(scenario.node("p")["steps"]) == expected


def test_stores_the_resolved_place(running: Any) -> None:
    """The event has the requested position, and the exact one by ids."""
    scenario = worked(running(PLAN), StartPhase, CompletePhase)
    scenario.when(InjectPhases(nodes=[node()], position=at("after-current")))
    stored = {"id": "n", "status": "pending", "prompt": "Do n"}
    scenario.then(f.PhaseInjected([stored], at("after-current"), into="p/x", after="p/x/i"))
    assert scenario.node("p/x/n")["injected"] is True


def test_is_marked_as_injected(running: Any) -> None:
    """An injected phase has the fields of the document's example in their order."""
    scenario: Scenario = running(simple("a"), LATER)
    given = {"prompt": "Add input validation...", "model": "sonnet"}
    scenario.do(
        InjectPhases(
            nodes=[given], position=at("after-current"), id_prefix="fix-req-xyz789"
        )
    )
    added = scenario.document["phases"][1]
    assert list(added.items()) == [
        ("id", "fix-req-xyz789-0"),
        ("status", "pending"),
        ("prompt", "Add input validation..."),
        ("model", "sonnet"),
        ("injected", True),
        ("injected-at", LATER),
    ]


def test_marks_everything_below(running: Any) -> None:
    """Steps and sub-phases of injected work are also marked, children last."""
    steps = [{"id": "s", "prompt": "x", "phases": [node("i")]}]
    scenario: Scenario = running(simple("a"), LATER)
    scenario.do(
        InjectPhases(
            nodes=[{"id": "n", "steps": steps, "break": True}], position=at("after", "a")
        )
    )
    assert list(scenario.node("n")) == [
        "id", "status", "injected", "injected-at", "steps", "break"
    ]  # fmt: skip
    for address in ("n/s", "n/s/i"):
        assert scenario.node(address)["injected-at"] == LATER


def test_counts_what_came_in(running: Any) -> None:
    """Injected phases and steps count in the figures."""
    scenario = worked(running(simple("a")), StartPhase, CompletePhase)
    scenario.do(
        InjectPhases(
            nodes=[{"id": "n", "steps": [node("s"), node("t")]}, node("m")],
            position=at("end-of-workflow"),
        )
    )
    stats = scenario.document["stats"]
    assert (stats["total-phases"], stats["completed-phases"]) == (3, 1)
    assert (stats["total-steps"], stats["completed-steps"]) == (2, 0)


def test_keeps_several_in_their_order(running: Any) -> None:
    """Phases injected together are adjacent, in the given order."""
    scenario: Scenario = running(simple("a", "b"))
    scenario.do(InjectPhases(nodes=[node("m"), node("n")], position=at("before", "b")))
    assert ids(scenario) == ["a", "m", "n", "b"]


def test_queues_what_comes_after_current(running: Any) -> None:
    """With after-current, consecutive commands keep their order."""
    scenario: Scenario = running(simple("a", "b"))
    for name in ("k", "l", "m"):
        scenario.do(InjectPhases(nodes=[node(name)], position=at("after-current")))
    scenario.do(InjectPhases(nodes=[node("first")], position=at("after", "a")))
    assert ids(scenario) == ["a", "first", "k", "l", "m", "b"]


def test_queues_over_a_checkpoint(running: Any) -> None:
    """A saved state also knows the work queued after the current one."""
    scenario: Scenario = running(simple("a", "b"))
    scenario.do(InjectPhases(nodes=[node("k")], position=at("after-current")))
    again = unpack(pack(scenario.sprint))
    command: Data = {"nodes": [node("l")], "position": at("after-current")}
    assert InjectPhases(**command).decide(again, "2026-01-15T09:00:00Z") == InjectPhases(
        **command
    ).decide(scenario.sprint, "2026-01-15T09:00:00Z")
    assert ids(scenario.do(InjectPhases(**command))) == ["a", "k", "l", "b"]


def test_queues_only_what_still_waits(running: Any) -> None:
    """A started phase is no longer queued, so the next one follows it."""
    scenario: Scenario = running(simple("a", "b"))
    for name in ("k", "l"):
        scenario.do(InjectPhases(nodes=[node(name)], position=at("after-current")))
    worked(scenario, StartPhase, CompletePhase, StartPhase)
    scenario.do(InjectPhases(nodes=[node("m")], position=at("after", "k")))
    scenario.do(InjectPhases(nodes=[node("n")], position=at("after-current")))
    assert ids(scenario) == ["a", "k", "n", "m", "l", "b"]


def test_goes_behind_the_phase_when_it_has_steps(running: Any) -> None:
    """A for-each phase is at the top: after-current is after the current top phase."""
    scenario = worked(running(PLAN), StartPhase, CompletePhase)
    scenario.do(
        InjectPhases(
            nodes=[node("m"), {"id": "n", "steps": [node("s")]}],
            position=at("after-current"),
        )
    )
    assert [p["id"] for p in scenario.document["phases"]] == ["a", "p", "m", "n", "e", "z"]


@pytest.mark.parametrize("kind", ["after-current", "end-of-phase", "end-of-workflow"])
def test_gives_a_sprint_without_phases_its_first(running: Any, kind: str) -> None:
    """A sprint without phases gets injected ones before its pointer."""
    scenario: Scenario = running({"mode": "ralph", "goal": "Win"})
    scenario.do(InjectPhases(nodes=[node()], position=at(kind)))
    assert list(scenario.document)[-4:-1] == ["phases", "current", "stats"]
    assert scenario.pointer == (0, None, None)
    scenario.when(StartPhase()).then(f.PhaseStarted("n"))


@pytest.mark.parametrize("status", SPRINT_STATUSES)
def test_is_refused_once_completed(given: Any, status: str) -> None:
    """Only a completed sprint refuses work; the status does not change."""
    scenario: Scenario = given(simple("a"), *HISTORIES[status])
    scenario.when(InjectPhases(nodes=[node()], position=at("end-of-workflow")))
    if status != COMPLETED:
        assert scenario.go().status == status
    else:
        scenario.then_refused(state="completed", command="inject", allowed=["reopen"])


def test_reopens_the_phase_it_came_into(running: Any) -> None:
    """A completed phase that gets more work is in progress again, without its end."""
    scenario: Scenario = running(
        {"phases": [for_each("p", x=("i",)), *simple("z")["phases"]]}
    )
    worked(scenario, StartPhase, CompletePhase)
    assert scenario.node("p")["status"] == "completed"
    scenario.do(InjectPhases(nodes=[node()], position=at("end-of-phase", "p")))
    assert scenario.node("p")["status"] == "in-progress"
    assert not {"completed-at", "elapsed"} & set(scenario.node("p"))
    assert scenario.document["stats"]["completed-phases"] == 0


def test_makes_the_gates_above_due_again(running: Any) -> None:
    """A gate that passed before the new work is checked again after it."""
    gated = {**for_each("p", x=("i",)), "gate": {}, "gate-tracking": {"status": "passed"}}
    scenario: Scenario = running({"phases": [gated, *simple("z")["phases"]]})
    worked(scenario, StartPhase, CompletePhase)
    assert scenario.node("p")["status"] == "completed"
    scenario.do(InjectPhases(nodes=[node()], position=at("end-of-phase", "p/x")))
    assert scenario.node("p")["gate-tracking"] == {"attempts": 0, "status": "pending"}
    scenario.do(StartPhase(phase="p/x/n")).do(CompletePhase(phase="p/x/n"))
    assert scenario.node("p")["status"] == "in-progress"


def test_a_blocked_gate_leaves_its_error_to_no_parent(running: Any) -> None:
    """Once its gate is due again, a parent no longer has the blocked gate's error."""
    gate = {"script": "make", "max-retries": 0}
    plan = {"phases": [{**for_each("p", x=("i",)), "gate": gate}, *simple("z")["phases"]]}
    scenario: Scenario = running(plan)
    worked(scenario, StartPhase, CompletePhase)
    record(scenario, 1).go()
    assert "as often as it may" in scenario.node("p")["error"]
    scenario.do(InjectPhases(nodes=[node()], position=at("end-of-phase", "p")))
    assert scenario.node("p")["status"] == "in-progress"
    assert "error" not in scenario.node("p")


def test_takes_the_same_id_under_another_parent(running: Any) -> None:
    """Ids are unique among siblings, so addresses are unique."""
    scenario: Scenario = running(PLAN)
    scenario.do(InjectPhases(nodes=[node("j")], position=at("end-of-phase", "p/y")))
    assert scenario.node("p/y/j")["status"] == "pending"
