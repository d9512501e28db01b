"""Derived data of steps and for-each phases: error, retries, summary."""

from typing import Any

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.phases import leaves, lifecycle

from ..conftest import Scenario, for_each
from ..gated import at_its_gate, check, start, tracking
from .test_pointer_and_figures import finish

ABOVE = ("p", "p/x")


def begun(running: Any) -> Scenario:
    """Return a phase whose first step has two leaves and whose second has one."""
    return running({"phases": [for_each("p", x=("i", "j"), y=("k",))]})  # type: ignore[no-any-return]


def fail(scenario: Scenario, error: str) -> Scenario:
    """Fail the current leaf so that it is retried."""
    scenario.do(leaves.StartPhase())
    return scenario.do(leaves.FailPhase(error, "network"))


def test_say_the_first_error(running: Any) -> None:
    """A parent's error is that of its first failed or blocked child, if any."""
    scenario = fail(begun(running), "429")
    assert [scenario.node(a)["error"] for a in ABOVE] == ["429", "429"]
    scenario.given(f.PhaseBlocked("p/y/k", "no key"))
    assert [scenario.node(a)["error"] for a in ("p", "p/x", "p/y")] == [
        "429",
        "429",
        "no key",
    ]
    scenario.do(leaves.RetryPhase())
    assert scenario.node("p")["error"] == "no key"
    assert "error" not in scenario.node("p/x")
    scenario.do(leaves.SkipPhase(phase="p/y"))
    assert "error" not in scenario.node("p")


def test_say_what_a_person_is_needed_for(running: Any) -> None:
    """A changed error changes the parent's, too."""
    scenario = fail(begun(running), "429")
    scenario.do(lifecycle.NeedHuman(reason="which key?", error="401"))
    assert scenario.node("p")["error"] == scenario.node("p/x/i")["error"]


def test_say_why_a_gate_blocked(running: Any) -> None:
    """A phase blocked by its gate shows this, until the gate runs again."""
    scenario = check(at_its_gate(running, {"max-retries": 0}), 1).go()
    assert scenario.node("p")["error"] == tracking(scenario)["error"]
    scenario.do(lifecycle.ResumeSprint(by="ana", why="repaired"))
    start(scenario).go()
    assert "error" not in scenario.node("p")


def test_count_the_retries(running: Any) -> None:
    """A parent's retry-count is the sum of its children's."""
    scenario = begun(running)
    for leaf in ("p/x/i", "p/x/i", "p/x/j"):
        if leaf == "p/x/j":
            finish(scenario, "p/x/i")
        fail(scenario, "429").do(leaves.RetryPhase())
    counts = {a: scenario.node(a).get("retry-count") for a in (*ABOVE, "p/x/j", "p/y")}
    assert counts == {"p": 3, "p/x": 3, "p/x/j": 1, "p/y": None}


def test_take_a_summary(running: Any) -> None:
    """A parent is finished by its children, and then accepts a summary."""
    scenario = begun(running)
    scenario.when(leaves.CompletePhase(phase="p", summary="x"))
    scenario.then_refused(containing="follows from its parts")
    finish(scenario, "p/x/i", "p/x/j")
    scenario.when(leaves.CompletePhase(phase="p/x", summary="Done"))
    scenario.then(f.PhaseCompleted("p/x", "Done"))
    assert scenario.node("p/x")["summary"] == "Done"
    scenario.when(leaves.CompletePhase(phase="p/x", summary="Done")).then_nothing()
    scenario.when(leaves.CompletePhase(phase="p/x")).then_nothing()
    scenario.when(leaves.CompletePhase(phase="p/x", summary="Else"))
    scenario.then_refused(state="completed", command="complete")
    assert "summary" not in scenario.node("p")


def test_lose_the_summary_with_the_end(running: Any) -> None:
    """A reopened phase has no summary, and accepts a new one."""
    scenario = finish(begun(running), "p/x/i", "p/x/j")
    scenario.do(leaves.CompletePhase(phase="p/x", summary="Done"))
    scenario.do(leaves.ReopenPhase(phase="p/x/j"))
    assert "summary" not in scenario.node("p/x")
    finish(scenario, "p/x/j").do(leaves.CompletePhase(phase="p/x", summary="Anew"))
    assert scenario.node("p/x")["summary"] == "Anew"
