"""The loop's iteration numbers: 1-based, and never allotted twice (LOOP-030)."""

from typing import Any

import pytest

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.iterations.loop import NUMBER_MAX, EndIteration, StartIteration
from sprintlog.engine.sprint.iterations.rollback import RollBack, Undo, iteration_end
from sprintlog.engine.sprint.plan.create import CreateSprint, ImportDocument
from sprintlog.engine.sprint.state.sprint import open_iteration, pack, unpack

from ..conftest import Scenario, simple


def test_counts_from_one(running: Any) -> None:
    """Without a given number, the next number is used."""
    scenario: Scenario = running(simple("a"))
    assert "current-iteration" not in scenario.document["stats"]
    scenario.when(StartIteration()).then(f.IterationStarted(1))
    scenario.when(StartIteration()).then(f.IterationStarted(2))
    assert scenario.document["stats"]["current-iteration"] == 2


def test_takes_a_higher_number(running: Any) -> None:
    """A given number must be higher than all before (5 in the example)."""
    scenario: Scenario = running(simple("a"))
    scenario.when(StartIteration(number=5, max_iterations=30))
    scenario.then(f.IterationStarted(5, 30))
    assert scenario.document["stats"]["current-iteration"] == 5
    assert scenario.document["stats"]["max-iterations"] == 30
    scenario.when(StartIteration()).then(f.IterationStarted(6))
    assert scenario.document["stats"]["max-iterations"] == 30


@pytest.mark.parametrize("number", [-1, 0, 1, 2, 3, NUMBER_MAX + 1])
def test_refuses_numbers_given_before(running: Any, number: int) -> None:
    """Numbers up to the highest are used up; the error names the next one."""
    scenario: Scenario = running(simple("a"), f.IterationStarted(2), f.IterationStarted(3))
    if number == 3:
        scenario.given(f.IterationStarted(4))
    allowed = [5 if number == 3 else 4]
    scenario.when(StartIteration(number=number)).then_refused(
        containing="numbers are never reused", iteration=number, allowed=allowed
    )


def test_accepts_the_same_number_again(running: Any) -> None:
    """The same number with the same content records nothing."""
    scenario: Scenario = running(simple("a")).do(StartIteration(number=1))
    scenario.when(StartIteration(number=1)).then_nothing()
    scenario.when(StartIteration(number=1, max_iterations=9)).then_refused()


@pytest.mark.parametrize("limit", [0, -1, NUMBER_MAX + 1])
def test_refuses_a_senseless_maximum(running: Any, limit: int) -> None:
    """max-iterations is a positive number."""
    scenario: Scenario = running(simple("a"))
    scenario.when(StartIteration(max_iterations=limit)).then_refused(field="max-iterations")


def test_ends_the_iteration_under_way(running: Any) -> None:
    """An iteration ends once; the same text again is accepted, another is refused."""
    scenario: Scenario = running(simple("a"), f.IterationStarted(4))
    scenario.when(EndIteration(summary="x")).then(f.IterationEnded(4, "x"))
    assert open_iteration(scenario.sprint.plan) is None
    scenario.when(EndIteration(summary="x")).then_nothing()
    scenario.when(EndIteration()).then_refused(containing="cannot end iteration 4")
    scenario.when(EndIteration(number=3)).then_refused(allowed=[])
    assert open_iteration(unpack(pack(scenario.sprint)).plan) is None


def test_ends_what_was_left_open(running: Any) -> None:
    """The start of the next iteration ends the previous one without a separate event."""
    scenario: Scenario = running(simple("a"), f.IterationStarted(1), f.IterationStarted(2))
    scenario.when(EndIteration(number=1)).then_refused(
        containing="2 is under way", allowed=[2]
    )
    scenario.when(EndIteration(number=2)).then(f.IterationEnded(2))


def test_ends_in_a_sprint_that_was_stopped(running: Any) -> None:
    """An iteration can also end while the sprint is paused or closed."""
    scenario: Scenario = running(simple("a"), f.IterationStarted(1), f.SprintPaused())
    scenario.when(EndIteration()).then(f.IterationEnded(1))


def test_ends_nothing_that_never_began(running: Any) -> None:
    """Without an iteration, there is nothing to end."""
    running(simple("a")).when(EndIteration()).then_refused(
        containing="cannot end an iteration: none is under way"
    )


def test_needs_the_sprint_in_progress(given: Any) -> None:
    """Iterations start only in a sprint in progress."""
    given(simple("a")).when(StartIteration()).then_refused(state="not-started")


def test_gives_no_number_again_after_rollback(running: Any) -> None:
    """A rollback restores the state but does not free the numbers."""
    scenario: Scenario = running(simple("a")).do(StartIteration())
    scenario.do(StartIteration()).do(StartIteration())
    scenario.do(RollBack(to=3, is_inside_append=False))
    assert scenario.document["stats"]["current-iteration"] == 1
    scenario.when(StartIteration(number=2)).then_refused(allowed=[4])
    scenario.when(StartIteration()).then(f.IterationStarted(4))


def test_starts_after_an_imported_number(given: Any) -> None:
    """Numbers used by another tool are not used again."""
    document = {"status": "in-progress", "stats": {"current-iteration": 7}, **simple("a")}
    scenario: Scenario = given().do(ImportDocument(document=document, source="x"))
    scenario.when(StartIteration()).then(f.IterationStarted(8))


@pytest.mark.parametrize("number", [True, -3, 2.5, "9", None])
def test_counts_nothing_from_odd_numbers(given: Any, number: object) -> None:
    """An imported current-iteration that is not a number is stored, not counted."""
    document = {"status": "in-progress", "stats": {"current-iteration": number}}
    scenario: Scenario = given().do(ImportDocument(document=document, source="x"))
    scenario.when(StartIteration()).then(f.IterationStarted(1))


def test_never_forgets_an_imported_number(given: Any) -> None:
    """A later version with a lower number does not bring numbers back."""
    scenario: Scenario = given()
    for number in (7, 2):
        document = {"status": "in-progress", "stats": {"current-iteration": number}}
        scenario.do(ImportDocument(document=document, source="x"))
    scenario.when(StartIteration()).then(f.IterationStarted(8))


def test_keeps_the_maximum_of_a_new_plan(given: Any) -> None:
    """The plan may specify max-iterations."""
    scenario: Scenario = given().do(CreateSprint(plan=simple("a"), max_iterations=30))
    assert scenario.document["stats"]["max-iterations"] == 30


def test_ends_where_the_next_one_starts(running: Any) -> None:
    """An iteration ends before the next one; iteration 0 is the time before the first."""
    scenario: Scenario = running(simple("a"), f.IterationStarted(1), f.PhaseStarted("a"))
    scenario.given(f.IterationStarted(3), f.NoteAdded("x"))
    knowledge = scenario.sprint.knowledge
    ends = {n: iteration_end(knowledge, n, version=6) for n in (0, 1, 3)}
    assert ends == {0: 2, 1: 4, 3: 6}
    assert iteration_end(knowledge, 1, version=3) == 3


def test_ends_where_a_rollback_happens(running: Any) -> None:
    """A rollback ends the iteration that it discards, even after its undo."""
    scenario: Scenario = running(simple("a"), f.IterationStarted(1), f.PhaseStarted("a"))
    scenario.do(RollBack(to=2, is_inside_append=False)).do(Undo())
    assert iteration_end(scenario.sprint.knowledge, 1, version=6) == 4
    assert iteration_end(scenario.sprint.knowledge, 1, version=3) == 3


@pytest.mark.parametrize("number", [-1, 2, 9])
def test_knows_only_iterations_started(running: Any, number: int) -> None:
    """Future iterations, and those never started, are not found."""
    knowledge = running(
        simple("a"), f.IterationStarted(1), f.IterationStarted(2)
    ).sprint.knowledge
    with pytest.raises(NotFoundError, match="was never started; started: 1"):
        iteration_end(knowledge, number, version=3)
