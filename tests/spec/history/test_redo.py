"""Redo: the reversal of an undo; and the undo of a decision."""

from typing import Any

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.iterations.rollback import Redo, RollBack, Undo
from sprintlog.engine.sprint.phases import leaves

from ..conftest import Make, Scenario, simple


@pytest.fixture
def worked(running: Any) -> Scenario:
    """Return a sprint in which the first phase is completed: versions 1 to 4."""
    scenario: Scenario = running(simple("a", "b"))
    return scenario.do(leaves.StartPhase()).do(leaves.CompletePhase())


def test_redo_is_before_the_undo(worked: Scenario) -> None:
    """After undo and redo the state is the same, and undo has the same effect again."""
    rolled = worked.do(RollBack(to=2, is_inside_append=False)).bytes()
    undone = worked.do(Undo()).bytes()
    again = worked.when(Redo(reason="x")).then(f.RolledBack(5, "x", undoes=6))
    assert again.bytes() == rolled
    assert worked.when(Undo()).then(f.RolledBack(4, undoes=5)).bytes() == undone
    assert worked.do(Redo()).bytes() == rolled
    worked.when(Redo()).then_refused(command="redo", containing="no undo to revert")


def test_redo_takes_back_one_undo_after_the_other(worked: Scenario) -> None:
    """Each redo is for the latest undo that is effective."""
    worked.do(RollBack(to=3, is_inside_append=False))
    worked.do(RollBack(to=2, is_inside_append=False))
    states = [worked.bytes()]
    for _ in range(2):
        states.append(worked.do(Undo()).bytes())
    worked.when(Undo()).then_refused(command="undo")
    assert worked.do(Redo()).bytes() == states[1]
    assert worked.do(Redo()).bytes() == states[0]


@pytest.mark.parametrize("command", [Redo, Undo])
def test_there_is_nothing_to_take_back(worked: Scenario, command: Make) -> None:
    """Without an undo there is no redo, and without a rollback no undo."""
    worked.when(command()).then_refused(command=command().name().split("-")[0])


def test_a_decision_is_taken_back_with_what_came_after(worked: Scenario) -> None:
    """The state is that before the decision's append; redo restores it."""
    before = worked.bytes()
    decided = worked.do(leaves.SkipPhase(phase="b")).bytes()
    assert worked.do(Undo(first=5)).bytes() == before
    assert worked.do(Redo()).bytes() == decided


@pytest.mark.parametrize("first", [0, 1, 5])
def test_refuses_where_there_is_no_decision(worked: Scenario, first: int) -> None:
    """The plan itself cannot be undone, nor can a decision that was not made."""
    worked.when(Undo(first=first)).then_refused(command="undo")
