"""The operator queue of a sprint that works towards a goal."""

import pytest

from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.events import (
    GoalClaimed,
    GoalCompleted,
    IterationEnded,
    RequestDecided,
    RequestReturned,
)
from sprintlog.engine.sprint.iterations.goal import CompleteGoal
from sprintlog.engine.sprint.iterations.loop import StartIteration
from sprintlog.engine.sprint.phases.leaves import SkipPhase
from sprintlog.engine.sprint.queue import decisions as d
from sprintlog.engine.sprint.queue.requests import SubmittedRequest
from sprintlog.engine.sprint.queue.rules import DEFAULT_RULES, decide_by_rules

from ..goals import begun, goal
from ..queued import AT, BUG, deferred, derived, found, queue, status

ENDS = ("end-of-phase", "end-of-sprint")


def test_agent_is_told_what_waits() -> None:
    """The prompt contains only the requests that a person has yet to decide."""
    scenario = queue(begun(), BUG, SubmittedRequest("Slow", "low", "docs", request="q"))
    scenario.do(d.BacklogRequest(request="q", reasoning="So"))
    told = str(next_action(scenario.sprint, now=AT).prompt)
    assert "# A person has yet to decide about\n\n- Crash\n\n" in told
    assert "Slow" not in told


def test_approval_comes_before_the_goal() -> None:
    """An approved request is a phase, and phases are worked on first."""
    scenario = queue(begun(), BUG).do(d.ApproveRequest(request="r", reasoning="So"))
    action = next_action(scenario.sprint, now=AT)
    assert (action.do, action.phase) == ("work", "fix-r-0")
    assert status(scenario) == "approved"


def test_both_ends_are_that_of_the_goal() -> None:
    """Without an open phase, deferrals to either end wait for the goal."""
    for until in ENDS:
        scenario = deferred(begun(), until, found(priority="medium"))
        assert next_action(scenario.sprint, now=AT).do == "iterate"
        events = scenario.when(derived(CompleteGoal())).decided or []
        assert isinstance(events[0], GoalCompleted)
        assert events[1:] == [RequestReturned("r", until)]
        assert status(scenario.go()) == "pending"


@pytest.mark.parametrize("until", [None, *ENDS])
def test_the_goal_is_not_reached_over_urgent_requests(until: str | None) -> None:
    """After the claim, deferred requests return, and a person decides before the end."""
    scenario = queue(begun(), BUG).do(StartIteration())
    if until is not None:
        scenario.do(d.DeferRequest(request="r", reasoning="So", until=until))
    assert next_action(scenario.sprint, now=AT).do == "iterate"
    events = scenario.when(derived(CompleteGoal())).decided or []
    reason = "without a decision: r"
    assert events[:2] == [IterationEnded(1), GoalClaimed(1, None, "person", reason, ("r",))]
    assert events[2:] == ([RequestReturned("r", until)] if until else [])
    scenario.go()
    action = next_action(scenario.sprint, now=AT)
    assert (action.do, action.because) == ("stop", "person")
    scenario.do(d.RejectRequest(request="r", reasoning="So"))
    assert next_action(scenario.sprint, now=AT).do == "iterate"
    assert scenario.do(CompleteGoal()).status == "completed"


def test_what_is_for_the_next_sprint_holds_up_no_goal() -> None:
    """Requests for the next sprint, urgent or not, do not delay the goal."""
    scenario = queue(begun(), BUG).do(StartIteration())
    scenario.do(d.DeferRequest("r", "So", "next-sprint"))
    assert scenario.do(CompleteGoal()).status == "completed"


def test_a_claim_that_came_too_early_asks_nobody() -> None:
    """Before `min-iterations` the loop continues despite undecided requests."""
    scenario = queue(begun(goal(min_iterations=3)), BUG).do(StartIteration())
    scenario.do(CompleteGoal())
    assert next_action(scenario.sprint, now=AT).do == "iterate"


def test_what_came_back_does_not_hold_the_goal() -> None:
    """A loop with a goal continues although a request must be decided."""
    scenario = queue(begun(), BUG).do(d.ApproveRequest(request="r", reasoning="So"))
    deferred(scenario, "end-of-phase", "q").do(derived(SkipPhase()))
    assert status(scenario, "q") == "pending"
    assert next_action(scenario.sprint, now=AT).do == "iterate"


def test_rules_put_off_towards_the_goal() -> None:
    """The rest is deferred to the end of the phase, here without a phase."""
    scenario = queue(begun(), SubmittedRequest("x", "medium", "test", request="r"))
    (ruling,) = decide_by_rules(scenario.sprint, rules=DEFAULT_RULES, at=AT)
    (event,) = ruling.events
    assert isinstance(event, RequestDecided)
    assert (event.deferred_until, event.phase) == ("end-of-phase", None)
