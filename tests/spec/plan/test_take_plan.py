"""Compiling again: no change for the same plan, any change before the start."""

from collections.abc import Callable

import pytest

from sprintlog.engine.sprint.events import (
    InjectionPosition,
    Place,
    RolledBack,
    Source,
    SprintCompiled,
)
from sprintlog.engine.sprint.iterations.goal import SetGoal
from sprintlog.engine.sprint.iterations.loop import LimitIterations
from sprintlog.engine.sprint.phases import leaves, lifecycle
from sprintlog.engine.sprint.plan.injection import InjectPhases
from sprintlog.engine.sprint.plan.recompile import TakePlan, _changed

from ..conftest import Data, Scenario, for_each, simple

Given = Callable[..., Scenario]
PLACE = Place("sprints/s/PROGRESS.yaml")


def taken(scenario: Scenario, plan: Data) -> Scenario:
    """Take over a plan."""
    return scenario.do(TakePlan(plan=plan, place=PLACE))


def test_the_first_plan_makes_the_sprint(given: Given) -> None:
    """A plan for a sprint that does not exist is recorded with place and sources."""
    source = Source("SPRINT.yaml", "00")
    scenario = given().when(TakePlan(plan=simple("a"), place=PLACE, sources=(source,)))
    [event] = scenario.decided or []
    assert isinstance(event, SprintCompiled)
    assert (event.place, event.sources) == (PLACE, (source,))


def test_the_same_plan_again_records_nothing(given: Given) -> None:
    """A plan equal to the current one is accepted and changes nothing."""
    plan = {"phases": [for_each("build", login=("do", "check"))], "retry": {"on": []}}
    taken(given(), plan).when(TakePlan(plan=plan, place=PLACE)).then_nothing()


def test_the_same_plan_is_known_while_it_runs(given: Given) -> None:
    """Nothing is recorded for an unchanged definition, however far the sprint is."""
    scenario = taken(given(), simple("a", "b")).do(lifecycle.StartSprint())
    scenario.do(leaves.StartPhase()).do(leaves.CompletePhase(summary="done"))
    scenario.when(TakePlan(plan=simple("a", "b"), place=PLACE)).then_nothing()


def test_a_plan_is_replaced_until_something_begins(given: Given) -> None:
    """Anything may change before the start; the file stays at its path."""
    scenario = taken(given(), simple("a", "b"))
    scenario.do(TakePlan(plan=simple("c"), place=Place("elsewhere")))
    assert [phase["id"] for phase in scenario.document["phases"]] == ["c"]
    assert scenario.sprint.plan.place == PLACE
    assert scenario.document["stats"]["total-phases"] == 1


def test_a_rollback_to_the_start_allows_a_new_plan(given: Given) -> None:
    """Discarded work does not count as started."""
    scenario = taken(given(), simple("a")).do(lifecycle.StartSprint())
    scenario.do(leaves.StartPhase()).given(RolledBack(1))
    taken(scenario, simple("b"))
    assert scenario.status == "not-started"
    assert [phase["id"] for phase in scenario.document["phases"]] == ["b"]


def test_nothing_said_of_the_old_plan_is_said_of_the_new(given: Given) -> None:
    """A command that a discarded plan fulfilled is a new one in the next plan."""
    scenario = taken(given(), simple("a")).do(lifecycle.StartSprint())
    scenario.given(RolledBack(1))
    taken(scenario, simple("a", "b"))
    scenario.when(lifecycle.StartSprint())
    assert scenario.decided


@pytest.mark.parametrize("key", ["operator-queue", "dynamic-steps", "hook-tasks"])
def test_what_events_recorded_is_not_thrown_away(given: Given, key: str) -> None:
    """A plan whose lists have entries is not replaced, started or not."""
    scenario = given({**simple("a"), key: [{"id": "x"}]})
    scenario.when(TakePlan(plan=simple("b"))).then_refused(command="compile")


def begun(given: Given, plan: Data) -> Scenario:
    """Return a sprint whose first leaf is being executed."""
    scenario = taken(given(), plan).do(lifecycle.StartSprint())
    return scenario.do(leaves.StartPhase())


def ids(scenario: Scenario) -> list[str]:
    """Return the addresses of all nodes, in order."""
    nodes = sorted(scenario.sprint.plan.tree.nodes.values(), key=lambda node: node.place)
    return list(dict.fromkeys(node.address for node in nodes))


def build(**steps: tuple[str, ...]) -> Data:
    """Return a plan: a phase, one with these steps, and another phase."""
    first, last = simple("setup", "review")["phases"]
    return {"phases": [first, for_each("build", **steps), last]}


def test_what_was_said_of_the_whole_sprint_is_not_thrown_away(given: Given) -> None:
    """A goal or a limit set before the start is preserved with the same plan."""
    scenario = given(simple("a")).do(SetGoal(goal="Win"))
    scenario.do(LimitIterations(max_iterations=7))
    before = scenario.document
    scenario.when(TakePlan(plan=simple("a"))).then_nothing()
    assert scenario.document == before


def test_a_running_sprint_takes_a_new_item(given: Given) -> None:
    """The step is at its item's position, marked as injected; work continues."""
    scenario = begun(given, build(login=("do",)))
    scenario.do(TakePlan(plan=build(login=("do",), logout=("do", "check"))))
    assert ids(scenario) == [
        *("setup", "build", "build/login", "build/login/do"),
        *("build/logout", "build/logout/do", "build/logout/check", "review"),
    ]
    assert scenario.node("build/logout")["injected"] is True
    assert scenario.node("setup")["status"] == "in-progress"
    assert scenario.pointer == (0, None, None)


def test_additions_come_in_everywhere(given: Given) -> None:
    """New phases, steps and sub-phases are added before, between and after others."""
    scenario = begun(given, build(b=("y",), d=("y",)))
    plan = build(a=("x",), b=("x", "y", "z"), c=("x",), d=("y",), e=("x",))
    new = simple("first", "middle", "last")["phases"]
    old = plan["phases"]
    plan["phases"] = [new[0], old[0], old[1], new[1], old[2], new[2]]
    scenario.do(TakePlan(plan=plan))
    assert [node for node in ids(scenario) if "/" not in node] == [
        *("first", "setup", "build", "middle", "review", "last")
    ]
    assert [node for node in ids(scenario) if node.startswith("build/")] == [
        *("build/a", "build/a/x", "build/b", "build/b/x", "build/b/y", "build/b/z"),
        *("build/c", "build/c/x", "build/d", "build/d/y", "build/e", "build/e/x"),
    ]
    scenario.when(TakePlan(plan=plan)).then_nothing()


def test_an_empty_phase_takes_its_first_step(given: Given) -> None:
    """A for-each phase without steps gets them at its end."""
    scenario = begun(given, build())
    scenario.do(TakePlan(plan=build(login=("do",))))
    assert ids(scenario)[1:4] == ["build", "build/login", "build/login/do"]


def test_what_came_in_by_itself_is_no_difference(given: Given) -> None:
    """An injected phase stays, and is not considered missing in the definition."""
    scenario = begun(given, simple("a", "b"))
    node = {"id": "fix", "prompt": "Repair it"}
    position = InjectionPosition("after", "a")
    scenario.do(InjectPhases(nodes=[node], position=position))
    scenario.when(TakePlan(plan=simple("a", "b"))).then_nothing()
    scenario.do(TakePlan(plan=simple("a", "b", "c")))
    assert ids(scenario) == ["a", "fix", "b", "c"]


def test_another_model_at_the_start_is_no_difference(given: Given) -> None:
    """The start of a phase may name another model than the definition."""
    plan = simple("a", "b", model="opus")
    scenario = taken(given(), plan).do(lifecycle.StartSprint())
    scenario.do(leaves.StartPhase(model="haiku"))
    scenario.when(TakePlan(plan=plan)).then_nothing()


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"phases": simple("a")["phases"]}, "b: is not there any more"),
        ({"phases": simple("b", "a")["phases"]}, "the order changed: a, b → b, a"),
        ({"goal": "Win"}, "goal changed: nothing → 'Win'"),
        ({"retry": {"maxAttempts": 1}}, "retry changed: nothing → {'maxAttempts': 1}"),
        ({"stats": {"max-iterations": 9}}, "stats.max-iterations changed: nothing → 9"),
        (
            {"phases": [*simple("a")["phases"], {"id": "b", "prompt": "Do\nmore"}]},
            "b: prompt changed in line 1: 'Do b' → 'Do'",
        ),
        (
            {"phases": simple("a", "b", gate={"script": "x"})["phases"]},
            "a: gate changed: nothing → {'script': 'x'}",
        ),
        (
            {"phases": [*simple("a")["phases"], for_each("b", c=("d",))]},
            "b: prompt changed: 'Do b' → nothing",
        ),
    ],
)
def test_a_running_sprint_refuses_anything_else(
    given: Given, change: Data, difference: str
) -> None:
    """Differences are named, and nothing is recorded, not even additions."""
    scenario = begun(given, simple("a", "b"))
    plan: Data = {**simple("a", "b"), **change}
    plan["phases"] = [*plan["phases"], *simple("new")["phases"]]
    scenario.when(TakePlan(plan=plan)).then_refused(containing="only additions")
    assert scenario.refused is not None
    assert difference in scenario.refused.fields["differences"]


def test_a_leaf_stays_a_leaf(given: Given) -> None:
    """A step that was executed as a leaf does not get sub-phases afterwards."""
    plan = build(login=())
    scenario = begun(given, plan).when(TakePlan(plan=build(login=("do",))))
    scenario.then_refused(differences=["build/login: had nothing below it"])


def test_a_completed_sprint_takes_no_additions(given: Given) -> None:
    """A sprint that is over must be opened again first."""
    scenario = begun(given, simple("a")).do(leaves.CompletePhase())
    scenario.do(lifecycle.CompleteSprint())
    scenario.when(TakePlan(plan=simple("a"))).then_nothing()
    scenario.when(TakePlan(plan=simple("a", "b")))
    scenario.then_refused(state="completed", allowed=["reopen"])


def test_shows_where_long_texts_differ() -> None:
    """Of long lines the piece is shown in which they differ."""
    old, new = (f"{'the same words ' * 9}{number} and on" for number in (1, 2))
    said = _changed("prompt", old, new)
    assert said.startswith("prompt changed: …'")
    assert "words 1 and on'" in said
    assert said.endswith("words 2 and on'")
