"""The retry policy: which failures are tried again, how often, and after what wait."""

from typing import Any, TypeGuard

import msgspec

from ..state.given import mapping_of
from ..state.times import later

WAIT_MS_MAX = 24 * 60 * 60 * 1000
"""No backoff waits longer than a day."""


class RetryPolicy(msgspec.Struct, frozen=True):
    """A plan's `retry` mapping, or what holds without one."""

    attempts_max: int = 3
    """How often a leaf may be tried again."""
    backoff_ms: tuple[int, ...] = (1_000, 5_000, 30_000)
    """The wait before each retry; the last one holds for all further ones."""
    retry_on: tuple[str, ...] = ("network", "rate-limit", "timeout")
    """The categories of failure that are worth another attempt."""

    def wait_ms(self, tried: int) -> int:
        """Return the wait before another attempt, after so many retries."""
        wait = self.backoff_ms[min(tried, len(self.backoff_ms) - 1)]
        return min(wait, WAIT_MS_MAX)


DEFAULT = RetryPolicy()


def policy_of(document: dict[str, Any]) -> RetryPolicy:
    """Return the plan's `maxAttempts`, `backoffMs` and `retryOn` over the default."""
    given = mapping_of(document, "retry")
    attempts, on = given.get("maxAttempts"), given.get("retryOn")
    backoff = given.get("backoffMs")
    waits = [
        w for w in (backoff if isinstance(backoff, list) else [backoff]) if _is_count(w)
    ]
    return RetryPolicy(
        attempts if _is_count(attempts) else DEFAULT.attempts_max,
        tuple(waits) or DEFAULT.backoff_ms,
        tuple(map(str, on)) if isinstance(on, list) else DEFAULT.retry_on,
    )


def next_retry_at(
    document: dict[str, Any], *, tried: int, category: str, at: str
) -> str | None:
    """Return when what failed may be tried again, after so many retries; None if never."""
    policy = policy_of(document)
    if category not in policy.retry_on or tried >= policy.attempts_max:
        return None
    return later(at, milliseconds=policy.wait_ms(tried))


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and value >= 0
