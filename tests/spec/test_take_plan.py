"""Compiling again: nothing for the same plan, another plan while nothing has begun."""

from collections.abc import Callable

import pytest

from sprintlog.engine.sprint import lifecycle, phases
from sprintlog.engine.sprint.compiling import take_plan
from sprintlog.engine.sprint.facts import Place, RolledBack, Source, SprintCompiled

from .conftest import Data, Scenario, for_each, simple

Given = Callable[..., Scenario]
PLACE = Place("sprints/s/PROGRESS.yaml")


def taken(scenario: Scenario, plan: Data) -> Scenario:
    """Let a plan be taken in."""
    return scenario.do(take_plan, plan=plan, place=PLACE)


def test_the_first_plan_makes_the_sprint(given: Given) -> None:
    """A plan for a sprint that does not exist is recorded with place and sources."""
    source = Source("SPRINT.yaml", "00")
    scenario = given().when(take_plan, plan=simple("a"), place=PLACE, sources=(source,))
    [fact] = scenario.decided or []
    assert isinstance(fact, SprintCompiled)
    assert (fact.place, fact.sources) == (PLACE, (source,))


def test_the_same_plan_again_records_nothing(given: Given) -> None:
    """A plan that is equal to the one in force is accepted and changes nothing."""
    plan = {"phases": [for_each("build", login=("do", "check"))], "retry": {"on": []}}
    taken(given(), plan).when(take_plan, plan=plan, place=PLACE).then_nothing()


def test_the_same_plan_is_known_while_it_runs(given: Given) -> None:
    """Nothing is recorded for an unchanged definition, however far the sprint is."""
    scenario = taken(given(), simple("a", "b")).do(lifecycle.start_sprint)
    scenario.do(phases.start_phase).do(phases.complete_phase, summary="done")
    scenario.when(take_plan, plan=simple("a", "b"), place=PLACE).then_nothing()


def test_a_plan_is_replaced_until_something_begins(given: Given) -> None:
    """Anything may change before the start; the file stays where it was."""
    scenario = taken(given(), simple("a", "b"))
    scenario.do(take_plan, plan=simple("c"), place=Place("elsewhere"))
    assert [phase["id"] for phase in scenario.document["phases"]] == ["c"]
    assert scenario.sprint.plan.place == PLACE
    assert scenario.document["stats"]["total-phases"] == 1


def test_a_rollback_to_the_start_allows_a_new_plan(given: Given) -> None:
    """What was rolled back does not count as begun."""
    scenario = taken(given(), simple("a")).do(lifecycle.start_sprint)
    scenario.do(phases.start_phase).given(RolledBack(1))
    taken(scenario, simple("b"))
    assert scenario.status == "not-started"
    assert [phase["id"] for phase in scenario.document["phases"]] == ["b"]


def test_nothing_said_of_the_old_plan_is_said_of_the_new(given: Given) -> None:
    """A wish that a rolled back plan fulfilled is a new one in the next plan."""
    scenario = taken(given(), simple("a")).do(lifecycle.start_sprint)
    scenario.given(RolledBack(1))
    taken(scenario, simple("a", "b"))
    scenario.when(lifecycle.start_sprint)
    assert scenario.decided


@pytest.mark.parametrize("key", ["operator-queue", "dynamic-steps", "hook-tasks"])
def test_what_events_recorded_is_not_thrown_away(given: Given, key: str) -> None:
    """A plan whose lists hold something is not replaced, started or not."""
    scenario = given({**simple("a"), key: [{"id": "x"}]})
    scenario.when(take_plan, plan=simple("b")).then_refused(wish="compile")
