"""A leaf that cannot continue without a person (SPR-130)."""

from typing import Any

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.phases import leaves, lifecycle
from sprintlog.engine.sprint.state.sprint import pack, unpack

from ..conftest import Scenario, for_each, simple


def test_blocks_the_leaf_and_says_why(running: Any) -> None:
    """The sprint needs a human; the leaf is blocked with error and human-needed."""
    scenario: Scenario = running(simple("a", "b")).do(leaves.StartPhase())
    scenario.do(lifecycle.NeedHuman(reason="Conflict", details="foo", error="Broke"))
    assert scenario.status == "needs-human"
    assert scenario.node("a")["status"] == "blocked"
    assert scenario.node("a")["error"] == "Broke"
    assert scenario.node("a")["human-needed"] == {"reason": "Conflict", "details": "foo"}


def test_takes_the_reason_for_want_of_error(running: Any) -> None:
    """A blocked leaf has an error; by default it is the reason."""
    scenario: Scenario = running(simple("a")).do(lifecycle.NeedHuman(reason="Conflict"))
    assert scenario.node("a")["error"] == "Conflict"
    assert scenario.node("a")["human-needed"] == {"reason": "Conflict"}


def test_keeps_the_error_that_led_here(running: Any) -> None:
    """The leaf keeps its error in addition to the reason for needing a person."""
    scenario: Scenario = running(simple("a")).do(leaves.StartPhase())
    scenario.do(leaves.FailPhase(error="Build failed"), at="2026-01-15T09:00:00Z")
    assert scenario.status == "blocked"
    scenario.when(lifecycle.NeedHuman(reason="Conflict"))
    scenario.then(f.HumanNeeded("a", "Conflict"))
    assert (scenario.status, scenario.node("a")["status"]) == ("needs-human", "blocked")
    assert scenario.node("a")["error"] == "Build failed"


def test_ends_the_wait_for_a_retry(running: Any) -> None:
    """While a person is needed no retry is due."""
    scenario: Scenario = running(simple("a")).do(leaves.StartPhase())
    at = "2026-01-15T09:00:00Z"
    scenario.do(leaves.FailPhase(error="x", category="network"), at=at)
    scenario.do(lifecycle.NeedHuman(reason="Again and again"))
    assert "next-retry-at" not in scenario.node("a")


def test_means_any_open_leaf_named(running: Any) -> None:
    """A leaf may be named; its parents follow it."""
    scenario: Scenario = running({"phases": [for_each("p", x=("i", "j"))]})
    scenario.when(lifecycle.NeedHuman(reason="r", phase="p/x/j"))
    scenario.then(f.HumanNeeded("p/x/j", "r"))
    assert scenario.node("p")["status"] == "blocked"
    assert scenario.pointer == (0, 0, 0)


def test_needs_nobody_for_finished_leaves(running: Any) -> None:
    """A completed or skipped leaf does not wait for a person."""
    scenario: Scenario = running(simple("a", "b"), f.PhaseSkipped("a"))
    scenario.when(lifecycle.NeedHuman(reason="r", phase="a")).then_refused(
        state="skipped", phase="a"
    )


def test_accepts_the_same_need_again(running: Any) -> None:
    """The same request for a person records nothing; a different one is refused."""
    scenario: Scenario = running(simple("a")).do(lifecycle.NeedHuman(reason="r"))
    scenario.when(lifecycle.NeedHuman(reason="r")).then_nothing()
    scenario.when(lifecycle.NeedHuman(reason="q")).then_refused(state="needs-human")


def test_goes_on_when_somebody_resolved_it(running: Any) -> None:
    """After resume and retry the leaf is as before, with one more attempt."""
    scenario: Scenario = running(simple("a")).do(lifecycle.NeedHuman(reason="r"))
    scenario.do(lifecycle.ResumeSprint(by="Ada", why="pinned foo"))
    assert scenario.do(leaves.RetryPhase()).node("a") == {
        "id": "a",
        "status": "pending",
        "prompt": "Do a",
        "retry-count": 1,
    }


def test_next_says_where_and_why(running: Any) -> None:
    """The next action has phase, reason and details."""
    scenario: Scenario = running({"phases": [for_each("p", x=("i", "j"))]})
    scenario.do(lifecycle.NeedHuman(reason="r", details="d", phase="p/x/j"))
    action = next_action(scenario.sprint, now="2026-01-15T09:00:00Z")
    assert (action.do, action.phase) == ("stop", "p/x/j")
    assert (action.why, action.details) == ("r", "d")


def test_names_the_leaf_said_last(running: Any) -> None:
    """Of several leaves that wait for a person, the latest is named, even after saving."""
    scenario: Scenario = running(simple("a", "b", "c"))
    for phase in ("c", "b"):
        scenario.do(lifecycle.NeedHuman(reason=f"about {phase}", phase=phase))
        action = next_action(unpack(pack(scenario.sprint)), now="2026-01-15T09:00:00Z")
        assert (action.phase, action.why) == (phase, f"about {phase}")
        scenario.do(lifecycle.ResumeSprint(by="Ada", why="known"))


def test_keeps_who_why_and_what(running: Any) -> None:
    """Resuming records who resolved it, why, and how."""
    scenario: Scenario = running(simple("a")).do(lifecycle.NeedHuman(reason="r"))
    resolved: dict[str, Any] = {
        "by": "Ada",
        "why": "pinned foo",
        "done": "changed the lock file",
    }
    scenario.when(lifecycle.ResumeSprint(**resolved))
    scenario.then(f.SprintResumed("Ada", "pinned foo", "changed the lock file"))


def test_skipped_leaf_needs_nobody(running: Any) -> None:
    """A skipped leaf no longer waits for a person; its error remains."""
    scenario: Scenario = running(simple("a", "b")).do(lifecycle.NeedHuman(reason="r"))
    scenario.do(lifecycle.ResumeSprint(by="Ada", why="known")).do(leaves.SkipPhase())
    assert scenario.node("a")["error"] == "r"
    assert "human-needed" not in scenario.node("a")
