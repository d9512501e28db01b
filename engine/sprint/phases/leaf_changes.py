"""What each event of a leaf changes in the plan."""

from collections.abc import Callable
from typing import Any

from ...log.event import takers_in
from .. import events as f
from ..gates.gate import forget_gates
from ..state import words
from ..state.sprint import Evolve, Evolves, Plan
from ..state.times import elapsed
from ..state.tree import Data, Node, drop, put, put_all
from .budgets import renew


def _ended(data: Data, at: str) -> Data:
    """Return the fields that say when a leaf came to an end, and what it took."""
    duration = elapsed(data.get("started-at"), at)
    if duration is None:
        return {"completed-at": at}
    return {"completed-at": at, "elapsed": duration}


def _started(node: Node, event: f.PhaseStarted, plan: Plan, at: str) -> str:
    if plan.last.work:
        plan.last.work.pop(node.address, None)
    if event.model is None:
        put(node.data, "started-at", at)
    else:
        put_all(node.data, {"started-at": at, "model": event.model})
    return words.IN_PROGRESS


def _completed(node: Node, event: f.PhaseCompleted, plan: Plan, at: str) -> str:
    fields = _ended(node.data, at)
    if event.summary is not None:
        fields["summary"] = event.summary
    put_all(node.data, fields)
    return words.COMPLETED


def _work_done(node: Node, event: f.WorkDone, plan: Plan, at: str) -> str:
    plan.last.work[event.phase] = event
    return node.status


def _failed(node: Node, event: f.PhaseFailed, plan: Plan, at: str) -> str:
    put_all(node.data, {**_ended(node.data, at), "error": event.error})
    return words.FAILED


def _scheduled(node: Node, event: f.RetryScheduled, plan: Plan, at: str) -> str:
    put(node.data, "next-retry-at", event.next_retry_at)
    return node.status


def _blocked(node: Node, event: f.PhaseBlocked, plan: Plan, at: str) -> str:
    put(node.data, "error", event.reason)
    return words.BLOCKED


def _skipped(node: Node, event: f.PhaseSkipped, plan: Plan, at: str) -> str:
    drop(node.data, "next-retry-at", "human-needed")
    return words.SKIPPED


def _retried(node: Node, event: f.PhaseRetried, plan: Plan, at: str) -> str:
    # What the policy scheduled is a loop's retry; any other one is a person's.
    is_scheduled = "next-retry-at" in node.data
    drop(node.data, "error", "started-at", "completed-at", "elapsed", "human-needed")
    drop(node.data, "next-retry-at")
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
    drop(node.data, "started-at", "completed-at", "elapsed", "summary")
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
        if node.leaf < 0:
            _note_summary(node, event)
            return
        tree.set_status(node, change(node, event, plan, at), at)
        if is_command:
            plan.last.nodes[node.address] = event

    return evolve


def _note_summary(parent: Node, event: Any) -> None:
    """Keep what is said of a parent that its children have completed."""
    is_summary = isinstance(event, f.PhaseCompleted) and event.summary is not None
    if is_summary and parent.children and parent.status == words.COMPLETED:
        put(parent.data, "summary", event.summary)


EVOLVE: Evolves = {
    event: _evolves(change, is_command=event not in (f.RetryScheduled, f.WorkDone))
    for event, change in takers_in(globals(), Node).items()
}
