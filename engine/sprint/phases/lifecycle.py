"""The sprint's own life: start, pause, stop, resume, complete, reopen; rules and evolve."""

from collections.abc import Callable
from typing import Any

from ...errors import RefusedError
from ...log.event import Event
from ..events import (
    ActivitySeen,
    BreakpointReached,
    HumanNeeded,
    PhaseRetried,
    SprintBlocked,
    SprintCompleted,
    SprintInterrupted,
    SprintPaused,
    SprintReopened,
    SprintResumed,
    SprintStarted,
)
from ..goal.settings import NOT_LEFT
from ..iterations.loop import end_iteration
from ..queue.requests import listed, undecided_at_end, urgent
from ..state.sprint import Plan, Sprint
from ..state.times import parse
from ..state.transitions import check_exists, check_phase, check_sprint, find_leaf
from ..state.tree import Data, Node, gate_status, put
from ..state.words import (
    BLOCKED,
    COMPLETED,
    FAILED,
    FINISHED,
    IN_PROGRESS,
    INTERRUPTED,
    NEEDS_HUMAN,
    NOT_STARTED,
    PAUSED,
    PAUSED_AT_BREAKPOINT,
)
from .budgets import renew_all
from .endings import has_ended

STALE_AFTER_SECONDS = 15 * 60


def start_sprint(sprint: Sprint) -> list[Event]:
    """Begin to execute."""
    return _wish(sprint, "start", SprintStarted(), IN_PROGRESS)


def pause_sprint(sprint: Sprint, *, reason: str | None = None) -> list[Event]:
    """Pause at a person's wish."""
    return _wish(sprint, "pause", SprintPaused(reason), PAUSED)


def block_sprint(sprint: Sprint, *, reason: str) -> list[Event]:
    """Declare that the sprint cannot go on."""
    return _wish(sprint, "block", SprintBlocked(reason), BLOCKED)


def interrupt_sprint(sprint: Sprint, *, reason: str | None = None) -> list[Event]:
    """Say that the loop was stopped from outside."""
    return _wish(sprint, "interrupt", SprintInterrupted(reason), INTERRUPTED)


def need_human(
    sprint: Sprint,
    *,
    reason: str,
    details: str | None = None,
    error: str | None = None,
    phase: str | None = None,
) -> list[Event]:
    """Wait for a person at a leaf, the pointer's when none is named (R140, P38).

    In Ralph mode, where no leaf is open, it is the goal that a person is needed for.
    """
    is_goal = not phase and sprint.plan.is_at_goal
    leaf = None if is_goal else find_leaf(sprint, phase)
    event = HumanNeeded(leaf.address if leaf else "", reason, details, error)
    if sprint.plan.status == NEEDS_HUMAN and sprint.plan.last.sprint == event:
        return []
    check_sprint(sprint, "needs-human")
    # A leaf that failed for good is what a person is needed for most often.
    if leaf is not None and leaf.status not in (BLOCKED, FAILED):
        check_phase(leaf, "block")
    return [event]


def need_of(leaf: Node) -> Data | None:
    """Return what a blocked leaf needs a person for, reason and details."""
    needed = leaf.data.get("human-needed")
    return needed if leaf.status == BLOCKED and isinstance(needed, dict) else None


def leaf_in_need(plan: Plan) -> Node | None:
    """Return the leaf that a person is needed for, the one said last of several."""
    leaves = [leaf for leaf in plan.tree.leaves if need_of(leaf) is not None]
    last = plan.last.sprint
    named = (leaf for leaf in leaves if leaf.address == getattr(last, "phase", ""))
    return next(named, leaves[0] if leaves else None)


def resume_sprint(
    sprint: Sprint,
    *,
    by: str | None = None,
    why: str | None = None,
    done: str | None = None,
    retry: bool = False,
) -> list[Event]:
    """Go on; after `blocked` and `needs-human` somebody says who resolved it and why.

    With `retry` what failed or is blocked is to be done again, in the same append. After
    a breakpoint on the last phase nothing is left to do and the sprint completes. One that
    was reached while the sprint was blocked still pauses it then.
    """
    event = SprintResumed(by, why, done)
    again = [PhaseRetried(x.address, why) for x in _stuck(sprint.plan)] if retry else []
    if sprint.plan.status == IN_PROGRESS and sprint.plan.last.sprint == event:
        return [*again]
    check_sprint(sprint, "resume")
    status = sprint.plan.status
    if status in (BLOCKED, NEEDS_HUMAN) and not (by and why):
        raise RefusedError(
            f"sprint {sprint.id} is {status}: resuming needs who resolved it and why",
            hint="`sprintlog sprint resume --by NAME --why TEXT`",
            state=status,
            wish="resume",
        )
    if status == PAUSED_AT_BREAKPOINT and has_ended(sprint.plan):
        return [event] if undecided_at_end(sprint) else [event, SprintCompleted()]
    return [event, *again, *_breakpoint_to_come(sprint.plan)]


def _stuck(plan: Plan) -> list[Node]:
    """Return the leaves that wait for a person's word after they failed or blocked.

    One whose gate has blocked waits for that alone.
    """
    return [
        leaf
        for leaf in plan.tree.leaves
        if leaf.status in (FAILED, BLOCKED)
        and "next-retry-at" not in leaf.data
        and gate_status(leaf.data) != BLOCKED
    ]


def complete_sprint(
    sprint: Sprint,
    *,
    summary: str | None = None,
    abandons_goal: bool = False,
    reason: str | None = None,
) -> list[Event]:
    """Close the sprint once every leaf is completed or skipped, and the goal reached.

    A goal that is not reached can be given up, with the reason.
    """
    plan, event = sprint.plan, SprintCompleted(summary, abandons_goal, reason)
    if plan.status == COMPLETED and plan.last.sprint == event:
        return []
    check_finished(sprint)
    if waiting := urgent(sprint):
        raise RefusedError(
            f"sprint {sprint.id} is not finished: without a decision: {listed(waiting)}",
            hint="`sprintlog queue list --status pending`, and decide; `sprintlog queue "
            f"defer {waiting[0]} --until next-sprint --reasoning TEXT` hands one on",
            wish="complete",
            requests=waiting,
        )
    _check_goal_is_over(sprint, event)
    ended = end_iteration(sprint) if plan.turns.number else []
    return [*ended, event]


def _check_goal_is_over(sprint: Sprint, event: SprintCompleted) -> None:
    """Raise `RefusedError` unless the goal, if there is one, is reached or given up."""
    is_open = sprint.plan.is_ralph and not _has_left(sprint.plan)
    if event.abandons_goal and not is_open:
        raise RefusedError(
            f"sprint {sprint.id} has no goal that could be given up", wish="complete"
        )
    if event.abandons_goal != bool(event.reason and event.reason.strip()):
        raise RefusedError(
            "reason: it says why the goal is given up, so both come together",
            hint="`sprintlog sprint complete --abandon-goal --reason TEXT`",
            field="reason",
            wish="complete",
        )
    if is_open and not event.abandons_goal:
        raise RefusedError(
            f"sprint {sprint.id} works towards a goal, and that is not reached",
            hint="`sprintlog goal complete` says that it is; `sprintlog sprint complete "
            "--abandon-goal --reason TEXT` gives it up",
            wish="complete",
        )


def _has_left(plan: Plan) -> bool:
    """Tell whether a document that came in says that the goal was reached."""
    exit_ = plan.document.get("ralph-exit")
    return isinstance(exit_, dict) and exit_.get("detected-at") is not None


def check_finished(sprint: Sprint) -> None:
    """Raise `RefusedError` unless the sprint goes on and no leaf of it is open."""
    check_sprint(sprint, "complete")
    leaf = sprint.plan.tree.open_leaf()
    if leaf is not None:
        waits = leaf.status in FINISHED
        raise RefusedError(
            f"sprint {sprint.id} is not finished: phase {leaf.address} is {leaf.status}"
            f"{' and waits for a gate' if waits else ''}",
            hint="`sprintlog gate run` first"
            if waits
            else "complete or skip what is open first",
            phase=leaf.address,
            state=leaf.status,
            wish="complete",
        )


def reopen_sprint(sprint: Sprint, *, reason: str | None = None) -> list[Event]:
    """Open a completed sprint again."""
    return _wish(sprint, "reopen", SprintReopened(reason), IN_PROGRESS)


def beat(sprint: Sprint) -> list[Event]:
    """Record that the loop is alive (R93); every heartbeat is an event of its own."""
    check_exists(sprint)
    if sprint.plan.status in (NOT_STARTED, COMPLETED):
        raise RefusedError(
            f"sprint {sprint.id} is {sprint.plan.status}: there is no loop to be alive",
            state=sprint.plan.status,
            wish="heartbeat",
        )
    return [ActivitySeen()]


def is_stale(sprint: Sprint, *, now: str, moved: str | None = None) -> bool:
    """Tell whether a running sprint was silent for more than 15 minutes before `now`.

    Computed when it is asked for, never stored (DESIGN.md section 7). A rollback takes
    back the time of the last activity as well, but `moved`, when it happened, is one.
    """
    last = sprint.document.get("last-activity")
    if not sprint.is_running or not isinstance(last, str):
        return False
    latest = max(parse(last), parse(moved or last))
    return (parse(now) - latest).total_seconds() > STALE_AFTER_SECONDS


def _wish(sprint: Sprint, wish: str, event: Event, result: str) -> list[Event]:
    # Saying the same thing twice changes nothing: agents retry (P33).
    if sprint.plan.status == result and sprint.plan.last.sprint == event:
        return []
    check_sprint(sprint, wish)
    return [event]


def _evolve_started(plan: Plan, event: Any, at: str) -> None:
    plan.set_status(IN_PROGRESS)
    put(plan.stats, "started-at", at)
    plan.stats.setdefault("completed-at", None)


def _evolve_completed(plan: Plan, event: SprintCompleted, at: str) -> None:
    plan.set_status(COMPLETED)
    plan.stats["completed-at"] = at
    if event.abandons_goal:
        left = {"detected-at": at, "iteration": plan.iteration or None}
        plan.document["ralph-exit"] = {
            **left,
            "final-summary": f"abandoned: {event.reason}",
        }


def _evolve_reopened(plan: Plan, event: Any, at: str) -> None:
    plan.set_status(IN_PROGRESS)
    plan.stats["completed-at"] = None
    if "ralph-exit" in plan.document:
        plan.document["ralph-exit"] = dict(NOT_LEFT)


def _evolve_resumed(plan: Plan, event: SprintResumed, at: str) -> None:
    plan.set_status(IN_PROGRESS)
    if event.by is not None:
        renew_all(plan)
    plan.document.pop("human-needed", None)


def _breakpoint_to_come(plan: Plan) -> list[Event]:
    """Return the breakpoint that was reached while the sprint was blocked anyway."""
    return [plan.last.breakpoint] if plan.last.breakpoint is not None else []


def _evolve_breakpoint(plan: Plan, event: BreakpointReached, at: str) -> None:
    if plan.status in (BLOCKED, NEEDS_HUMAN):
        # The verdict of a gate came in: that resolves nothing, so the pause waits.
        plan.last.breakpoint = event
        return
    plan.last.breakpoint = None
    plan.set_status(PAUSED_AT_BREAKPOINT)


def _evolve_human_needed(plan: Plan, event: HumanNeeded, at: str) -> None:
    plan.set_status(NEEDS_HUMAN)
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
    plan.tree.set_status(node, BLOCKED, at)


def _becomes(status: str) -> Callable[[Plan, Any, str], None]:
    def evolve(plan: Plan, event: Any, at: str) -> None:
        plan.set_status(status)

    return evolve


def _evolve_activity(plan: Plan, event: ActivitySeen, at: str) -> None:
    """Change nothing: the time of the last event is kept for every event."""


def _evolves(
    change: Callable[[Plan, Any, str], None],
) -> Callable[[Plan, Any, str], None]:
    """Return the evolve of a sprint's event, which also keeps what was said."""

    def evolve(plan: Plan, event: Any, at: str) -> None:
        change(plan, event, at)
        # What waits changes no status, so the word on that stays the last one.
        if not (isinstance(event, BreakpointReached) and plan.last.breakpoint):
            plan.last.sprint = event

    return evolve


_CHANGES: dict[type[Event], Callable[[Plan, Any, str], None]] = {
    SprintStarted: _evolve_started,
    SprintPaused: _becomes(PAUSED),
    BreakpointReached: _evolve_breakpoint,
    SprintBlocked: _becomes(BLOCKED),
    HumanNeeded: _evolve_human_needed,
    SprintInterrupted: _becomes(INTERRUPTED),
    SprintResumed: _evolve_resumed,
    SprintCompleted: _evolve_completed,
    SprintReopened: _evolve_reopened,
}

EVOLVE: dict[type[Event], Callable[[Plan, Any, str], None]] = {
    ActivitySeen: _evolve_activity,
    **{event: _evolves(change) for event, change in _CHANGES.items()},
}
