"""Parents derive their status and their times from their children."""

from typing import Any

import pytest

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.phases import leaves
from sprintlog.engine.sprint.phases.lifecycle import CompleteSprint

from ..conftest import Data, Scenario, for_each

THREE = {"phases": [for_each("p", x=("a", "b", "c"), y=("a",)), for_each("q", z=("a",))]}
AT = "2026-01-15T09:00:00Z"


def events(address: str, status: str) -> list[Event]:
    """Return the events that bring a pending leaf to a status."""
    started = f.PhaseStarted(address)
    ways: dict[str, list[Event]] = {
        "pending": [],
        "in-progress": [started],
        "completed": [started, f.PhaseCompleted(address)],
        "skipped": [f.PhaseSkipped(address)],
        "failed": [started, f.PhaseFailed(address, "x", "network")],
        "blocked": [f.PhaseBlocked(address, "x")],
    }
    return ways[status]


@pytest.mark.parametrize(
    ("children", "parent"),
    [
        ("pending pending pending", "pending"),
        ("in-progress pending pending", "in-progress"),
        ("pending pending in-progress", "in-progress"),
        ("completed pending pending", "in-progress"),
        ("skipped pending pending", "in-progress"),
        ("completed skipped pending", "in-progress"),
        ("completed completed completed", "completed"),
        ("completed skipped skipped", "completed"),
        ("skipped skipped completed", "completed"),
        ("skipped skipped skipped", "skipped"),
        ("failed pending completed", "failed"),
        ("in-progress completed failed", "failed"),
        ("failed skipped skipped", "failed"),
        ("blocked failed in-progress", "blocked"),
        ("completed completed blocked", "blocked"),
        ("failed pending blocked", "blocked"),
    ],
)
def test_takes_the_first_status_that_applies(
    running: Any, children: str, parent: str
) -> None:
    """The first that applies: blocked, failed, finished, started, pending."""
    scenario: Scenario = running(THREE)
    for sub, status in zip("abc", children.split(), strict=True):
        scenario.given(*events(f"p/x/{sub}", status))
    assert scenario.node("p/x")["status"] == parent
    top = parent if parent in ("blocked", "failed", "pending") else "in-progress"
    assert scenario.node("p")["status"] == top
    assert scenario.node("q")["status"] == "pending"


def test_carries_the_status_to_the_top(running: Any) -> None:
    """A top phase is completed once all its steps are."""
    scenario: Scenario = running(THREE)
    for address in ("p/x/a", "p/x/b", "p/x/c", "p/y/a"):
        scenario.given(*events(address, "completed"))
    assert [p["status"] for p in scenario.document["phases"]] == ["completed", "pending"]


def test_falls_back_when_a_leaf_reopens(running: Any) -> None:
    """A parent is reopened with its children, and its end is removed."""
    scenario: Scenario = running({"phases": [for_each("p", x=("a", "b"))]})
    scenario.given(*events("p/x/a", "completed"), *events("p/x/b", "skipped"))
    assert {"completed-at", "elapsed"} < set(scenario.node("p"))
    scenario.do(leaves.ReopenPhase(phase="p/x/b"))
    assert [scenario.node(a)["status"] for a in ("p", "p/x")] == ["in-progress"] * 2
    assert not {"completed-at", "elapsed"} & set(scenario.node("p"))


def test_has_the_times_of_its_children(running: Any) -> None:
    """A parent starts with its first leaf and ends with its last."""
    scenario: Scenario = running(THREE, "2026-01-15T09:02:00Z", f.PhaseStarted("p/x/a"))
    scenario.given("2026-01-15T09:10:00Z", f.PhaseCompleted("p/x/a"))
    scenario.given(*events("p/x/b", "skipped"))
    assert "completed-at" not in scenario.node("p/x")
    scenario.given("2026-01-15T09:15:00Z", *events("p/x/c", "completed"))
    step, top = scenario.node("p/x"), scenario.node("p")
    assert step["started-at"] == top["started-at"] == "2026-01-15T09:02:00Z"
    assert (step["completed-at"], step["elapsed"]) == ("2026-01-15T09:15:00Z", "00:13:00")
    assert "completed-at" not in top


def test_writes_times_before_the_children(running: Any) -> None:
    """Times precede a step's sub-phases, as in the example."""
    scenario: Scenario = running({"phases": [for_each("p", x=("a",))]})
    scenario.given(*events("p/x/a", "completed"))
    times = ["started-at", "completed-at", "elapsed"]
    assert list(scenario.node("p/x")) == ["id", "prompt", "status", *times, "phases"]
    assert list(scenario.node("p")) == ["id", "status", *times, "steps"]


def test_is_not_finished_before_its_gate(running: Any) -> None:
    """A phase with a gate is in progress until the gate has passed."""
    gated = {**for_each("p", x=("a",)), "gate": {"script": "make"}}
    scenario: Scenario = running({"phases": [gated, for_each("q", z=("a",))]})
    scenario.given(*events("p/x/a", "completed"))
    assert scenario.node("p/x")["status"] == "completed"
    assert scenario.node("p")["status"] == "in-progress"
    assert scenario.document["stats"]["completed-phases"] == 0
    assert scenario.pointer == (0, 0, 0)


def test_is_finished_with_its_gate_passed(running: Any) -> None:
    """Once its gate has passed, the phase finishes like any other."""
    gated = {**for_each("p", x=("a",)), "gate": {}, "gate-tracking": {"status": "passed"}}
    scenario: Scenario = running({"phases": [gated, for_each("q", z=("a",))]})
    scenario.given(*events("p/x/a", "completed"))
    assert scenario.node("p")["status"] == "completed"
    assert scenario.pointer == (1, 0, 0)


@pytest.mark.parametrize("word", ["pending", "running", "retrying", "failed", "blocked"])
def test_completes_no_leaf_before_its_gate(running: Any, word: str) -> None:
    """A simple phase completes only after its gate has passed."""
    gated = {"id": "p", "prompt": "x", "gate": {}, "gate-tracking": {"status": word}}
    scenario: Scenario = running({"phases": [gated]}, f.PhaseStarted("p"))
    scenario.when(leaves.CompletePhase()).then_refused(
        containing="its gate has not passed", phase="p", command="complete"
    )


def test_holds_the_sprint_while_a_gate_is_open(running: Any) -> None:
    """A sprint whose last phase waits for its gate is not finished."""
    gated = {**for_each("p", x=("a",)), "gate": {"script": "make"}}
    scenario: Scenario = running({"phases": [gated]}, *events("p/x/a", "completed"))
    scenario.when(CompleteSprint()).then_refused(phase="p/x/a")


def empty(*ids: str) -> list[Data]:
    """Return for-each phases without any step."""
    return [{"id": identity, "steps": []} for identity in ids]


def test_completes_an_empty_phase_when_reached(running: Any) -> None:
    """A for-each phase without steps is completed when the pointer reaches it."""
    scenario: Scenario = running(
        {"phases": [*empty("e"), {"id": "a", "prompt": "x"}, *empty("f", "g")]}
    )
    assert [p["status"] for p in scenario.document["phases"]] == [
        "completed",
        "pending",
        "pending",
        "pending",
    ]
    scenario.given(*events("a", "completed"))
    assert scenario.document["stats"]["completed-phases"] == 4
    scenario.do(leaves.ReopenPhase(phase="a"))
    assert scenario.document["stats"]["completed-phases"] == 1


def test_reaches_no_empty_phase_before_the_start(given: Any) -> None:
    """Nothing is completed in a sprint that has not started."""
    scenario: Scenario = given({"phases": [*empty("e"), {"id": "a", "prompt": "x"}]})
    assert scenario.document["phases"][0]["status"] == "pending"


def test_executes_nothing_of_an_empty_phase(running: Any) -> None:
    """An empty phase is not a leaf: it cannot be started, and nothing waits for it."""
    scenario: Scenario = running({"phases": empty("e")})
    scenario.when(leaves.StartPhase(phase="e")).then_refused(phase="e")
    scenario.when(CompleteSprint()).then(f.SprintCompleted())


@pytest.mark.parametrize("step", [{}, {"phases": []}])
def test_treats_a_bare_step_as_leaf(running: Any, step: Data) -> None:
    """A step without sub-phases is a leaf."""
    plan = {"phases": [{"id": "p", "steps": [{"id": "x", "prompt": "Do x", **step}]}]}
    scenario: Scenario = running(plan)
    assert scenario.pointer == (0, 0, None)
    scenario.when(leaves.StartPhase()).then(f.PhaseStarted("p/x"))
    scenario.do(leaves.CompletePhase())
    assert scenario.node("p")["status"] == "completed"
    assert scenario.document["stats"]["completed-steps"] == 1


@pytest.mark.parametrize(
    "gated",
    [
        {"id": "p", "prompt": "x", "gate": {"script": "make"}},
        {"id": "p", "gate": {}, "steps": [{"id": "a", "status": "pending", "prompt": "x"}]},
    ],
    ids=["simple", "for-each"],
)
def test_needs_no_gate_when_skipped(running: Any, gated: Data) -> None:
    """A completely skipped phase is finished: its gate has nothing to check."""
    scenario: Scenario = running({"phases": [gated, {"id": "q", "prompt": "y"}]})
    scenario.given(f.PhaseSkipped("p" if "prompt" in gated else "p/a"))
    assert scenario.node("p")["status"] == "skipped"
    assert scenario.pointer == (1, None, None)
