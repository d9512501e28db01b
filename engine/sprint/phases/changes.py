"""The effects of sprint events and leaf events on the plan."""

from typing import Any

from ...log.event import Event, made_from
from .. import events as f
from ..state import document_fields, times, words
from ..state.plan_records import LimitWait
from ..state.sprint import Change, Evolve, Evolves, Plan, evolve_nothing
from ..state.tree import Data, Node, drop, put, set_elapsed
from ..state.words import BLOCKED, COMPLETED, FAILED, IN_PROGRESS, PENDING, SKIPPED
from .retry import end_waits, renew, renew_all


def _evolve_started(plan: Plan, event: f.SprintStarted, at: str) -> None:
    plan.set_status(words.IN_PROGRESS)
    put(plan.stats, "started-at", at)
    plan.stats.setdefault("completed-at", None)


def _evolve_completed(plan: Plan, event: f.SprintCompleted, at: str) -> None:
    plan.set_status(words.COMPLETED)
    plan.stats["completed-at"] = at
    if event.abandons_goal:
        plan.document["ralph-exit"] = {
            **{"detected-at": at, "iteration": plan.iteration or None},
            "final-summary": f"abandoned: {event.reason}",
        }


def _evolve_reopened(plan: Plan, event: f.SprintReopened, at: str) -> None:
    plan.set_status(words.IN_PROGRESS)
    plan.stats["completed-at"] = None
    if "ralph-exit" in plan.document:
        plan.document["ralph-exit"] = dict(document_fields.NOT_LEFT)
    plan.last.claim = plan.last.decided = None


def _evolve_resumed(plan: Plan, event: f.SprintResumed, at: str) -> None:
    if plan.status == words.IN_PROGRESS:
        end_waits(plan, at)
        return
    plan.set_status(words.IN_PROGRESS)
    if event.by is not None:
        renew_all(plan)
        # A person who resolves the problem need not wait.
        plan.waiting = None
    plan.document.pop("human-needed", None)


def _evolve_breakpoint(plan: Plan, event: f.BreakpointReached, at: str) -> None:
    if plan.status in (words.BLOCKED, words.NEEDS_HUMAN):
        # A gate's verdict does not resolve the problem, so the breakpoint is deferred.
        plan.last.breakpoint = event
        return
    plan.last.breakpoint = None
    plan.set_status(words.PAUSED_AT_BREAKPOINT)


def _evolve_human_needed(plan: Plan, event: f.HumanNeeded, at: str) -> None:
    plan.set_status(words.NEEDS_HUMAN)
    needed = {"reason": event.reason}
    if event.details is not None:
        needed["details"] = event.details
    if not event.phase:
        plan.document["human-needed"] = needed
    if (node := plan.tree.find(event.phase)) is None or node.leaf < 0:
        return
    put(node.data, "error", event.error or node.data.get("error") or event.reason)
    put(node.data, "human-needed", needed)
    node.data.pop("next-retry-at", None)
    plan.tree.set_status(node, words.BLOCKED, at)


def _becomes(status: str) -> Evolve:
    def evolve(plan: Plan, event: Any, at: str) -> None:
        plan.set_status(status)

    return evolve


def _evolves_sprint(change: Evolve) -> Evolve:
    """Return a handler that applies a sprint event and stores it as the last event."""

    def evolve(plan: Plan, event: Any, at: str) -> None:
        change(plan, event, at)
        # A deferred breakpoint changes no status, so the previous event remains the last.
        if not (isinstance(event, f.BreakpointReached) and plan.last.breakpoint):
            plan.last.sprint = event

    return evolve


_SPRINT_CHANGES: Evolves = {
    f.SprintStarted: _evolve_started,
    f.SprintCompleted: _evolve_completed,
    f.SprintReopened: _evolve_reopened,
    f.SprintResumed: _evolve_resumed,
    f.BreakpointReached: _evolve_breakpoint,
    f.HumanNeeded: _evolve_human_needed,
    f.SprintPaused: _becomes(words.PAUSED),
    f.SprintBlocked: _becomes(words.BLOCKED),
    f.SprintInterrupted: _becomes(words.INTERRUPTED),
}


def _end(data: Data, at: str) -> None:
    """Record when a leaf ended; `set_elapsed` later computes its duration."""
    data["completed-at"] = at
    if "elapsed" not in data:
        data["elapsed"] = data.get("started-at"), at
    elif (duration := times.elapsed(data.get("started-at"), at)) is not None:
        data["elapsed"] = duration


def _go_on(node: Node, plan: Plan, done_at: str | None = None) -> None:
    """End a leaf's wait, if there is one, because another event has superseded it.

    If the work is done before the limit expires, the fallback did it, so the limit remains.
    """
    node.data.pop("next-retry-at", None)
    if (waiting := plan.waiting) is None or waiting.phase != node.address:
        return
    if done_at is None or not waiting.holds(done_at):
        plan.waiting = None


def _started(node: Node, event: f.PhaseStarted, plan: Plan, at: str) -> str:
    if plan.last.work:
        plan.last.work.pop(node.address, None)
    if plan.waiting is not None:
        _go_on(node, plan)
    data = node.data
    data["started-at"] = at
    if (model := event.model) is not None:
        data["model"] = model
    return IN_PROGRESS


def _completed(node: Node, event: f.PhaseCompleted, plan: Plan, at: str) -> str:
    data = node.data
    if plan.waiting is not None or "next-retry-at" in data:
        _go_on(node, plan, at)
    _end(data, at)
    if (summary := event.summary) is not None:
        data["summary"] = summary
    if plan.last.failures:
        plan.last.failures.pop(node.address, None)
    return COMPLETED


def _work_done(node: Node, event: f.WorkDone, plan: Plan, at: str) -> str:
    _go_on(node, plan, at)
    plan.last.work[event.phase] = event
    return node.status


def _failed(node: Node, event: f.PhaseFailed, plan: Plan, at: str) -> str:
    if plan.waiting is not None or "next-retry-at" in node.data:
        _go_on(node, plan)
    _end(node.data, at)
    node.data["error"] = event.error
    plan.last.failures[node.address] = event
    return FAILED


def _scheduled(node: Node, event: f.RetryScheduled, plan: Plan, at: str) -> str:
    node.data["next-retry-at"] = event.next_retry_at
    return node.status


def _blocked(node: Node, event: f.PhaseBlocked, plan: Plan, at: str) -> str:
    _go_on(node, plan)
    node.data["error"] = event.reason
    return BLOCKED


def _skipped(node: Node, event: f.PhaseSkipped, plan: Plan, at: str) -> str:
    _go_on(node, plan)
    drop(node.data, "human-needed")
    if plan.last.failures:
        plan.last.failures.pop(node.address, None)
    return SKIPPED


def _retried(node: Node, event: f.PhaseRetried, plan: Plan, at: str) -> str:
    # A retry scheduled by the policy is the loop's; any other retry is a person's.
    is_scheduled = "next-retry-at" in node.data
    drop(node.data, "error", "started-at", "completed-at", "elapsed", "human-needed")
    drop(node.data, "next-retry-at")
    if plan.waiting is not None:
        _go_on(node, plan)
    count = node.data.get("retry-count")
    node.data["retry-count"] = count + 1 if isinstance(count, int) else 1
    for parent in node.above():
        counts = (child.data.get("retry-count") for child in parent.children)
        put(parent.data, "retry-count", sum(n for n in counts if type(n) is int))
    _forget_gates(node)
    if not is_scheduled:
        renew(plan, node)
    return PENDING


def _reopened(node: Node, event: f.PhaseReopened, plan: Plan, at: str) -> str:
    data = node.data
    # Unrolled, because loops reopen all of their phases and a `for` statement is slower.
    forget = data.pop
    forget("started-at", None)
    forget("completed-at", None)
    forget("elapsed", None)
    forget("summary", None)
    if node.level > 1 or "gate" in data:
        _forget_gates(node)
    return PENDING


def _forget_gates(node: Node) -> None:
    """Make the gates of a node and its ancestors due again."""
    if any("gate" in over.data for over in (node, *node.above())):
        # Imported here: most plans have no gate.
        from .gate import forget_gates

        forget_gates(node)


def _evolves_leaf(change: Change, *, is_command: bool) -> Evolve:
    """Return a handler that changes a leaf and then updates its ancestors."""

    def evolve(plan: Plan, event: Any, at: str) -> None:
        tree = plan.tree
        node = tree.find(event.phase)
        # An observed event may name an unknown leaf.
        if node is None:
            return
        if node.leaf < 0:
            _note_summary(node, event)
            return
        data = node.data
        last = next(reversed(data))
        status = change(node, event, plan, at)
        if last in ("steps", "phases"):
            data[last] = data.pop(last)
        set_elapsed(data)
        tree.set_status(node, status, at)
        if is_command:
            plan.last.nodes[node.address] = event
        if tree.is_alone(node):
            # The next event about this leaf can take the fast path.
            tree.alone[event.phase] = node

    return evolve


def _note_summary(parent: Node, event: Any) -> None:
    """Store the summary of a parent whose children are all completed."""
    is_summary = isinstance(event, f.PhaseCompleted) and event.summary is not None
    if is_summary and parent.children and parent.status == COMPLETED:
        put(parent.data, "summary", event.summary)


_LEAF_CHANGES: dict[type[Event], Change] = {
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
CHANGE = {
    event: change
    for event, change in _LEAF_CHANGES.items()
    if event not in (f.RetryScheduled, f.WorkDone)
}
"""The handlers for commands that change a leaf, which also store its last event."""
EVOLVE: Evolves = {
    f.ActivitySeen: evolve_nothing,
    **{event: _evolves_sprint(change) for event, change in _SPRINT_CHANGES.items()},
    **{
        event: _evolves_leaf(change, is_command=event in CHANGE)
        for event, change in _LEAF_CHANGES.items()
    },
}


def _evolves_scheduled(change: Evolve) -> Evolve:
    """Return a handler for scheduled retries that also stores waits for a limit."""

    def evolve(plan: Plan, event: Any, at: str) -> None:
        if event.waits:
            plan.waiting = made_from(LimitWait, event, since=at, until=event.next_retry_at)
        if event.is_fallback:
            # The fallback's failures do not count as failures of the loop's own agent.
            plan.turns.forgiven = plan.turns.failures
        change(plan, event, at)

    return evolve


EVOLVE[f.RetryScheduled] = _evolves_scheduled(EVOLVE[f.RetryScheduled])
