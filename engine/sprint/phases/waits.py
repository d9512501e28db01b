"""Waits for limits: the command that records a wait, and the computation of its end.

A wait is not a failure: the current iteration and attempt continue. A wait ends at the time
that the agent reports; if that time is unknown, consecutive waits become longer. From the
second consecutive wait on, this increasing wait is the minimum, so that an agent that
always reports one second is not called endlessly.
"""

from msgspec.structs import replace

from ...command import Command, Events
from ...errors import RefusedError
from ...log.event import Event
from ..events import AgentRan, RetryScheduled, loop
from ..state import plan_records, transitions, tree, words
from ..state.sprint import Plan, Sprint
from ..state.times import later, normalise, parse
from .leaves import check_word
from .retry import RetryPolicy, policy_of

LIMITS = ("usage-limit", "overload", "network")
"""The kinds of limits."""


class ScheduleRetry(Command, frozen=True):
    """Record that a limit blocks the agent, and when the agent may work again.

    The agent may be working on a leaf, on the repair of a gate, or on an iteration for the
    goal. Without `phase`, the current work waits.
    """

    next_retry_at: str
    why: str | None = None
    waits_for: str | None = None
    """The kind of limit; defaults to `usage-limit`."""
    said_by: str | None = None
    phase: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        waits_for = self.waits_for or LIMITS[0]
        check_word("waits_for", waits_for, LIMITS)
        until = normalise(self.next_retry_at)
        phase, iteration = _subject(sprint, self.phase)
        waiting = sprint.plan.waiting
        if (
            waiting is not None
            and waiting.is_of(phase, iteration)
            and waiting.until == until
        ):
            return []
        transitions.check_running(sprint, "wait for a limit")
        _check_waits(sprint, phase, iteration)
        if parse(until) <= parse(at):
            raise RefusedError(
                f"next_retry_at: {until} is not in the future", field="until"
            )
        row = _in_row(sprint.plan, phase, iteration) + 1
        event = RetryScheduled(
            phase, until, self.why, waits_for, self.said_by, row, iteration
        )
        return [event]


def wait_for(
    sprint: Sprint,
    limit: loop.Limit,
    why: str | None,
    *,
    at: str,
    phase: str | None = None,
    is_fallback: bool = False,
) -> list[Event]:
    """Return the wait for a limit; empty if the maximum number of waits was reached.

    If the fallback reaches a limit as well, the wait ends when either agent may work again.
    """
    address, iteration = _subject(sprint, phase)
    waited, policy = _in_row(sprint.plan, address, iteration), policy_of(sprint.document)
    if waited >= policy.limit_waits_max:
        return []
    until = due(policy, limit.until, waited=waited, at=at)
    said = limit.said_by if until == limit.until else None
    what = limit.waits_for
    own = limit_of_own(sprint.plan) if is_fallback else None
    if own is not None and parse(own.until) < parse(until):
        until, said = own.until, own.said_by
    event = RetryScheduled(address, until, why, what, said, waited + 1, iteration)
    return [replace(event, is_fallback=is_fallback)]


def limit_of_own(plan: Plan) -> plan_records.LimitWait | None:
    """Return the last wait for a limit, unless the limit also blocks the fallback."""
    waiting = plan.waiting
    return None if waiting is None or waiting.is_fallback else waiting


def wait_after(sprint: Sprint, ran: AgentRan, ended: str) -> RetryScheduled:
    """Return the wait for the limit that ended a run of a custom loop.

    Each run of a custom loop is an iteration, so waits in consecutive iterations count as
    consecutive.
    """
    limit, before = ran.limit, sprint.plan.waiting
    assert limit is not None
    is_next = before is not None and (before.iteration or 0) + 1 == ran.iteration
    waited = before.waits if before is not None and is_next else 0
    until = due(policy_of(sprint.document), limit.until, waited=waited, at=ended)
    said, what = limit.said_by if until == limit.until else None, limit.waits_for
    return RetryScheduled(
        ran.phase, until, ran.error, what, said, waited + 1, ran.iteration
    )


def due(policy: RetryPolicy, until: str | None, *, waited: int, at: str) -> str:
    """Return when an agent may work again, after `waited` consecutive waits."""
    if until is None or parse(until) <= parse(at):
        return later(at, milliseconds=policy.limit_wait(waited))
    if not waited:
        return until
    return max(until, later(at, milliseconds=policy.limit_wait(waited - 1)), key=parse)


def wait_in_force(
    plan: Plan, *, phase: str = "", iteration: int | None = None, now: str
) -> plan_records.LimitWait | None:
    """Return the wait that blocks a leaf, a repair or an iteration, or None."""
    waiting = plan.waiting
    if waiting is None or not waiting.is_of(phase, iteration) or not waiting.holds(now):
        return None
    return waiting


def _subject(sprint: Sprint, phase: str | None) -> tuple[str, int | None]:
    """Return the address and, for a goal, the iteration to which a wait would apply."""
    plan = sprint.plan
    if not phase and plan.is_at_goal:
        return "", plan.turns.number
    return transitions.find_node(sprint, phase).address, None


def _in_row(plan: Plan, phase: str, iteration: int | None) -> int:
    waiting = plan.waiting
    return waiting.waits if waiting is not None and waiting.is_of(phase, iteration) else 0


def _check_waits(sprint: Sprint, phase: str, iteration: int | None) -> None:
    """Raise `RefusedError` unless an agent is working on this phase or iteration."""
    if iteration is not None:
        if not iteration:
            raise RefusedError(
                "cannot wait for a limit: no iteration is in progress",
                hint="use `sprintlog iteration start` to start one",
            )
        return
    node = transitions.find_node(sprint, phase)
    is_worked_on = node.leaf >= 0 and node.status == words.IN_PROGRESS
    if not is_worked_on and tree.gate_status(node.data) not in (
        words.RETRYING,
        words.FAILED,
    ):
        raise RefusedError(
            f"phase {phase} is {node.status}: no agent is working on it",
            hint=f"use `sprintlog phase start {phase}` to start it",
            phase=phase,
            state=node.status,
        )


CAUSED: Events = {RetryScheduled: ScheduleRetry}
