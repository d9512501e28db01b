"""The retry policy: which failures are retried, how often, and after how long.

The counters in a document only grow. The number of allowed retries is reset when a person
intervenes, because a person who resolves a problem wants the work to be retried.
"""

from typing import Any, TypeGuard

import msgspec

from ..state.document_fields import count_of, mapping_of
from ..state.plan_records import LimitWait
from ..state.sprint import Plan, Sprint
from ..state.times import later
from ..state.tree import Node, gate_is_open

WAIT_MS_MAX = 24 * 60 * 60 * 1000
"""The maximum wait: one day."""

_MINUTES = (1, 2, 4, 8, 16, 32, 60)


class RetryPolicy(msgspec.Struct, frozen=True):
    """A plan's retry policy, with defaults for missing values."""

    attempts_max: int = 3
    """The maximum number of retries of a leaf."""
    backoff_ms: tuple[int, ...] = (1_000, 5_000, 30_000)
    """The wait before each retry; the last value applies to all further retries."""
    retry_on: tuple[str, ...] = ("network", "rate-limit", "timeout")
    """The failure categories that are retried."""
    limit_wait_ms: tuple[int, ...] = tuple(60_000 * minutes for minutes in _MINUTES)
    """The successive waits for a limit whose end is unknown; the last value is repeated."""
    limit_waits_max: int = 48
    """The maximum number of consecutive waits; the default amounts to nearly two days."""

    failures_max: int = 3
    """The maximum number of consecutive failures of other kinds in a loop for a goal."""
    failure_wait_ms: tuple[int, ...] = (10_000, 60_000, 300_000)
    """The successive pauses after these failures; the last value is repeated."""

    def limit_wait(self, waited: int) -> int:
        """Return how many milliseconds to wait for a limit after `waited` earlier waits."""
        return _nth(self.limit_wait_ms, waited)

    def wait_ms(self, tried: int) -> int:
        """Return how many milliseconds to wait before a retry after `tried` retries."""
        return _nth(self.backoff_ms, tried)


DEFAULT = RetryPolicy()


def retries_used(plan: Plan, leaf: Node) -> int:
    """Return how often a leaf was retried since a person last intervened."""
    return max(count_of(leaf.data, "retry-count") - plan.retried.get(leaf.address, 0), 0)


def renew(plan: Plan, node: Node) -> None:
    """Reset a leaf's retries and the check counts of its gate and the gates above it."""
    if count := count_of(node.data, "retry-count"):
        plan.retried[node.address] = count
    for one in (node, *node.above()):
        _renew_gate(plan, one)


def renew_all(plan: Plan) -> None:
    """Reset all retries and checks in the plan after a person has resolved its problem."""
    for node in plan.tree.root.walk():
        if node.leaf >= 0 and (count := count_of(node.data, "retry-count")):
            plan.retried[node.address] = count
        _renew_gate(plan, node)
    plan.turns.forgiven = plan.turns.failures


def is_waiting(plan: Plan, now: str) -> bool:
    """Return whether the sprint is waiting for a limit or for another attempt."""
    waiting, leaf = plan.waiting, plan.tree.open_leaf()
    if waiting is not None and waiting.holds(now):
        return True
    due = plan.turns.due if leaf is None else leaf.data.get("next-retry-at")
    return isinstance(due, str) and LimitWait(now, due).holds(now)


def end_waits(plan: Plan, at: str) -> None:
    """End every wait, so that the work is due at the given time."""
    plan.turns.due = None
    if plan.waiting is not None:
        # The wait is kept because it counts as one of the consecutive waits.
        plan.waiting.until = at
    if (leaf := plan.tree.open_leaf()) is not None and "next-retry-at" in leaf.data:
        leaf.data["next-retry-at"] = at


def _renew_gate(plan: Plan, node: Node) -> None:
    tracking = node.data.get("gate-tracking")
    if gate_is_open(node.data) and isinstance(tracking, dict):
        plan.renewed[node.address] = True


def _nth(waits: tuple[int, ...], before: int) -> int:
    """Return the wait after `before` earlier waits; the last value is repeated."""
    return min(waits[min(before, len(waits) - 1)], WAIT_MS_MAX)


def policy_of(document: dict[str, Any]) -> RetryPolicy:
    """Return the plan's retry policy, with defaults filled in."""
    given = mapping_of(document, "retry")
    attempts, on = given.get("maxAttempts"), given.get("retryOn")
    waits, failures = given.get("maxLimitWaits"), given.get("maxFailures")
    return RetryPolicy(
        attempts if _is_count(attempts) else DEFAULT.attempts_max,
        _counts(given.get("backoffMs")) or DEFAULT.backoff_ms,
        tuple(map(str, on)) if isinstance(on, list) else DEFAULT.retry_on,
        _counts(given.get("limitWaitMs")) or DEFAULT.limit_wait_ms,
        waits if _is_count(waits) else DEFAULT.limit_waits_max,
        failures if _is_count(failures) else DEFAULT.failures_max,
        _counts(given.get("failureWaitMs")) or DEFAULT.failure_wait_ms,
    )


def next_retry_at(
    document: dict[str, Any], *, tried: int, category: str, at: str
) -> str | None:
    """Return the time of the next retry after `tried` retries, or None."""
    policy = policy_of(document)
    if category not in policy.retry_on or tried >= policy.attempts_max:
        return None
    return later(at, milliseconds=policy.wait_ms(tried))


def failures_survived(sprint: Sprint, category: str) -> int:
    """Return how many consecutive failures the loop for a goal allows.

    A larger failure budget of the sprint or the run overrides the policy's number.
    """
    policy, loops = policy_of(sprint.plan.document), sprint.knowledge.loops
    most = policy.attempts_max if category in policy.retry_on else policy.failures_max
    of_run = loops.open.budgets.failures if loops.open is not None else None
    return max(most, loops.budgets.failures or 0, of_run or 0)


def next_turn_at(sprint: Sprint, category: str, at: str) -> str | None:
    """Return when the failed iteration for a goal will be retried, or None."""
    policy, turns = policy_of(sprint.plan.document), sprint.plan.turns
    tried = turns.failures - turns.forgiven
    if tried >= failures_survived(sprint, category):
        return None
    waits = policy.backoff_ms if category in policy.retry_on else policy.failure_wait_ms
    return later(at, milliseconds=_nth(waits, tried))


def _counts(value: object) -> tuple[int, ...]:
    return tuple(filter(_is_count, value if isinstance(value, list) else [value]))


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and value >= 0
