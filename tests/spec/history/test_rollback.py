"""Rollback arithmetic, by cases worked out by hand."""

from typing import Any

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.iterations.loop import StartIteration
from sprintlog.engine.sprint.iterations.rollback import RollBack, Undo
from sprintlog.engine.sprint.phases import leaves, lifecycle
from sprintlog.engine.sprint.phases.lifecycle import AddNote
from sprintlog.engine.sprint.state.effective_history import effective_ranges, is_effective

from ..conftest import Scenario, fold_all, simple


def back(scenario: Scenario, to: int) -> Scenario:
    """Roll back to a version."""
    return scenario.do(RollBack(to=to, is_inside_append=False))


@pytest.fixture
def worked(running: Any) -> Scenario:
    """Return a sprint at version 6: plan, start, a started, a completed, b both."""
    scenario: Scenario = running(simple("a", "b", "c"))
    for _ in range(2):
        scenario.at(f"2026-01-15T09:0{len(scenario.events)}:00Z").do(leaves.StartPhase())
        scenario.at(f"2026-01-15T09:0{len(scenario.events)}:00Z").do(leaves.CompletePhase())
    assert scenario.sprint.version == 6
    return scenario


@pytest.mark.parametrize(
    ("rollbacks", "version", "stretches"),
    [
        ([], 0, []),
        ([], 9, [(1, 9)]),
        ([(10, 5)], 9, [(1, 9)]),
        ([(10, 5)], 10, [(1, 5), (10, 10)]),
        ([(10, 5)], 14, [(1, 5), (10, 14)]),
        ([(10, 5), (12, 10)], 13, [(1, 5), (10, 10), (12, 13)]),
        ([(10, 5), (12, 8)], 13, [(1, 8), (12, 13)]),
        ([(10, 5), (12, 3)], 13, [(1, 3), (12, 13)]),
        ([(10, 5), (11, 9)], 11, [(1, 9), (11, 11)]),
        ([(10, 5), (12, 3), (13, 11)], 14, [(1, 5), (10, 11), (13, 14)]),
        ([(10, 5), (12, 3), (13, 11), (15, 12)], 16, [(1, 3), (12, 12), (15, 16)]),
    ],
)
def test_follows_parents_to_the_root(
    rollbacks: list[tuple[int, int]], version: int, stretches: list[tuple[int, int]]
) -> None:
    """A rollback's parent is its target; any other event's parent is the previous event."""
    assert effective_ranges(rollbacks, version) == stretches
    on_path = {v for first, last in stretches for v in range(first, last + 1)}
    assert {v for v in range(version + 3) if is_effective(stretches, v)} == on_path


def test_goes_back_to_the_earlier_state(worked: Scenario) -> None:
    """After a rollback the document is the target's, byte for byte."""
    back(worked, 4)
    assert worked.bytes() == Scenario().given(*_before(worked, 4)).bytes()
    assert worked.node("b")["status"] == "pending"


def test_deletes_nothing(worked: Scenario) -> None:
    """A rollback is an additional event; every earlier version can still be read."""
    before = fold_all(worked.events, until=6).document
    back(worked, 4)
    assert worked.sprint.version == 7
    assert fold_all(worked.events, until=6).document == before


def test_goes_on_from_the_target(worked: Scenario) -> None:
    """Events after a rollback build on its target."""
    back(worked, 4).when(leaves.StartPhase(model="haiku"))
    worked.then(f.PhaseStarted("b", "haiku"))
    assert [p["status"] for p in worked.document["phases"]] == [
        "completed",
        "in-progress",
        "pending",
    ]


def test_forgets_commands_said_after_the_target(worked: Scenario) -> None:
    """A discarded command that is repeated is a new command."""
    back(worked, 5).when(leaves.CompletePhase(phase="b"))
    worked.then(f.PhaseCompleted("b"))


def test_reaches_versions_off_the_path(worked: Scenario) -> None:
    """A discarded version can also be the target of a rollback."""
    seen = fold_all(worked.events, until=5).document
    back(back(worked, 3), 5)
    assert worked.document == seen


def test_undoes_to_what_was_before(worked: Scenario) -> None:
    """undo(rollback) = before: the same bytes."""
    before = worked.bytes()
    back(worked, 2).when(Undo(reason="oops"))
    worked.then(f.RolledBack(6, "oops", undoes=7))
    assert worked.bytes() == before


def test_undoes_work_done_since_the_rollback(worked: Scenario) -> None:
    """An undo restores the state before the rollback, whatever followed it."""
    before = worked.bytes()
    back(worked, 4).do(leaves.StartPhase()).do(leaves.CompletePhase(summary="other way"))
    assert worked.do(Undo()).bytes() == before


def test_undoes_nested_rollbacks_one_by_one(worked: Scenario) -> None:
    """Each undo reverses the latest effective rollback that was not undone."""
    first = worked.bytes()
    second = back(worked, 5).bytes()
    back(worked, 3)
    assert worked.do(Undo()).bytes() == second
    assert worked.do(Undo()).bytes() == first
    worked.when(Undo()).then_refused(containing="nothing to undo", command="undo")


def test_undoes_only_what_is_in_force(worked: Scenario) -> None:
    """A rollback that a later one discarded is not undone."""
    back(worked, 5).do(leaves.CompletePhase())
    back(worked, 4).when(Undo()).then(f.RolledBack(8, undoes=9))
    worked.when(Undo()).then(f.RolledBack(6, undoes=7))
    worked.when(Undo()).then_refused(command="undo")


def test_redoes_by_rolling_back_again(worked: Scenario) -> None:
    """An undone rollback can be a target: its version is its state."""
    rolled = back(worked, 4).bytes()
    assert back(worked.do(Undo()), 7).bytes() == rolled


def test_keeps_what_was_learned(worked: Scenario) -> None:
    """The knowledge folds every event, on the path or off it."""
    worked.do(StartIteration()).do(AddNote(text="learned")).do(StartIteration())
    back(worked, 6)
    assert worked.sprint.knowledge.iterations == [(1, 7), (2, 9)]
    assert worked.sprint.knowledge.iteration_max == 2
    assert "current-iteration" not in worked.document["stats"]


def test_accepts_the_same_target_again(worked: Scenario) -> None:
    """A rollback to the current version changes nothing."""
    worked.when(RollBack(to=6, is_inside_append=False)).then_nothing()
    back(worked, 4).when(RollBack(to=4, is_inside_append=False)).then_nothing()


def test_refuses_a_target_inside_an_append(worked: Scenario) -> None:
    """The events of one append cannot be separated."""
    worked.when(RollBack(to=4, is_inside_append=True)).then_refused(
        containing="is inside an atomic append", field="to", command="rollback"
    )


@pytest.mark.parametrize("to", [-1, 0, 7, 100])
def test_refuses_versions_there_are_not(worked: Scenario, to: int) -> None:
    """Targets are versions of this stream before the head."""
    worked.when(RollBack(to=to, is_inside_append=False)).then_refused(
        containing="allowed versions are 1 to 5", field="to", command="rollback"
    )


def test_takes_back_the_completion_too(worked: Scenario) -> None:
    """A completed sprint is in progress again at an earlier version."""
    worked.do(leaves.SkipPhase()).do(lifecycle.CompleteSprint())
    assert back(worked, 6).status == "in-progress"
    assert worked.document["stats"]["completed-at"] is None
    assert worked.document["last-activity"] == "2026-01-15T09:05:00Z"


def _before(scenario: Scenario, version: int) -> list[Any]:
    """Return the history up to a version, in the format of `given`."""
    return [item for _, at, event in scenario.events[:version] for item in (at, event)]
