"""Waits for limits: no failure, the same iteration, until the stated time, else longer."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.agent.runs import EndRepair, EndRun, EndTurn, StartRun
from sprintlog.engine.sprint.answers.verdict import Verdict
from sprintlog.engine.sprint.events import AgentRan, Limit, RetryScheduled
from sprintlog.engine.sprint.iterations.goal import FailIteration
from sprintlog.engine.sprint.phases import leaves, lifecycle
from sprintlog.engine.sprint.phases.retry import RetryPolicy, policy_of
from sprintlog.engine.sprint.phases.waits import ScheduleRetry, due
from sprintlog.engine.sprint.state.times import later, parse

from ..conftest import Data, Scenario, simple
from ..gated import LEAF, at_its_gate, check
from ..goals import begun, goal, idle, iterate
from .test_next import answer, do

NOW, SOON = "2026-01-15T10:00:00Z", "2026-01-15T10:30:00Z"
EXACT = Limit("usage-limit", SOON, "resets 10:30")
UNKNOWN = Limit("overload")


def limited(limit: Limit = EXACT, category: str = "rate-limit") -> Verdict:
    """Return the result of an agent's run that met a limit."""
    return Verdict("failed", error="limit reached", category=category, limit=limit)


def meet(
    scenario: Scenario, limit: Limit = EXACT, *, at: str = NOW, phase: str = "a"
) -> Scenario:
    """Record that the agent met a limit at a leaf."""
    scenario.at(at).do(StartRun(phase=phase))
    ran = AgentRan(phase, "failed", limit=limit)
    return scenario.do(EndRun(ran=ran, verdict=limited(limit)), at=at)


def scheduled(scenario: Scenario) -> RetryScheduled:
    """Return the wait that was decided last."""
    assert scenario.decided is not None
    found = [event for event in scenario.decided if isinstance(event, RetryScheduled)]
    assert len(found) == 1, scenario.decided
    return found[0]


def test_a_leaf_waits_without_a_failure(running: Any) -> None:
    """The leaf continues in its iteration when the limit ends; nothing is counted."""
    scenario = meet(running(simple("a")))
    wait = RetryScheduled("a", SOON, "limit reached", "usage-limit", "resets 10:30", 1)
    ran = AgentRan("a", "failed", limit=EXACT)
    assert scenario.decided == [ran, wait]
    node = scenario.node("a")
    assert (node["status"], node["next-retry-at"]) == ("in-progress", SOON)
    assert "retry-count" not in node
    told = answer(scenario, NOW)
    assert {key: told[key] for key in ("do", "phase", "until", "why", "waits_for")} == {
        "do": "wait",
        "phase": "a",
        "until": SOON,
        "why": "limit reached",
        "waits_for": "usage-limit",
    }
    told = answer(scenario, SOON)
    assert (told["do"], told["attempt"], told["resumed"]) == ("work", 1, True)
    scenario.when(StartRun(phase="a")).then_nothing()
    done = EndRun(AgentRan("a", "completed"), Verdict("completed", summary="x"))
    scenario.at(SOON).do(done, at=SOON)
    assert scenario.document["stats"]["current-iteration"] == 1
    assert "next-retry-at" not in scenario.node("a")


def test_a_goal_waits_without_a_failure() -> None:
    """The iteration keeps its number, and only failures count as attempts."""
    scenario = iterate(begun().at(NOW), limited())
    wait = scheduled(scenario)
    assert (wait.phase, wait.iteration, wait.next_retry_at) == ("", 1, SOON)
    told = answer(scenario, NOW)
    assert (told["do"], told["iteration"], told["until"]) == ("wait", 1, SOON)
    told = answer(scenario, SOON)
    assert (told["do"], told["iteration"], told["attempt"]) == ("iterate", 1, 1)
    scenario.at(SOON)
    assert iterate(scenario, Verdict("failed", error="x", category="network")).decided
    assert answer(scenario, SOON)["do"] == "wait"
    assert answer(scenario, "2026-01-15T10:30:01Z")["attempt"] == 2


def test_a_reflection_that_meets_a_limit_reflects_again() -> None:
    """The iteration continues after the wait with the same prompt."""
    scenario = idle(begun(goal(idle_threshold=2)), 2)
    before = answer(scenario, NOW)
    assert before["reflection"]
    iterate(scenario.at(NOW), limited())
    after = answer(scenario, SOON)
    assert (after["prompt"], after["reflection"]) == (before["prompt"], True)


@pytest.mark.parametrize("each", [True, False])
def test_a_repair_that_meets_a_limit_waits(running: Any, each: bool) -> None:
    """A gate does not check unrepaired work, so it waits, too."""
    if each:
        scenario: Scenario = at_its_gate(running)
    else:
        scenario = running({"phases": [LEAF]}, f.PhaseStarted("p"))
    check(scenario, code=1).go()
    assert answer(scenario, NOW)["prompt"]
    ran = AgentRan("p", "failed", is_repair=True, limit=EXACT)
    scenario.at(NOW).do(EndRepair(ran=ran, verdict=limited()), at=NOW)
    told = answer(scenario, NOW)
    assert (told["do"], told["phase"], told["until"]) == ("wait", "p", SOON)
    told = answer(scenario, SOON)
    assert (told["do"], told["attempt"]) == ("gate", 2)
    check(scenario.at(SOON), code=1).go()
    scenario.do(EndRepair(ran=ran, verdict=limited(UNKNOWN)), at=SOON)
    assert scheduled(scenario).waits == 1


def test_waits_of_which_nobody_says_the_end_grow(running: Any) -> None:
    """They last 1, 2, 4, 8, 16, 32 minutes and then an hour each."""
    scenario: Scenario = running(simple("a"))
    at, minutes = NOW, []
    for _ in range(9):
        event = scheduled(meet(scenario, UNKNOWN, at=at))
        minutes.append((parse(event.next_retry_at) - parse(at)).total_seconds() / 60)
        assert event.said_by is None
        at = event.next_retry_at
    assert minutes == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert scenario.sprint.is_running


def test_a_run_in_between_begins_the_row_anew(running: Any) -> None:
    """Consecutive waits grow; work by the agent in between resets them."""
    scenario: Scenario = running(simple("a", "b"))
    assert scheduled(meet(meet(scenario, UNKNOWN), UNKNOWN)).waits == 2
    scenario.do(leaves.CompletePhase(phase="a"))
    assert scheduled(meet(scenario, UNKNOWN, phase="b")).waits == 1
    scenario.do(leaves.FailPhase("x", "network", "b"), at=NOW).do(leaves.RetryPhase())
    assert scheduled(meet(scenario, UNKNOWN, phase="b")).waits == 1
    goals = iterate(begun().at(NOW), limited(UNKNOWN))
    goals.do(FailIteration("x", "network"), at=NOW)
    assert scheduled(iterate(goals, limited(UNKNOWN))).waits == 1


def test_who_says_a_second_each_time_is_not_asked_for_ever(running: Any) -> None:
    """The stated time counts at first; in a row the growing wait is the minimum."""
    scenario: Scenario = running(simple("a"))
    at, waited = NOW, []
    for _ in range(4):
        short = Limit("usage-limit", later(at, milliseconds=1000), "retry-after: 1")
        event = scheduled(meet(scenario, short, at=at))
        waited.append((parse(event.next_retry_at) - parse(at)).total_seconds())
        at = event.next_retry_at
    assert waited == [1, 60, 120, 240]


def test_waits_do_not_use_up_retries_and_have_an_end_of_their_own(running: Any) -> None:
    """After the number of waits in the plan, the next limit is a failure."""
    retry = {"maxAttempts": 0, "maxLimitWaits": 3, "limitWaitMs": [10]}
    scenario: Scenario = running({"retry": retry, **simple("a")})
    for number in range(1, 4):
        assert scheduled(meet(scenario, UNKNOWN)).waits == number
    meet(scenario, UNKNOWN)
    assert scenario.decided == [
        AgentRan("a", "failed"),
        f.PhaseFailed("a", "limit reached", "rate-limit"),
        f.SprintBlocked("phase a failed: limit reached"),
    ]


def test_a_plan_that_retries_no_limits_waits_for_none(running: Any) -> None:
    """`retryOn` without the category makes a limit a failure."""
    scenario: Scenario = running({"retry": {"retryOn": ["timeout"]}, **simple("a")})
    assert meet(scenario).status == "blocked"
    goals = begun({**goal(), "retry": {"retryOn": [], "maxFailures": 0}}).at(NOW)
    assert iterate(goals, limited()).status == "blocked"


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([f.SprintPaused()], "stop"),
        ([f.SprintPaused(), f.SprintResumed()], "wait"),
        ([f.SprintPaused(), f.SprintResumed("ana", "more was paid for")], "work"),
        ([f.SprintInterrupted("x")], "resume"),
        ([f.SprintInterrupted("x"), f.SprintResumed()], "wait"),
        ([f.PhaseSkipped("a")], "work"),
        ([f.ActivitySeen()], "wait"),
        ([f.RolledBack(3)], "work"),
    ],
)
def test_what_happens_during_a_wait(
    running: Any, events: list[Event], expected: str
) -> None:
    """A pause, a skip and a rollback end a wait immediately; other events do not."""
    scenario = meet(running(simple("a", "b")))
    assert do(scenario.given(*events), NOW) == expected


def test_a_leaf_that_waits_is_not_retried(running: Any) -> None:
    """Nothing failed that could be retried; a person resumes, or rolls back."""
    scenario = meet(running(simple("a")))
    scenario.when(leaves.RetryPhase()).then_refused(state="in-progress")
    assert "sprint resume" in str(answer(scenario, NOW)["hint"])


def test_an_injection_during_a_wait_leaves_it(running: Any) -> None:
    """Work injected after the waiting leaf is done after it."""
    scenario = meet(running(simple("a")))
    position = f.InjectionPosition("end-of-workflow")
    nodes = [{"id": "z", "status": "pending", "prompt": "x"}]
    scenario.given(f.PhaseInjected(nodes, position))
    assert do(scenario, NOW) == "wait"


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-01-15T09:59:30Z", "wait"),
        ("2026-01-15T08:00:00Z", "work"),
        ("1970-01-01T00:00:00Z", "work"),
        ("2026-01-15T10:29:59Z", "wait"),
        (SOON, "work"),
    ],
)
def test_a_clock_that_is_set_back(running: Any, now: str, expected: str) -> None:
    """Before its start the length of a wait is unknown: the agent states it again."""
    assert do(meet(running(simple("a"))), now) == expected


def test_what_was_said_of_the_past_is_no_time(running: Any) -> None:
    """A limit whose stated end is in the past is treated like one without an end."""
    past = Limit("usage-limit", "2020-01-01T00:00:00Z", "resetsAt: 1577836800")
    event = scheduled(meet(running(simple("a")), past))
    assert (event.next_retry_at, event.said_by) == ("2026-01-15T10:01:00Z", None)


def test_a_loop_of_ones_own_says_it_by_a_command(running: Any) -> None:
    """A wait can be asked for: for the leaf, and for the iteration towards the goal."""
    scenario: Scenario = running(simple("a"), f.PhaseStarted("a")).at(NOW)
    wait = ScheduleRetry(next_retry_at="2026-01-15T11:30+01:00", why="limit")
    scenario.when(wait).then(RetryScheduled("a", SOON, "limit", "usage-limit", None, 1))
    scenario.when(wait).then_nothing()
    goals = begun().at(NOW)
    goals.when(wait).then_refused(containing="no iteration is in progress")
    goals.given(f.IterationStarted(1)).when(wait)
    assert scheduled(goals.go()).iteration == 1


def test_refuses_a_wait_for_nothing(running: Any) -> None:
    """A wait requires work by an agent, a known kind, and a time in the future."""
    scenario: Scenario = running(simple("a")).at(NOW)
    scenario.when(ScheduleRetry(SOON)).then_refused(containing="no agent is working on it")
    scenario.given(f.PhaseStarted("a"))
    scenario.when(ScheduleRetry(NOW)).then_refused(containing="not in the future")
    scenario.when(ScheduleRetry(SOON, waits_for="godot")).then_refused(containing="godot")
    scenario.when(ScheduleRetry("at five")).then_refused(containing="is not a time")
    scenario.given(f.SprintPaused()).when(ScheduleRetry(SOON)).then_refused(state="paused")


@pytest.mark.parametrize(
    ("given", "waits", "most"),
    [
        ({}, RetryPolicy().limit_wait_ms, 48),
        ({"limitWaitMs": 5, "maxLimitWaits": 2}, (5,), 2),
        ({"limitWaitMs": ["1", -5], "maxLimitWaits": -1}, RetryPolicy().limit_wait_ms, 48),
    ],
)
def test_waits_are_settable(given: Data, waits: tuple[int, ...], most: int) -> None:
    """The plan sets the number and length; invalid values are ignored."""
    policy = policy_of({"retry": given})
    assert (policy.limit_wait_ms, policy.limit_waits_max) == (waits, most)


@given(
    waited=st.integers(0, 100),
    said=st.none() | st.integers(-(10**9), 10**9),
    policy=st.sampled_from([RetryPolicy(), RetryPolicy(limit_wait_ms=(1, 10**12))]),
)
def test_nobody_waits_until_the_past(
    waited: int, said: int | None, policy: RetryPolicy
) -> None:
    """A wait ends after its start, and the next consecutive one is not shorter."""
    until = None if said is None else later(NOW, milliseconds=said)
    ends = [parse(due(policy, until, waited=n, at=NOW)) for n in (waited, waited + 1)]
    assert parse(NOW) < ends[0]
    if said is None or said <= 0 or waited:
        assert ends[0] <= ends[1]


def test_a_turn_that_nobody_runs_any_more_waits_for_nothing() -> None:
    """An iteration that someone else ended is unchanged, limit or not."""
    scenario = begun().given(f.IterationStarted(1), f.IterationEnded(1))
    ran = AgentRan("", "failed", iteration=1, limit=EXACT)
    scenario.when(EndTurn(ran=ran, verdict=limited()), at=NOW).then(ran)


def test_a_sprint_that_was_stopped_meanwhile_schedules_nothing(running: Any) -> None:
    """After a pause, no wait is scheduled: only the run is recorded."""
    scenario: Scenario = running(simple("a"), f.PhaseStarted("a"), f.SprintPaused())
    ran = AgentRan("a", "failed", limit=EXACT)
    scenario.when(EndRun(ran=ran, verdict=limited()), at=NOW).then(ran)
    assert next_action(scenario.sprint, now=NOW).do == "stop"


def test_a_wait_comes_to_its_end_with_its_leaf(running: Any) -> None:
    """Neither the time nor the wait outlasts the leaf's work."""
    ends: list[Event] = [
        f.PhaseCompleted("a"),
        f.PhaseFailed("a", "x"),
        f.PhaseBlocked("a", "x"),
        f.PhaseSkipped("a"),
        f.WorkDone("a"),
        f.HumanNeeded("a", "x"),
    ]
    for end in ends:
        scenario = meet(running(simple("a", "b"))).given(end)
        assert "next-retry-at" not in scenario.node("a"), end
        assert do(scenario, NOW) != "wait", end


def test_resuming_ends_a_wait_at_once(running: Any) -> None:
    """`sprint resume` of a sprint in progress is accepted during a wait, and ends it."""
    scenario = meet(running(simple("a")))
    assert answer(scenario, NOW)["do"] == "wait"
    scenario.at(NOW).do(lifecycle.ResumeSprint())
    assert scenario.decided == [f.SprintResumed()]
    assert answer(scenario, NOW)["do"] == "work"
    scenario.do(lifecycle.ResumeSprint())
    assert scenario.decided == []


def test_resuming_ends_the_wait_of_an_iteration() -> None:
    """A wait before another attempt, of a goal or of a leaf, ends in the same way."""
    failed = Verdict("failed", error="no route", category="network")
    scenario = iterate(begun().at(NOW), failed)
    assert answer(scenario, NOW)["do"] == "wait"
    scenario.do(lifecycle.ResumeSprint())
    assert answer(scenario, NOW)["do"] == "iterate"
