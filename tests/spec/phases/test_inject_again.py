"""Repeating an injection records nothing, and our ids are never used twice."""

from typing import Any

import pytest

from sprintlog.engine.sprint.iterations.rollback import RollBack
from sprintlog.engine.sprint.phases.leaves import CompletePhase, SkipPhase, StartPhase
from sprintlog.engine.sprint.plan.injection import InjectPhases, InjectSteps
from sprintlog.engine.sprint.state.sprint import pack, unpack

from ..conftest import Data, Scenario, simple
from .test_inject_phases import PLAN, at, ids, node, tree

FIX: Data = {"prompt": "Repair it"}


@pytest.mark.parametrize("nodes", [[node()], [node("m"), node("n")]])
def test_records_the_same_command_once(running: Any, nodes: list[Data]) -> None:
    """Agents retry: the same content again is accepted and records nothing."""
    scenario: Scenario = running(simple("a", "b"))
    scenario.do(InjectPhases(nodes=nodes, position=at("after-current")))
    again = unpack(pack(scenario.sprint))
    assert (
        InjectPhases(nodes=nodes, position=at("after-current")).decide(
            again, "2026-01-15T09:00:00Z"
        )
        == []
    )
    scenario.when(InjectPhases(nodes=nodes, position=at("after-current"))).then_nothing()


@pytest.mark.parametrize(
    "other",
    [
        {"nodes": [node(prompt="Another")], "position": at("after-current")},
        {"nodes": [node()], "position": at("after", "a")},
        {"nodes": [node(), node("m")], "position": at("after-current")},
    ],
)
def test_refuses_other_content(running: Any, other: Data) -> None:
    """The same id with another prompt, position or batch is refused by name."""
    scenario: Scenario = running(simple("a", "b"))
    scenario.do(InjectPhases(nodes=[node()], position=at("after-current")))
    scenario.when(InjectPhases(**other)).then_refused(
        containing="phase n already exists", phase="n", field="nodes[0].id"
    )


def test_is_not_the_same_once_something_befell_it(running: Any) -> None:
    """Only the last command about an address can be repeated."""
    scenario: Scenario = running(simple("a"))
    command: Data = {"nodes": [node()], "position": at("end-of-workflow")}
    scenario.do(InjectPhases(**command)).do(SkipPhase(phase="n"))
    scenario.when(InjectPhases(**command)).then_refused(phase="n")


def test_counts_on_from_zero(running: Any) -> None:
    """Ids generated from a prefix are counted from 0, per prefix."""
    scenario: Scenario = running(simple("a"))
    for prefix, prompts in (("fix", "kl"), ("fix", "m"), ("more", "n")):
        nodes = [{"id": "ignored", "prompt": prompt} for prompt in prompts]
        scenario.do(
            InjectPhases(nodes=nodes, position=at("end-of-workflow"), id_prefix=prefix)
        )
    assert ids(scenario) == ["a", "fix-0", "fix-1", "fix-2", "more-0"]


def test_records_the_same_numbered_command_once(running: Any) -> None:
    """A repeated command gets no new number while its result is unchanged."""
    scenario: Scenario = running(simple("a"))
    command: Data = {"nodes": [FIX], "position": at("after-current"), "id_prefix": "fix"}
    scenario.do(InjectPhases(**command))
    scenario.when(InjectPhases(**command)).then_nothing()
    scenario.do(SkipPhase(phase="fix-0")).do(InjectPhases(**command))
    assert ids(scenario) == ["a", "fix-1", "fix-0"]


def test_never_gives_a_number_twice(running: Any) -> None:
    """A rollback discards the phase but does not free its number."""
    scenario: Scenario = running(simple("a"))
    command: Data = {"nodes": [FIX], "position": at("after-current"), "id_prefix": "fix"}
    scenario.do(InjectPhases(**command)).do(RollBack(to=2, is_inside_append=False))
    assert ids(scenario) == ["a"]
    assert ids(scenario.do(InjectPhases(**command))) == ["a", "fix-1"]
    assert unpack(pack(scenario.sprint)).knowledge.allotted == {"fix": 2}


def test_passes_over_ids_of_others(running: Any) -> None:
    """A number whose id is in use is skipped, and numbers stay consecutive."""
    scenario: Scenario = running(simple("fix-0", "fix-2"))
    nodes = [FIX, FIX]
    scenario.do(InjectPhases(nodes=nodes, position=at("end-of-workflow"), id_prefix="fix"))
    assert ids(scenario) == ["fix-0", "fix-2", "fix-3", "fix-4"]
    scenario.when(
        InjectPhases(nodes=nodes, position=at("end-of-workflow"), id_prefix="fix")
    ).then_nothing()


def test_gives_every_level_numbers_of_one_row(running: Any) -> None:
    """A prefix is counted over the whole sprint, so its ids are unique."""
    scenario: Scenario = running(PLAN).do(StartPhase()).do(CompletePhase())
    where: dict[str, Any] = {"position": at("after-current"), "id_prefix": "fix"}
    scenario.do(InjectPhases(nodes=[FIX], **where))
    scenario.do(InjectSteps(nodes=[FIX], **where))
    scenario.do(InjectPhases(nodes=[{"steps": [node()]}], **where))
    assert tree(scenario.node("p")["steps"])[:3] == ["x", ["i", "fix-0", "j"], "fix-1"]
    assert ids(scenario)[3:5] == ["fix-2", ["n"]]


@pytest.mark.parametrize("prefix", ["", "x" * 127, "a\nb"])
def test_refuses_a_prefix_that_makes_no_id(running: Any, prefix: str) -> None:
    """Ids generated from a prefix must satisfy the limits of ids."""
    scenario: Scenario = running(simple("a"))
    scenario.when(
        InjectPhases(nodes=[FIX], position=at("end-of-workflow"), id_prefix=prefix)
    )
    scenario.then_refused(field="id_prefix")
