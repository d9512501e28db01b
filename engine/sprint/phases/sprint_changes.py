"""What each event of the sprint's own life changes in the plan."""

from typing import Any

from .. import events as f
from ..state import words
from ..state.goal_settings import NOT_LEFT
from ..state.sprint import Evolve, Evolves, Plan, evolve_nothing
from ..state.tree import put
from .retry import end_waits, renew_all


def _evolve_started(plan: Plan, event: f.SprintStarted, at: str) -> None:
    plan.set_status(words.IN_PROGRESS)
    put(plan.stats, "started-at", at)
    plan.stats.setdefault("completed-at", None)


def _evolve_completed(plan: Plan, event: f.SprintCompleted, at: str) -> None:
    plan.set_status(words.COMPLETED)
    plan.stats["completed-at"] = at
    if event.abandons_goal:
        left = {"detected-at": at, "iteration": plan.iteration or None}
        plan.document["ralph-exit"] = {
            **left,
            "final-summary": f"abandoned: {event.reason}",
        }


def _evolve_reopened(plan: Plan, event: f.SprintReopened, at: str) -> None:
    plan.set_status(words.IN_PROGRESS)
    plan.stats["completed-at"] = None
    if "ralph-exit" in plan.document:
        plan.document["ralph-exit"] = dict(NOT_LEFT)


def _evolve_resumed(plan: Plan, event: f.SprintResumed, at: str) -> None:
    if plan.status == words.IN_PROGRESS:
        end_waits(plan, at)
        return
    plan.set_status(words.IN_PROGRESS)
    if event.by is not None:
        renew_all(plan)
        # Who resolves a matter need not wait for it.
        plan.waiting = None
    plan.document.pop("human-needed", None)


def _evolve_breakpoint(plan: Plan, event: f.BreakpointReached, at: str) -> None:
    if plan.status in (words.BLOCKED, words.NEEDS_HUMAN):
        # The verdict of a gate came in: that resolves nothing, so the pause waits.
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
    node = plan.tree.find(event.phase)
    if node is None or node.leaf < 0:
        return
    put(node.data, "error", event.error or node.data.get("error") or event.reason)
    put(node.data, "human-needed", needed)
    node.data.pop("next-retry-at", None)
    plan.tree.set_status(node, words.BLOCKED, at)


def _becomes(status: str) -> Evolve:
    def evolve(plan: Plan, event: Any, at: str) -> None:
        plan.set_status(status)

    return evolve


def _evolves(change: Evolve) -> Evolve:
    """Return the evolve of a sprint's event, which also keeps what was said."""

    def evolve(plan: Plan, event: Any, at: str) -> None:
        change(plan, event, at)
        # What waits changes no status, so the word on that stays the last one.
        if not (isinstance(event, f.BreakpointReached) and plan.last.breakpoint):
            plan.last.sprint = event

    return evolve


_CHANGES: Evolves = {
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


EVOLVE: Evolves = {
    f.ActivitySeen: evolve_nothing,
    **{event: _evolves(change) for event, change in _CHANGES.items()},
}
