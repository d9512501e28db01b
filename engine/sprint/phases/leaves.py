"""The life of a leaf (a phase, step or sub-phase without children): rules and evolve.

What is skipped, retried or reopened may be a parent, too: that is all such leaves below it.
"""

from collections.abc import Callable
from typing import Any

from ...errors import RefusedError
from ...log.event import Event
from ..events import (
    PhaseBlocked,
    PhaseCompleted,
    PhaseFailed,
    PhaseReopened,
    PhaseRetried,
    PhaseSkipped,
    PhaseStarted,
    RetryScheduled,
    SprintBlocked,
    WorkDone,
)
from ..gates.checks import forget_gates
from ..gates.gate import is_due
from ..state.sprint import Plan, Sprint
from ..state.times import elapsed
from ..state.transitions import (
    PHASE_FROM,
    check_open,
    check_phase,
    check_running,
    find_leaf,
    find_node,
)
from ..state.tree import Node, gate_is_open, put
from ..state.words import (
    BLOCKED,
    COMPLETED,
    FAILED,
    FAILURE_CATEGORIES,
    IN_PROGRESS,
    MODELS,
    PENDING,
    SKIPPED,
    STOPPED,
)
from .breakpoints import breakpoint_after, breakpoint_after_skipping
from .budgets import renew, retries_used
from .done_work import done_work, forget_done, keep_done
from .retry import next_retry_at


def start_phase(
    sprint: Sprint, *, phase: str | None = None, model: str | None = None
) -> list[Event]:
    """Begin to execute a leaf."""
    check_word("model", model, MODELS)
    leaf = find_leaf(sprint, phase)
    event = PhaseStarted(leaf.address, model)
    if _is_again(sprint, leaf, event, IN_PROGRESS):
        return []
    _check(sprint, leaf, "start")
    return [event]


def complete_phase(
    sprint: Sprint, *, phase: str | None = None, summary: str | None = None
) -> list[Event]:
    """Finish a leaf successfully; a phase with `break: true` then pauses the sprint.

    In a sprint that was stopped while somebody worked on the leaf the work is kept as
    done, and the leaf ends when the sprint goes on. A step or a phase is finished by
    what is below it, and then takes a summary.
    """
    node = find_node(sprint, phase)
    if node.children and node.status == COMPLETED:
        return _sum_up(sprint, node, summary)
    leaf = find_leaf(sprint, phase)
    done = done_work(sprint.plan, leaf.address)
    if summary is None and done is not None:
        summary = done.summary
    event = PhaseCompleted(leaf.address, summary)
    if _is_again(sprint, leaf, event, COMPLETED):
        return []
    if sprint.plan.status in STOPPED and leaf.status == IN_PROGRESS:
        return end_work(sprint, phase=leaf.address, summary=summary)
    check_running(sprint, f"complete phase {leaf.address}")
    # A phase without any step is reached and completed: there is nothing to start.
    if not (leaf.is_empty and leaf.status == PENDING):
        check_phase(leaf, "complete")
    if gate_is_open(leaf.data):
        raise RefusedError(
            f"phase {leaf.address} has a gate that has not passed: cannot complete it",
            hint=f"`sprintlog gate run --phase {leaf.address}` first",
            phase=leaf.address,
            state=leaf.status,
            wish="complete",
        )
    return [event, *breakpoint_after(leaf, COMPLETED)]


def _sum_up(sprint: Sprint, node: Node, summary: str | None) -> list[Event]:
    """Say what came of a step or a phase that is completed."""
    known = node.data.get("summary")
    if summary in (None, known):
        return []
    check_open(sprint, f"sum up phase {node.address}")
    if known is not None:
        raise RefusedError(
            f"phase {node.address} is completed, with another summary",
            phase=node.address,
            state=node.status,
            wish="complete",
        )
    return [PhaseCompleted(node.address, summary)]


def end_work(
    sprint: Sprint, *, phase: str | None = None, summary: str | None = None
) -> list[Event]:
    """Say that the work on a leaf is done where something else must come before its end.

    That is its gate, or the end of a pause. `next_action` answers accordingly.
    """
    leaf = find_leaf(sprint, phase)
    event = WorkDone(leaf.address, summary)
    if done_work(sprint.plan, leaf.address) == event:
        return []
    check_phase(leaf, "complete")
    return [event]


def skip_phase(
    sprint: Sprint, *, phase: str | None = None, reason: str | None = None
) -> list[Event]:
    """Leave a leaf out on purpose, or all that is unfinished of a step or a phase."""

    def event(leaf: Node) -> Event:
        return PhaseSkipped(leaf.address, reason)

    node = find_node(sprint, phase)
    leaves = _leaves_for(sprint, node, "skip", event, SKIPPED)
    ends = breakpoint_after_skipping(node) if leaves else []
    return [*map(event, leaves), *ends]


def fail_phase(
    sprint: Sprint,
    *,
    error: str,
    at: str,
    category: str = "logic",
    phase: str | None = None,
) -> list[Event]:
    """Say that a leaf's execution failed at this time.

    The policy either schedules another attempt, or the sprint blocks (P34).
    """
    check_word("category", category, FAILURE_CATEGORIES)
    leaf = find_leaf(sprint, phase)
    event = PhaseFailed(leaf.address, error, category)
    if _is_again(sprint, leaf, event, FAILED):
        return []
    _check(sprint, leaf, "fail")
    tried = retries_used(sprint.plan, leaf)
    due = next_retry_at(sprint.plan.document, tried=tried, category=category, at=at)
    if due is not None:
        return [event, RetryScheduled(leaf.address, due)]
    return [event, SprintBlocked(f"phase {leaf.address} failed: {error}")]


def block_phase(sprint: Sprint, *, reason: str, phase: str | None = None) -> list[Event]:
    """Declare a leaf stuck; the sprint blocks with it."""
    leaf = find_leaf(sprint, phase)
    event = PhaseBlocked(leaf.address, reason)
    if _is_again(sprint, leaf, event, BLOCKED):
        return []
    _check(sprint, leaf, "block")
    return [event, SprintBlocked(f"phase {leaf.address} is blocked: {reason}")]


def retry_phase(
    sprint: Sprint, *, phase: str | None = None, reason: str | None = None
) -> list[Event]:
    """Put back what failed or is blocked: a leaf, or all such of a step or a phase."""

    def event(leaf: Node) -> Event:
        return PhaseRetried(leaf.address, reason)

    node = find_node(sprint, phase)
    return [*map(event, _leaves_for(sprint, node, "retry", event, PENDING))]


def reopen_phase(sprint: Sprint, *, phase: str, reason: str | None = None) -> list[Event]:
    """Put back what is finished, to be done again: a leaf, or all of a step or a phase."""

    def event(leaf: Node) -> Event:
        return PhaseReopened(leaf.address, reason)

    node = find_node(sprint, phase)
    return [*map(event, _leaves_for(sprint, node, "reopen", event, PENDING))]


def _leaves_for(
    sprint: Sprint, node: Node, wish: str, event: Callable[[Node], Event], becomes: str
) -> list[Node]:
    """Return the leaves from a node on that a wish is for; none when it came before.

    Raise `RefusedError` when it is for none.
    """
    leaves = list(node.leaves())
    fitting = [leaf for leaf in leaves if leaf.status in PHASE_FROM[wish]]
    again = (_is_again(sprint, leaf, event(leaf), becomes) for leaf in leaves)
    if any(again) and (node.leaf >= 0 or not fitting):
        return []
    check_running(sprint, f"{wish} phase {node.address}")
    if not fitting:
        if node.leaf >= 0:
            check_phase(node, wish)
        raise RefusedError(
            f"phase {node.address} is {node.status}: there is nothing below it to {wish}",
            hint=f"`sprintlog gate run --phase {node.address}`" if is_due(node) else None,
            phase=node.address,
            state=node.status,
            wish=wish,
        )
    return fitting


def check_word(name: str, word: str | None, allowed: tuple[str, ...]) -> None:
    """Raise `RefusedError` unless the word is absent or one of those allowed."""
    if word is not None and word not in allowed:
        raise RefusedError(
            f"{name} {word[:40]!r} is unknown; allowed: {', '.join(allowed)}",
            allowed=list(allowed),
        )


def _check(sprint: Sprint, leaf: Node, wish: str) -> None:
    check_running(sprint, f"{wish} phase {leaf.address}")
    check_phase(leaf, wish)


def _is_again(sprint: Sprint, leaf: Node, event: Event, status: str) -> bool:
    """Tell whether the same wish came with the same content: agents retry (P33)."""
    return leaf.status == status and sprint.plan.last.nodes.of(leaf.address) == event


def _drop(node: Node, *keys: str) -> None:
    for key in keys:
        node.data.pop(key, None)


def _end(node: Node, at: str) -> None:
    put(node.data, "completed-at", at)
    if (duration := elapsed(node.data.get("started-at"), at)) is not None:
        put(node.data, "elapsed", duration)


def _started(plan: Plan, node: Node, event: PhaseStarted, at: str) -> str:
    forget_done(plan, node.address)
    put(node.data, "started-at", at)
    if event.model is not None:
        put(node.data, "model", event.model)
    return IN_PROGRESS


def _completed(plan: Plan, node: Node, event: PhaseCompleted, at: str) -> str:
    _end(node, at)
    if event.summary is not None:
        put(node.data, "summary", event.summary)
    return COMPLETED


def _summed_up(node: Node, event: PhaseCompleted) -> None:
    if event.summary is not None and node.status == COMPLETED:
        put(node.data, "summary", event.summary)


def _work_done(plan: Plan, node: Node, event: WorkDone, at: str) -> str:
    keep_done(plan, event)
    return node.status


def _failed(plan: Plan, node: Node, event: PhaseFailed, at: str) -> str:
    _end(node, at)
    put(node.data, "error", event.error)
    return FAILED


def _scheduled(plan: Plan, node: Node, event: RetryScheduled, at: str) -> str:
    put(node.data, "next-retry-at", event.next_retry_at)
    return node.status


def _blocked(plan: Plan, node: Node, event: PhaseBlocked, at: str) -> str:
    put(node.data, "error", event.reason)
    return BLOCKED


def _skipped(plan: Plan, node: Node, event: PhaseSkipped, at: str) -> str:
    _drop(node, "next-retry-at", "human-needed")
    return SKIPPED


def _retried(plan: Plan, node: Node, event: PhaseRetried, at: str) -> str:
    # What the policy scheduled is a loop's retry; any other one is a person's.
    is_scheduled = "next-retry-at" in node.data
    _drop(node, "error", "started-at", "completed-at", "elapsed", "human-needed")
    _drop(node, "next-retry-at")
    count = node.data.get("retry-count")
    put(node.data, "retry-count", count + 1 if isinstance(count, int) else 1)
    for parent in node.above():
        counts = (child.data.get("retry-count") for child in parent.children)
        put(parent.data, "retry-count", sum(n for n in counts if type(n) is int))
    forget_gates(node)
    if not is_scheduled:
        renew(plan, node)
    return PENDING


def _reopened(plan: Plan, node: Node, event: PhaseReopened, at: str) -> str:
    _drop(node, "started-at", "completed-at", "elapsed", "summary")
    forget_gates(node)
    return PENDING


_CHANGES: dict[type[Event], Callable[[Plan, Node, Any, str], str]] = {
    PhaseStarted: _started,
    PhaseCompleted: _completed,
    WorkDone: _work_done,
    PhaseFailed: _failed,
    RetryScheduled: _scheduled,
    PhaseBlocked: _blocked,
    PhaseSkipped: _skipped,
    PhaseRetried: _retried,
    PhaseReopened: _reopened,
}


def _evolves(
    change: Callable[[Plan, Node, Any, str], str], *, is_wish: bool
) -> Callable[[Plan, Any, str], None]:
    """Return the evolve of a leaf's event: its fields first, then its status upwards."""

    def evolve(plan: Plan, event: Any, at: str) -> None:
        tree = plan.tree
        node = tree.nodes.get(event.phase)
        if node is not None and node.children and isinstance(event, PhaseCompleted):
            _summed_up(node, event)
        # An observed event may name a leaf that no plan of ours has.
        if node is None or node.leaf < 0:
            return
        tree.set_status(node, change(plan, node, event, at), at)
        if is_wish:
            plan.last.nodes[node.address] = event

    return evolve


EVOLVE: dict[type[Event], Callable[[Plan, Any, str], None]] = {
    event: _evolves(change, is_wish=event not in (RetryScheduled, WorkDone))
    for event, change in _CHANGES.items()
}
