"""Idle iterations and reflection: counted from the log alone (LOOP-040, LOOP-041)."""

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.events import goal as r
from sprintlog.engine.sprint.iterations.loop import EndIteration, StartIteration
from sprintlog.engine.sprint.iterations.loop_changes import reflection_is_due
from sprintlog.engine.sprint.iterations.rollback import RollBack, Undo
from sprintlog.engine.sprint.plan.create import ImportDocument
from sprintlog.engine.sprint.plan.goal_steps import AddStep, UpdateStep
from sprintlog.engine.sprint.state.sprint import pack, unpack

from ..conftest import Scenario, fold_all, simple
from ..goals import begun, goal, idle


def count(scenario: Scenario) -> int:
    """Return the idle count; a saved state and a fold from nothing have the same count."""
    turns = scenario.sprint.plan.turns
    assert unpack(pack(scenario.sprint)).plan.turns == turns
    assert fold_all(scenario.events).plan.turns == turns
    return turns.idle


def test_two_idle_iterations_do_not_reflect() -> None:
    """Two idle iterations are below the default threshold and do not start reflection."""
    scenario = idle(begun(), 2)
    assert (count(scenario), reflection_is_due(scenario.sprint.plan)) == (2, False)
    scenario.when(StartIteration()).then(f.IterationStarted(3))


def test_three_idle_iterations_reflect() -> None:
    """At the threshold reflection starts with the next iteration, and is recorded once."""
    scenario = idle(begun(), 3)
    assert reflection_is_due(scenario.sprint.plan)
    scenario.when(StartIteration()).then(f.IterationStarted(4), r.ReflectionStarted(4, 3))
    assert reflection_is_due(scenario.sprint.plan)
    scenario.do(EndIteration())
    assert (count(scenario), reflection_is_due(scenario.sprint.plan)) == (4, True)
    scenario.when(StartIteration()).then(f.IterationStarted(5))
    scenario.do(AddStep(prompt="x"))
    assert (count(scenario), reflection_is_due(scenario.sprint.plan)) == (0, False)
    scenario.do(EndIteration())
    assert count(scenario) == 0


@pytest.mark.parametrize("threshold", [1, 2, 5])
def test_takes_the_threshold_of_the_sprint(threshold: int) -> None:
    """`ralph.idle-threshold` states after how many iterations it reflects."""
    scenario = idle(begun(goal(idle_threshold=threshold)), threshold - 1)
    assert not reflection_is_due(scenario.sprint.plan)
    assert reflection_is_due(idle(scenario, 1).sprint.plan)


@pytest.mark.parametrize("odd", [0, -1, "3", None, 2.5, True])
def test_three_is_the_default(odd: object) -> None:
    """A threshold that is not a number above 0 is ignored."""
    scenario = idle(begun({**goal(), "ralph": {"idle-threshold": odd}}), 2)
    assert not reflection_is_due(scenario.sprint.plan)
    assert reflection_is_due(idle(scenario, 1).sprint.plan)


def test_only_completion_and_addition_count() -> None:
    """Other statuses, prompts, claims and notes are not progress."""
    scenario = begun().do(AddStep(prompt="x"))
    for change in ({"status": "in-progress"}, {"prompt": "y"}, {"status": "blocked"}):
        scenario.do(StartIteration()).do(UpdateStep(step="step-0", **change))
        scenario.given(f.NoteAdded("x"), r.GoalClaimed(1, "x")).do(EndIteration())
    assert count(scenario) == 3
    scenario.do(StartIteration()).do(UpdateStep(step="step-0", status="completed"))
    assert count(scenario.do(EndIteration())) == 0


def test_what_happens_between_iterations_counts() -> None:
    """A step that a person adds between two iterations ends an idle stretch."""
    scenario = idle(begun(), 2).do(AddStep(prompt="x"))
    assert count(scenario) == 0
    assert count(idle(scenario, 1)) == 1


def test_an_iteration_left_open_ends_with_the_next_one() -> None:
    """Iterations whose end was not recorded are counted in the same way."""
    scenario = begun()
    for _ in range(4):
        scenario.do(StartIteration())
    assert scenario.decided == [f.IterationStarted(4), r.ReflectionStarted(4, 3)]
    assert count(scenario) == 3


def test_a_rollback_takes_idle_iterations_back() -> None:
    """Only the current path is counted; after an undo, discarded iterations count again."""
    scenario = idle(begun().do(AddStep(prompt="x")), 3)
    scenario.do(RollBack(to=5, is_inside_append=False))
    assert count(scenario) == 1
    assert not reflection_is_due(scenario.sprint.plan)
    scenario.do(Undo())
    assert count(scenario) == 3


def test_iterations_of_phases_are_not_idle() -> None:
    """While a phase of the plan is open, nothing is counted."""
    scenario = idle(begun({**goal(), **simple("a")}), 4)
    assert count(scenario) == 0
    assert count(idle(scenario.given(f.PhaseSkipped("a")), 2)) == 2


def test_an_imported_document_begins_anew() -> None:
    """Another tool's work since then is unknown, so earlier iterations do not count."""
    scenario = idle(begun(), 2)
    theirs = {**scenario.document, "goal": "Other"}
    assert count(scenario.do(ImportDocument(document=theirs, source="x"))) == 0
