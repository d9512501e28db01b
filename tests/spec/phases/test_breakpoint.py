"""A phase with `break: true` pauses the sprint after it completes (SPR-090)."""

from typing import Any

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.phases import leaves, lifecycle

from ..conftest import Scenario, for_each, simple

BREAK = {"break": True}
FIRST = {"phases": [{"id": "a", "prompt": "x", "break": True}, {"id": "b", "prompt": "x"}]}
EACH = {"phases": [{**for_each("p", x=("i", "j"), y=("i",)), **BREAK}]}


def test_pauses_on_the_next_phase(running: Any) -> None:
    """After the phase the sprint pauses with the pointer on the next phase."""
    scenario: Scenario = running(FIRST).do(leaves.StartPhase())
    scenario.when(leaves.CompletePhase())
    scenario.then(f.PhaseCompleted("a"), f.BreakpointReached("a"))
    assert scenario.status == "paused-at-breakpoint"
    assert scenario.pointer == (1, None, None)


def test_goes_on_once_after_resuming(running: Any) -> None:
    """Resuming continues with the next phase, and the breakpoint does not recur."""
    scenario: Scenario = running(FIRST).do(leaves.StartPhase()).do(leaves.CompletePhase())
    scenario.do(leaves.CompletePhase(phase="a")).when(lifecycle.ResumeSprint())
    scenario.then(f.SprintResumed()).do(leaves.StartPhase(phase="b"))
    scenario.when(leaves.CompletePhase()).then(f.PhaseCompleted("b"))
    assert scenario.status == "in-progress"


def test_completes_after_the_last_phase(running: Any) -> None:
    """A breakpoint on the last phase waits for its review, then the sprint completes."""
    scenario: Scenario = running(simple("a", **BREAK)).do(leaves.StartPhase())
    assert scenario.do(leaves.CompletePhase()).status == "paused-at-breakpoint"
    scenario.when(lifecycle.ResumeSprint(by="Ada"))
    scenario.then(f.SprintResumed("Ada"), f.SprintCompleted())
    assert scenario.status == "completed"


@pytest.mark.parametrize("last", ["p/x/i", "p/x/j", "p/y/i"])
def test_waits_for_every_leaf_of_the_phase(running: Any, last: str) -> None:
    """A for-each phase breaks when its last open leaf finishes, in any order."""
    scenario: Scenario = running(EACH)
    for address in [a for a in ("p/x/i", "p/x/j", "p/y/i") if a != last]:
        scenario.do(leaves.StartPhase(phase=address))
        scenario.when(leaves.CompletePhase(phase=address))
        scenario.then(f.PhaseCompleted(address))
    scenario.do(leaves.StartPhase(phase=last)).when(leaves.CompletePhase(phase=last))
    scenario.then(f.PhaseCompleted(last), f.BreakpointReached("p"))


def test_breaks_when_the_last_leaf_is_skipped(running: Any) -> None:
    """Skipping the last open leaf completes the phase as well."""
    scenario: Scenario = running(EACH, f.PhaseStarted("p/x/i"), f.PhaseCompleted("p/x/i"))
    scenario.given(f.PhaseSkipped("p/x/j")).when(leaves.SkipPhase(phase="p/y/i"))
    scenario.then(f.PhaseSkipped("p/y/i"), f.BreakpointReached("p"))


@pytest.mark.parametrize("plan", [simple("a", **BREAK), EACH])
def test_passes_over_what_was_skipped_whole(running: Any, plan: Any) -> None:
    """A phase with only skipped leaves is skipped, so there is nothing to review."""
    scenario: Scenario = running(plan)
    while (leaf := scenario.sprint.plan.tree.open_leaf()) is not None:
        address = leaf.address
        scenario.when(leaves.SkipPhase()).then(f.PhaseSkipped(address))
    assert scenario.status == "in-progress"


@pytest.mark.parametrize("value", [False, None, "true", 1])
def test_breaks_for_true_alone(running: Any, value: object) -> None:
    """`break` is a boolean; no other value pauses the sprint."""
    scenario: Scenario = running(simple("a", **{"break": value})).do(leaves.StartPhase())
    scenario.when(leaves.CompletePhase()).then(f.PhaseCompleted("a"))


def test_waits_for_the_gate_first(running: Any) -> None:
    """A phase whose gate is open is not complete, so its breakpoint is not reached yet."""
    gated = {**for_each("p", x=("i",)), **BREAK, "gate": {"script": "make"}}
    scenario: Scenario = running({"phases": [gated]}).do(leaves.StartPhase())
    scenario.when(leaves.CompletePhase()).then(f.PhaseCompleted("p/x/i"))


def test_does_not_break_for_steps(running: Any) -> None:
    """Only top phases have breakpoints."""
    plan = {"phases": [for_each("p", x=("i",), y=("i",))]}
    plan["phases"][0]["steps"][0].update(BREAK)
    scenario: Scenario = running(plan).do(leaves.StartPhase())
    scenario.when(leaves.CompletePhase()).then(f.PhaseCompleted("p/x/i"))
