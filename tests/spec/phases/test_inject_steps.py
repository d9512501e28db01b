"""Steps are injected into a for-each phase."""

from typing import Any

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.phases.leaves import CompletePhase, SkipPhase, StartPhase
from sprintlog.engine.sprint.plan.injection import InjectPhases, InjectSteps

from ..conftest import Data, Scenario, for_each, simple
from .test_inject_phases import PLAN, at, node, tree

STEP: Data = {"id": "n", "prompt": "Let people out", "phases": [node("i"), node("j")]}


@pytest.mark.parametrize(
    ("kind", "ref", "expected"),
    [
        ("after-current", None, ["x", ["i", "j"], "n", ["i", "j"], "y", ["i"]]),
        ("after", "p/y", ["x", ["i", "j"], "y", ["i"], "n", ["i", "j"]]),
        ("before", "p/x", ["n", ["i", "j"], "x", ["i", "j"], "y", ["i"]]),
        ("end-of-phase", None, ["x", ["i", "j"], "y", ["i"], "n", ["i", "j"]]),
        ("end-of-phase", "p", ["x", ["i", "j"], "y", ["i"], "n", ["i", "j"]]),
    ],
)
def test_comes_in_where_it_is_asked_for(
    running: Any, kind: str, ref: str | None, expected: list[Any]
) -> None:
    """A step is injected next to a step, the current one without an address."""
    scenario: Scenario = running(PLAN).do(StartPhase()).do(CompletePhase())
    scenario.do(InjectSteps(nodes=[STEP], position=at(kind, ref)))
    assert tree(scenario.node("p")["steps"]) == expected
    assert scenario.pointer[0] == 1


def test_ends_the_last_phase_that_has_steps(running: Any) -> None:
    """The end of the workflow is, for a step, the end of the last for-each phase."""
    scenario: Scenario = running(PLAN)
    scenario.do(InjectSteps(nodes=[STEP], position=at("end-of-workflow")))
    assert tree(scenario.node("e")["steps"]) == ["n", ["i", "j"]]


def test_queues_behind_the_current_step(running: Any) -> None:
    """Steps after the current one keep the order of their injection."""
    scenario: Scenario = running({"phases": [for_each("p", x=("i",), y=("i",))]})
    for name in ("k", "l"):
        scenario.do(InjectSteps(nodes=[node(name)], position=at("after-current")))
    assert [s["id"] for s in scenario.node("p")["steps"]] == ["x", "k", "l", "y"]


def test_has_the_fields_of_a_step(running: Any) -> None:
    """A step always has a list of sub-phases; if it is empty, the step is executed."""
    scenario: Scenario = running(PLAN, "2026-01-15T10:26:00Z")
    position = at("end-of-phase", "p")
    scenario.when(InjectSteps(nodes=[node()], position=position))
    stored = {"id": "n", "prompt": "Do n", "status": "pending", "phases": []}
    scenario.then(f.StepInjected([stored], position, into="p"))
    assert scenario.node("p/n") == {
        "id": "n",
        "prompt": "Do n",
        "status": "pending",
        "injected": True,
        "injected-at": "2026-01-15T10:26:00Z",
        "phases": [],
    }
    scenario.when(StartPhase(phase="p/n")).then(f.PhaseStarted("p/n"))


def test_is_a_step_wherever_steps_are(running: Any) -> None:
    """A phase injected among steps is a step, whatever the source."""
    scenario: Scenario = running(PLAN)
    scenario.do(InjectPhases(nodes=[node()], position=at("after", "p/x")))
    assert isinstance(scenario.events[-1][2], f.StepInjected)
    assert scenario.node("p/n")["phases"] == []


@pytest.mark.parametrize(
    ("kind", "ref"),
    [
        ("after-current", None),
        ("after", "a"),
        ("before", "p"),
        ("after", "p/x/i"),
        ("end-of-phase", None),
        ("end-of-phase", "z"),
        ("end-of-phase", "p/x"),
    ],
)
def test_needs_a_phase_with_steps(running: Any, kind: str, ref: str | None) -> None:
    """A step cannot be among phases or sub-phases."""
    scenario: Scenario = running(PLAN)
    scenario.when(InjectSteps(nodes=[STEP], position=at(kind, ref)))
    scenario.then_refused(containing="is not a place for a step", command="inject")


@pytest.mark.parametrize("kind", ["after-current", "end-of-phase", "end-of-workflow"])
@pytest.mark.parametrize("plan", [simple("a"), {"mode": "ralph", "goal": "Win"}])
def test_has_no_place_in_a_sprint_without_steps(
    running: Any, plan: Data, kind: str
) -> None:
    """If no phase has steps, none can be injected."""
    scenario: Scenario = running(plan)
    scenario.when(InjectSteps(nodes=[STEP], position=at(kind)))
    scenario.then_refused(containing="is not a place for a step")


def test_opens_no_finished_phase_at_the_end(running: Any) -> None:
    """At the end of the workflow, a step is added to the last open phase."""
    plan = {"phases": [for_each("p", x=("i",)), for_each("q", x=("i",))]}
    scenario: Scenario = running(plan)
    scenario.do(SkipPhase(phase="q"))
    scenario.do(InjectSteps(nodes=[node()], position=at("end-of-workflow")))
    assert scenario.node("p/n")["status"] == "pending"
    scenario.do(SkipPhase(phase="p"))
    scenario.when(InjectSteps(nodes=[node("m")], position=at("end-of-workflow")))
    scenario.then_refused(containing="phase q is skipped", field="position")
