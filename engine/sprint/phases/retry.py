"""The retry policy: what is tried again, how often, and after what wait."""

from typing import Any, TypeGuard

import msgspec

from ..state.given import mapping_of
from ..state.times import later

WAIT_MS_MAX = 24 * 60 * 60 * 1000
"""No backoff waits longer than a day."""


_MINUTES = (1, 2, 4, 8, 16, 32, 60)


class RetryPolicy(msgspec.Struct, frozen=True):
    """A plan's `retry` mapping, or what holds without one."""

    attempts_max: int = 3
    """How often a leaf may be tried again."""
    backoff_ms: tuple[int, ...] = (1_000, 5_000, 30_000)
    """The wait before each retry; the last one holds for all further ones."""
    retry_on: tuple[str, ...] = ("network", "rate-limit", "timeout")
    """The categories of failure that are worth another attempt."""
    limit_wait_ms: tuple[int, ...] = tuple(60_000 * minutes for minutes in _MINUTES)
    """How long a limit is waited for of which nobody said when it ends, time after time;
    the last one holds for all further ones."""
    limit_waits_max: int = 48
    """How often in a row: at the hours of the default that is nearly two days."""

    def limit_wait(self, waited: int) -> int:
        """Return how long a limit is waited for, after so many waits in a row."""
        wait = self.limit_wait_ms[min(waited, len(self.limit_wait_ms) - 1)]
        return min(wait, WAIT_MS_MAX)

    def wait_ms(self, tried: int) -> int:
        """Return the wait before another attempt, after so many retries."""
        wait = self.backoff_ms[min(tried, len(self.backoff_ms) - 1)]
        return min(wait, WAIT_MS_MAX)


DEFAULT = RetryPolicy()


def policy_of(document: dict[str, Any]) -> RetryPolicy:
    """Return the plan's `retry` over the default."""
    given = mapping_of(document, "retry")
    attempts, on = given.get("maxAttempts"), given.get("retryOn")
    waits = given.get("maxLimitWaits")
    return RetryPolicy(
        attempts if _is_count(attempts) else DEFAULT.attempts_max,
        _counts(given.get("backoffMs")) or DEFAULT.backoff_ms,
        tuple(map(str, on)) if isinstance(on, list) else DEFAULT.retry_on,
        _counts(given.get("limitWaitMs")) or DEFAULT.limit_wait_ms,
        waits if _is_count(waits) else DEFAULT.limit_waits_max,
    )


def next_retry_at(
    document: dict[str, Any], *, tried: int, category: str, at: str
) -> str | None:
    """Return when what failed may be tried again, after so many retries; None if never."""
    policy = policy_of(document)
    if category not in policy.retry_on or tried >= policy.attempts_max:
        return None
    return later(at, milliseconds=policy.wait_ms(tried))


def _counts(value: object) -> tuple[int, ...]:
    return tuple(filter(_is_count, value if isinstance(value, list) else [value]))


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and value >= 0
