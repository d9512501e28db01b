"""Invalid work and impossible positions; the error names the field."""

from typing import Any

import pytest

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.sprint.plan.injection import InjectPhases

from ..conftest import Data, Scenario
from .test_inject_phases import PLAN, at, node

BLANK: Data = {"id": "s", "prompt": ""}


@pytest.mark.parametrize(
    ("kind", "ref"), [("after", "nope"), ("before", "a/x"), ("end-of-phase", "p/nope")]
)
def test_finds_no_place_that_is_not_there(running: Any, kind: str, ref: str) -> None:
    """A position relative to an address that does not exist is not found."""
    scenario: Scenario = running(PLAN)
    scenario.when(InjectPhases(nodes=[node()], position=at(kind, ref)))
    assert isinstance(scenario.refused, NotFoundError)
    scenario.then_refused(phase=ref)


@pytest.mark.parametrize(
    ("kind", "ref"),
    [
        ("after", None),
        ("before", ""),
        ("after-current", "a"),
        ("end-of-workflow", "a"),
        ("first", None),
    ],
)
def test_refuses_a_position_without_meaning(
    running: Any, kind: str, ref: str | None
) -> None:
    """A position is one of five words; two require an address and two accept none."""
    scenario: Scenario = running(PLAN)
    scenario.when(InjectPhases(nodes=[node()], position=at(kind, ref)))
    scenario.then_refused(containing="position")


@pytest.mark.parametrize(
    ("nodes", "kind", "ref", "field"),
    [
        ([], "after", "a", "nodes"),
        ([node("")], "after", "a", "nodes[0].id"),
        ([{"prompt": "x"}], "after", "a", "nodes[0].id"),
        ([node("x" * 129)], "after", "a", "nodes[0].id"),
        ([node("x\ny")], "after", "a", "nodes[0].id"),
        ([node("n"), node("n")], "after", "a", "nodes[1].id"),
        ([node("m"), node("z")], "after", "a", "nodes[1].id"),
        ([node("j")], "after", "p/x/i", "nodes[0].id"),
        ([node("x")], "end-of-phase", "p", "nodes[0].id"),
        ([{"id": "n"}], "after", "a", "nodes[0]"),
        ([{"id": "n"}], "after", "p/x", "nodes[0].prompt"),
        ([node(prompt=" \n")], "after", "a", "nodes[0].prompt"),
        ([node(prompt=7)], "after", "a", "nodes[0].prompt"),
        ([node(model="gpt")], "after", "a", "nodes[0].model"),
        ([node(status="completed")], "after", "a", "nodes[0].status"),
        ([node(steps=[])], "after", "a", "nodes[0]"),
        ([{"id": "n", "steps": [BLANK]}], "after", "a", "nodes[0].steps[0].prompt"),
        ([{"id": "n", "steps": [{"id": "s"}]}], "after", "a", "nodes[0].steps[0].prompt"),
        ([{"id": "n", "steps": []}], "after", "p/x", "nodes[0].steps"),
        ([{"id": "n", "steps": []}], "after", "p/x/i", "nodes[0].steps"),
        ([node(phases=[])], "after", "a", "nodes[0].phases"),
        ([node(phases=[])], "after", "p/x/i", "nodes[0].phases"),
        ([{**node(), "break": True}], "after", "p/x", "nodes[0].break"),
    ],
)  # fmt: skip
def test_refuses_what_nobody_could_execute(
    running: Any, nodes: list[Data], kind: str, ref: str, field: str
) -> None:
    """Ids, prompts, models and shapes are checked, and the field is named."""
    scenario: Scenario = running(PLAN)
    scenario.when(InjectPhases(nodes=nodes, position=at(kind, ref)))
    scenario.then_refused(field=field)
