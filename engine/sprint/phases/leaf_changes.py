"""What each event of a leaf changes in the plan."""

from collections.abc import Callable
from typing import Any

from ...log.event import takers_in
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


def _started(node: Node, event: f.PhaseStarted, plan: Plan, at: str) -> str:
    plan.last.work.pop(node.address, None)
    put(node.data, "started-at", at)
    if event.model is not None:
        put(node.data, "model", event.model)
    return words.IN_PROGRESS


def _completed(node: Node, event: f.PhaseCompleted, plan: Plan, at: str) -> str:
    _end(node, at)
    if event.summary is not None:
        put(node.data, "summary", event.summary)
    return words.COMPLETED


def _work_done(node: Node, event: f.WorkDone, plan: Plan, at: str) -> str:
    plan.last.work[event.phase] = event
    return node.status


def _failed(node: Node, event: f.PhaseFailed, plan: Plan, at: str) -> str:
    _end(node, at)
    put(node.data, "error", event.error)
    return words.FAILED


def _scheduled(node: Node, event: f.RetryScheduled, plan: Plan, at: str) -> str:
    put(node.data, "next-retry-at", event.next_retry_at)
    return node.status


def _blocked(node: Node, event: f.PhaseBlocked, plan: Plan, at: str) -> str:
    put(node.data, "error", event.reason)
    return words.BLOCKED


def _skipped(node: Node, event: f.PhaseSkipped, plan: Plan, at: str) -> str:
    _drop(node, "next-retry-at", "human-needed")
    return words.SKIPPED


def _retried(node: Node, event: f.PhaseRetried, plan: Plan, at: str) -> str:
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


def _reopened(node: Node, event: f.PhaseReopened, plan: Plan, at: str) -> str:
    _drop(node, "started-at", "completed-at", "elapsed", "summary")
    forget_gates(node)
    return words.PENDING


def _evolves(change: Callable[[Node, Any, Plan, str], str], *, is_command: bool) -> Evolve:
    """Return the evolve of a leaf's event: its fields first, then its status upwards."""

    def evolve(plan: Plan, event: Any, at: str) -> None:
        tree = plan.tree
        node = tree.find(event.phase)
        # An observed event may name a leaf that no plan of ours has.
        if node is None:
            return
        is_summary = isinstance(event, f.PhaseCompleted) and event.summary is not None
        if is_summary and node.children and node.status == words.COMPLETED:
            put(node.data, "summary", event.summary)
        if node.leaf < 0:
            return
        tree.set_status(node, change(node, event, plan, at), at)
        if is_command:
            plan.last.nodes[node.address] = event

    return evolve


EVOLVE: Evolves = {
    event: _evolves(change, is_command=event not in (f.RetryScheduled, f.WorkDone))
    for event, change in takers_in(globals(), Node).items()
}
