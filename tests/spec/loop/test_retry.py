"""Which failures are retried, how often and after what wait."""

from typing import Any

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.phases import leaves, lifecycle
from sprintlog.engine.sprint.phases.retry import next_retry_at, policy_of

from ..conftest import Data, Scenario, for_each, simple

AT = "2026-01-15T09:00:00Z"


def fail(scenario: Scenario, category: str = "network", at: str = AT) -> Scenario:
    """Start the current leaf and fail its execution."""
    scenario.do(leaves.StartPhase())
    return scenario.at(at).when(leaves.FailPhase(error="x", category=category), at=at)


@pytest.mark.parametrize("category", ["network", "rate-limit", "timeout"])
def test_schedules_what_may_pass(running: Any, category: str) -> None:
    """Failures of the environment are retried after a wait."""
    scenario = fail(running(simple("a")), category)
    scenario.then(
        f.PhaseFailed("a", "x", category), f.RetryScheduled("a", "2026-01-15T09:00:01Z")
    )
    assert scenario.status == "in-progress"
    assert scenario.node("a")["next-retry-at"] == "2026-01-15T09:00:01Z"
    assert scenario.node("a")["status"] == "failed"


@pytest.mark.parametrize("category", ["validation", "logic"])
def test_blocks_what_will_not_pass(running: Any, category: str) -> None:
    """Other failures block the sprint; the leaf is failed, not blocked."""
    scenario = fail(running(simple("a")), category)
    scenario.then(f.PhaseFailed("a", "x", category), f.SprintBlocked("phase a failed: x"))
    assert scenario.status == "blocked"
    assert scenario.node("a")["status"] == "failed"
    assert "next-retry-at" not in scenario.node("a")


def test_waits_longer_each_time(running: Any) -> None:
    """The waits are 1, 5 and 30 seconds; the fourth failure blocks (bounded attempts)."""
    scenario: Scenario = running(simple("a"))
    for due in ("09:00:01Z", "09:00:05Z", "09:00:30Z"):
        fail(scenario).go()
        assert scenario.node("a")["next-retry-at"] == f"2026-01-15T{due}"
        scenario.do(leaves.RetryPhase())
    fail(scenario).go()
    assert scenario.status == "blocked"
    assert scenario.node("a")["retry-count"] == 3


def test_follows_the_plans_own_policy(running: Any) -> None:
    """maxAttempts, backoffMs and retryOn of the plan override the default."""
    policy = {"maxAttempts": 1, "backoffMs": 250, "retryOn": ["logic"]}
    scenario: Scenario = running({"retry": policy, **simple("a")})
    fail(scenario, "logic").go()
    assert scenario.node("a")["next-retry-at"] == "2026-01-15T09:00:00.250Z"
    scenario.do(leaves.RetryPhase())
    assert fail(scenario, "logic").go().status == "blocked"


def test_tries_other_categories_not_at_all(running: Any) -> None:
    """A plan that retries logic errors only does not retry the network."""
    scenario: Scenario = running({"retry": {"retryOn": ["logic"]}, **simple("a")})
    assert fail(scenario, "network").go().status == "blocked"


@pytest.mark.parametrize(
    "given",
    [
        {},
        None,
        "often",
        {"maxAttempts": -1, "backoffMs": [], "retryOn": "logic"},
        {"maxAttempts": True, "backoffMs": ["1", -5, None, 1.5]},
    ],
)
def test_falls_back_to_the_default(given: Any) -> None:
    """Missing or invalid values of a policy have their defaults."""
    policy = policy_of({"retry": given})
    assert policy.attempts_max == 3
    assert policy.backoff_ms == (1000, 5000, 30000)
    assert policy.retry_on == ("network", "rate-limit", "timeout")


@pytest.mark.parametrize(
    ("policy", "count", "due"),
    [
        ({"backoffMs": 10**15}, 0, "2026-01-16T09:00:00Z"),
        ({"backoffMs": [1000, 2000], "maxAttempts": 9}, 8, "2026-01-15T09:00:02Z"),
        ({"maxAttempts": 0}, 0, None),
        ({"maxAttempts": 2}, 2, None),
        ({}, 10**9, None),
    ],
)
def test_bounds_waits_and_attempts(policy: Data, count: int, due: str | None) -> None:
    """No wait exceeds a day, and the last wait applies to all further attempts."""
    document = {"retry": policy}
    assert next_retry_at(document, tried=count, category="network", at=AT) == due


def test_retrying_removes_what_failed(running: Any) -> None:
    """A retry increments the count and removes error, next-retry-at, and both times."""
    scenario = fail(running(simple("a"))).go()
    assert {"error", "completed-at", "elapsed", "next-retry-at"} < set(scenario.node("a"))
    scenario.do(leaves.RetryPhase())
    assert scenario.node("a") == {
        "id": "a",
        "status": "pending",
        "prompt": "Do a",
        "retry-count": 1,
    }


def test_retries_whichever_leaf_failed(running: Any) -> None:
    """The leaf has the due retry; the leaf and its parents have the count."""
    scenario: Scenario = running({"phases": [for_each("p", x=("i",))]})
    fail(scenario).go().do(leaves.RetryPhase(phase="p/x/i"))
    assert scenario.node("p/x/i")["retry-count"] == 1
    assert scenario.node("p/x")["retry-count"] == scenario.node("p")["retry-count"] == 1
    assert scenario.node("p")["status"] == "pending"
    fail(scenario).go()
    assert "next-retry-at" in scenario.node("p/x/i")
    assert "next-retry-at" not in scenario.node("p/x")


def test_needs_the_sprint_resumed_after_blocking(running: Any) -> None:
    """A leaf that failed permanently is retried after the sprint was resumed."""
    scenario = fail(running(simple("a")), "logic").go()
    scenario.when(leaves.RetryPhase()).then_refused(state="blocked", allowed=["resume"])
    scenario.do(lifecycle.ResumeSprint(by="Ada", why="repaired"))
    assert scenario.do(leaves.RetryPhase()).node("a")["status"] == "pending"


def test_skipping_ends_the_wait(running: Any) -> None:
    """A skipped leaf is no longer due for a retry."""
    scenario = fail(running(simple("a"))).go().do(leaves.SkipPhase())
    assert "next-retry-at" not in scenario.node("a")


def test_refuses_a_failure_without_sensible_time(running: Any) -> None:
    """The wait is counted from the time of the failure, which must be a time."""
    scenario: Scenario = running(simple("a")).do(leaves.StartPhase())
    scenario.when(leaves.FailPhase(error="x", category="network"), at="now")
    scenario.then_refused(containing="'now' is not a time")
