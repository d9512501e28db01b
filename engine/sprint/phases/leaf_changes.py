"""What each event of a leaf changes in the plan."""

from collections.abc import Callable
from typing import Any

from ...log.event import Event
from .. import events as f
from ..gates.checks import forget_gates
from ..state import words
from ..state.sprint import Evolve, Evolves, Plan
from ..state.times import elapsed
from ..state.tree import Node, put
from .budgets import renew


def _drop(node: Node, *keys: str) -> None:
    for key in keys:
        node.data.pop(key, None)


def _end(node: Node, at: str) -> None:
    put(node.data, "completed-at", at)
    if (duration := elapsed(node.data.get("started-at"), at)) is not None:
        put(node.data, "elapsed", duration)


def _started(plan: Plan, node: Node, event: f.PhaseStarted, at: str) -> str:
    plan.last.work.pop(node.address, None)
    put(node.data, "started-at", at)
    if event.model is not None:
        put(node.data, "model", event.model)
    return words.IN_PROGRESS


def _completed(plan: Plan, node: Node, event: f.PhaseCompleted, at: str) -> str:
    _end(node, at)
    if event.summary is not None:
        put(node.data, "summary", event.summary)
    return words.COMPLETED


def _summed_up(node: Node, event: f.PhaseCompleted) -> None:
    if event.summary is not None and node.status == words.COMPLETED:
        put(node.data, "summary", event.summary)


def _work_done(plan: Plan, node: Node, event: f.WorkDone, at: str) -> str:
    plan.last.work[event.phase] = event
    return node.status


def _failed(plan: Plan, node: Node, event: f.PhaseFailed, at: str) -> str:
    _end(node, at)
    put(node.data, "error", event.error)
    return words.FAILED


def _scheduled(plan: Plan, node: Node, event: f.RetryScheduled, at: str) -> str:
    put(node.data, "next-retry-at", event.next_retry_at)
    return node.status


def _blocked(plan: Plan, node: Node, event: f.PhaseBlocked, at: str) -> str:
    put(node.data, "error", event.reason)
    return words.BLOCKED


def _skipped(plan: Plan, node: Node, event: f.PhaseSkipped, at: str) -> str:
    _drop(node, "next-retry-at", "human-needed")
    return words.SKIPPED


def _retried(plan: Plan, node: Node, event: f.PhaseRetried, at: str) -> str:
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
    return words.PENDING


def _reopened(plan: Plan, node: Node, event: f.PhaseReopened, at: str) -> str:
    _drop(node, "started-at", "completed-at", "elapsed", "summary")
    forget_gates(node)
    return words.PENDING


_CHANGES: dict[type[Event], Callable[[Plan, Node, Any, str], str]] = {
    f.PhaseStarted: _started,
    f.PhaseCompleted: _completed,
    f.WorkDone: _work_done,
    f.PhaseFailed: _failed,
    f.RetryScheduled: _scheduled,
    f.PhaseBlocked: _blocked,
    f.PhaseSkipped: _skipped,
    f.PhaseRetried: _retried,
    f.PhaseReopened: _reopened,
}


def _evolves(change: Callable[[Plan, Node, Any, str], str], *, is_wish: bool) -> Evolve:
    """Return the evolve of a leaf's event: its fields first, then its status upwards."""

    def evolve(plan: Plan, event: Any, at: str) -> None:
        tree = plan.tree
        node = tree.nodes.get(event.phase)
        if node is not None and node.children and isinstance(event, f.PhaseCompleted):
            _summed_up(node, event)
        # An observed event may name a leaf that no plan of ours has.
        if node is None or node.leaf < 0:
            return
        tree.set_status(node, change(plan, node, event, at), at)
        if is_wish:
            plan.last.nodes[node.address] = event

    return evolve


EVOLVE: Evolves = {
    event: _evolves(change, is_wish=event not in (f.RetryScheduled, f.WorkDone))
    for event, change in _CHANGES.items()
}
