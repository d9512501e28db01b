"""Skip, retry and reopen for a step or a phase: all such leaves below it, at once."""

from typing import Any

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.phases import leaves
from sprintlog.engine.sprint.plan.injection import InjectSteps

from ..conftest import Data, Scenario, for_each
from ..gated import record
from .test_inject_phases import at, node
from .test_pointer_and_figures import finish

STEPS: Data = for_each("p", x=("i", "j"), y=("k",))
NEXT: Data = {"id": "q", "prompt": "x"}


def begun(running: Any, **keys: Any) -> Scenario:
    """Return a phase with three leaves, the first of which is completed."""
    return finish(running({"phases": [{**STEPS, **keys}, NEXT]}), "p/x/i")


def test_skips_what_is_unfinished(running: Any) -> None:
    """Skipping a phase leaves out all that is not finished below it."""
    scenario = begun(running).when(leaves.SkipPhase(phase="p", reason="late"))
    scenario.then(f.PhaseSkipped("p/x/j", "late"), f.PhaseSkipped("p/y/k", "late"))
    assert [scenario.node(a)["status"] for a in ("p", "p/x", "p/y")] == [
        "completed",
        "completed",
        "skipped",
    ]
    assert scenario.pointer == (1, None, None)


def test_skips_a_step(running: Any) -> None:
    """Skipping a step does not affect its siblings."""
    scenario = begun(running).when(leaves.SkipPhase(phase="p/y"))
    scenario.then(f.PhaseSkipped("p/y/k"))


@pytest.mark.parametrize("verb", ["skip", "retry", "reopen"])
def test_records_nothing_the_second_time(running: Any, verb: str) -> None:
    """The same command again records nothing; a different one is refused."""
    scenario = begun(running)
    if verb == "retry":
        scenario.do(leaves.StartPhase())
        scenario.do(leaves.FailPhase(error="x", category="network"), at=scenario.now)
    command = getattr(leaves, f"{verb.capitalize()}Phase")
    scenario.do(command(phase="p", reason="why"))
    scenario.when(command(phase="p", reason="why")).then_nothing()
    scenario.when(command(phase="p", reason="else")).then_refused(command=verb)


def test_skips_what_came_in_since(running: Any) -> None:
    """Repeating the command also skips work injected since."""
    scenario = begun(running).do(leaves.SkipPhase(phase="p"))
    scenario.do(InjectSteps(nodes=[node()], position=at("end-of-phase", "p")))
    scenario.when(leaves.SkipPhase(phase="p")).then(f.PhaseSkipped("p/n"))


def test_retries_what_failed(running: Any) -> None:
    """Retrying a phase resets only the failed or blocked work below it."""
    scenario = begun(running).given(
        f.PhaseStarted("p/x/j"), f.PhaseFailed("p/x/j", "x"), f.PhaseBlocked("p/y/k", "x")
    )
    scenario.when(leaves.RetryPhase(phase="p"))
    scenario.then(f.PhaseRetried("p/x/j"), f.PhaseRetried("p/y/k"))


def test_reopens_what_is_finished(running: Any) -> None:
    """Reopening a phase resets all finished work below it."""
    scenario = begun(running).do(leaves.SkipPhase(phase="p/y"))
    scenario.when(leaves.ReopenPhase(phase="p"))
    scenario.then(f.PhaseReopened("p/x/i"), f.PhaseReopened("p/y/k"))
    assert scenario.node("p")["status"] == "pending"
    assert "started-at" not in scenario.node("p")


def test_reaches_a_breakpoint(running: Any) -> None:
    """A phase that ends by skipping the rest of it reaches its breakpoint."""
    scenario = begun(running, **{"break": True}).when(leaves.SkipPhase(phase="p"))
    assert scenario.decided is not None
    assert scenario.decided[-1] == f.BreakpointReached("p")
    scenario = running({"phases": [{**STEPS, "break": True}]})
    scenario.when(leaves.SkipPhase(phase="p"))
    assert f.BreakpointReached("p") not in (scenario.decided or ())


def test_leaves_the_gate_to_come(running: Any) -> None:
    """Finished work of a phase is still checked, and then its breakpoint is reached."""
    scenario = begun(running, gate={"script": "make"}, **{"break": True})
    scenario.do(leaves.SkipPhase(phase="p"))
    assert (scenario.status, scenario.pointer) == ("in-progress", (0, 1, 0))
    record(scenario, 0)
    assert scenario.decided is not None
    assert scenario.decided[-1] == f.BreakpointReached("p")


def test_refuses_where_nothing_fits(running: Any) -> None:
    """A phase with nothing to skip, retry or reopen reports it, with a hint."""
    scenario: Scenario = running({"phases": [{**STEPS, "gate": {"script": "x"}}]})
    scenario.when(leaves.ReopenPhase(phase="p")).then_refused(containing="is pending")
    finish(scenario, "p/x/i").do(leaves.SkipPhase(phase="p"))
    scenario.when(leaves.RetryPhase(phase="p")).then_refused(command="retry")
    assert scenario.refused is not None
    assert scenario.refused.hint == "run `sprintlog gate run --phase p`"


def test_knows_only_what_is_there(running: Any) -> None:
    """An address that leads nowhere is not found."""
    scenario = begun(running).when(leaves.SkipPhase(phase="nope"))
    scenario.then_refused(containing="there is no phase nope")


def test_starts_no_parent(running: Any) -> None:
    """Start and similar commands apply to one leaf: a parent's status is derived."""
    scenario = begun(running).when(leaves.StartPhase(phase="p"))
    scenario.then_refused(containing="follows from its parts")
