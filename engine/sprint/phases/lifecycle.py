"""The commands that act on a sprint: start, pause, stop, resume, complete, reopen, note."""

from ...command import Command, Events
from ...errors import InvalidInputError, NotFoundError, RefusedError
from ...log.event import Event
from .. import events as f
from ..state import notes, transitions, words
from ..state.completion import has_ended, listed, undecided_at_end, urgent
from ..state.document_fields import mapping_of
from ..state.sprint import Plan, Sprint, open_iteration
from ..state.times import parse
from ..state.tree import Data, Node, gate_status
from .retry import is_waiting

STALE_AFTER_SECONDS = 15 * 60


class StartSprint(Command, frozen=True):
    """Start the sprint."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        return _command(sprint, "start", f.SprintStarted())


class PauseSprint(Command, frozen=True):
    """Pause the sprint at a person's request."""

    reason: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        return _command(sprint, "pause", f.SprintPaused(self.reason))


class BlockSprint(Command, frozen=True):
    """Record that the sprint cannot continue."""

    reason: str

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        return _command(sprint, "block", f.SprintBlocked(self.reason))


class InterruptSprint(Command, frozen=True):
    """Record that the loop was stopped from outside."""

    reason: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        return _command(sprint, "interrupt", f.SprintInterrupted(self.reason))


class NeedHuman(Command, frozen=True):
    """Request a person's help with a leaf, by default the current leaf (SPR-130).

    In Ralph mode, if no leaf is open, the request concerns the goal.
    """

    reason: str
    details: str | None = None
    error: str | None = None
    phase: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        is_goal = not self.phase and sprint.plan.is_at_goal
        leaf = None if is_goal else transitions.find_leaf(sprint, self.phase)
        event = f.HumanNeeded(
            leaf.address if leaf else "", self.reason, self.details, self.error
        )
        if sprint.plan.status == words.NEEDS_HUMAN and sprint.plan.last.sprint == event:
            return []
        transitions.check_sprint(sprint, "needs-human")
        # Usually a person is needed because of a leaf that failed permanently.
        if leaf is not None and leaf.status not in (words.BLOCKED, words.FAILED):
            transitions.check_phase(leaf, "block")
        return [event]


def need_of(leaf: Node) -> Data | None:
    """Return the reason and details of a blocked leaf's request for a person, or None."""
    needed = leaf.data.get("human-needed")
    return needed if leaf.status == words.BLOCKED and isinstance(needed, dict) else None


def leaf_in_need(plan: Plan) -> Node | None:
    """Return the leaf that needs a person, preferably the latest to request help."""
    leaves = [leaf for leaf in plan.tree.leaves if need_of(leaf) is not None]
    last = plan.last.sprint
    named = (leaf for leaf in leaves if leaf.address == getattr(last, "phase", ""))
    return next(named, leaves[0] if leaves else None)


class ResumeSprint(Command, frozen=True):
    """Resume the sprint.

    A sprint that is blocked or needs a person requires `by` and `why`: who resolved the
    problem, and how. With `retry`, failed and blocked work is reset in the same append.
    After a breakpoint on the last phase, the sprint completes. If a breakpoint was reached
    while the sprint was blocked, the sprint then pauses.
    """

    by: str | None = None
    why: str | None = None
    done: str | None = None
    retry: bool = False

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that resume the sprint or, if it is running, only end waits."""
        event = f.SprintResumed(self.by, self.why, self.done)
        stuck = _stuck(sprint.plan) if self.retry else []
        again = [f.PhaseRetried(leaf.address, self.why) for leaf in stuck]
        if sprint.plan.status == words.IN_PROGRESS and is_waiting(sprint.plan, at):
            return [event, *again]
        if sprint.plan.status == words.IN_PROGRESS and sprint.plan.last.sprint == event:
            return [*again]
        transitions.check_sprint(sprint, "resume")
        status = sprint.plan.status
        if status in (words.BLOCKED, words.NEEDS_HUMAN) and not (self.by and self.why):
            raise RefusedError(
                f"sprint {sprint.id} is {status}: to resume it, state who resolved the "
                "problem and why",
                hint="run `sprintlog sprint resume --by NAME --why TEXT`",
                state=status,
                command="resume",
            )
        if status == words.PAUSED_AT_BREAKPOINT and has_ended(sprint.plan):
            return [event] if undecided_at_end(sprint) else [event, f.SprintCompleted()]
        # A breakpoint that was reached while the sprint was already blocked.
        breakpoint_to_come = sprint.plan.last.breakpoint
        return [event, *again, *([breakpoint_to_come] if breakpoint_to_come else [])]


def _stuck(plan: Plan) -> list[Node]:
    """Return the failed and blocked leaves that wait for a person's decision.

    A leaf whose own gate is blocked is excluded, because it waits only for the gate.
    """
    return [
        leaf
        for leaf in plan.tree.leaves
        if leaf.status in (words.FAILED, words.BLOCKED)
        and "next-retry-at" not in leaf.data
        and gate_status(leaf.data) != words.BLOCKED
    ]


class CompleteSprint(Command, frozen=True):
    """Close the sprint once every leaf is completed or skipped and the goal is reached.

    A goal that was not reached can be abandoned, with a reason.
    """

    summary: str | None = None
    abandons_goal: bool = False
    reason: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        plan = sprint.plan
        event = f.SprintCompleted(self.summary, self.abandons_goal, self.reason)
        if plan.status == words.COMPLETED and plan.last.sprint == event:
            return []
        check_finished(sprint)
        if waiting := urgent(sprint):
            raise RefusedError(
                f"sprint {sprint.id} has undecided requests: {listed(waiting)}",
                hint="run `sprintlog queue list --status pending` and decide, or use "
                f"`sprintlog queue defer {waiting[0]} --until next-sprint --reasoning "
                "TEXT` to defer one",
                command="complete",
                requests=waiting,
            )
        _check_goal_is_over(sprint, event)
        number = open_iteration(plan) if plan.turns.number else None
        return [event] if number is None else [f.IterationEnded(number), event]


def _check_goal_is_over(sprint: Sprint, event: f.SprintCompleted) -> None:
    """Raise `RefusedError` unless the goal, if there is one, is reached or abandoned."""
    # An imported document may state that the goal was reached.
    reached_at = mapping_of(sprint.plan.document, "ralph-exit").get("detected-at")
    is_open = sprint.plan.is_ralph and reached_at is None
    if event.abandons_goal and not is_open:
        raise RefusedError(f"sprint {sprint.id} has no goal to abandon", command="complete")
    if event.abandons_goal != bool(event.reason and event.reason.strip()):
        raise RefusedError(
            "reason is required if, and only if, the goal is abandoned",
            hint="use `sprintlog sprint complete --abandon-goal --reason TEXT`",
            field="reason",
            command="complete",
        )
    if is_open and not event.abandons_goal:
        raise RefusedError(
            f"sprint {sprint.id} has a goal that has not been reached",
            hint="use `sprintlog goal complete` if the goal has been reached, or "
            "`sprintlog sprint complete --abandon-goal --reason TEXT` to abandon it",
            command="complete",
        )


def check_finished(sprint: Sprint) -> None:
    """Raise `RefusedError` unless the sprint is in progress without any open leaf."""
    transitions.check_sprint(sprint, "complete")
    if (leaf := sprint.plan.tree.open_leaf()) is not None:
        waits = leaf.status in words.FINISHED
        raise RefusedError(
            f"sprint {sprint.id} is not finished: phase {leaf.address} is {leaf.status}"
            f"{' and waits for a gate' if waits else ''}",
            hint="`sprintlog gate run` first"
            if waits
            else "complete or skip what is open first",
            phase=leaf.address,
            state=leaf.status,
            command="complete",
        )


class ReopenSprint(Command, frozen=True):
    """Reopen a completed sprint."""

    reason: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        return _command(sprint, "reopen", f.SprintReopened(self.reason))


class RecordHeartbeat(Command, frozen=True):
    """Record that the loop is alive; every heartbeat is recorded (SPR-008)."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        transitions.check_exists(sprint)
        if sprint.plan.status in (words.NOT_STARTED, words.COMPLETED):
            raise RefusedError(
                f"sprint {sprint.id} is {sprint.plan.status}: no loop is running",
                state=sprint.plan.status,
                command="heartbeat",
            )
        return [f.ActivitySeen()]


def is_stale(sprint: Sprint, *, now: str, moved: str | None = None) -> bool:
    """Return whether a running sprint had no activity in the 15 minutes before `now`.

    The result is computed on each query and never stored. A rollback also discards the time
    of the last activity, so `moved`, the time of the rollback, counts as activity.
    """
    last = sprint.document.get("last-activity")
    if not sprint.is_running or not isinstance(last, str):
        return False
    latest = max(parse(last), parse(moved or last))
    return (parse(now) - latest).total_seconds() > STALE_AFTER_SECONDS


def _command(sprint: Sprint, command: str, event: Event) -> list[Event]:
    # Agents retry, so repeating a command records nothing (SPR-042).
    if (
        sprint.plan.status == transitions.SPRINT_TO[command]
        and sprint.plan.last.sprint == event
    ):
        return []
    transitions.check_sprint(sprint, command)
    return [event]


class AddNote(Command, frozen=True):
    """Add a note for the readers of the log, about a phase or the entire sprint.

    With `to_agent`, it is delivered to the working agent; with `now`, it ends the agent's
    run.
    """

    text: str
    phase: str | None = None
    to_agent: bool = False
    now: bool = False

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        transitions.check_exists(sprint)
        if not self.text.strip():
            raise RefusedError("a note requires text", field="text")
        if self.phase is not None and sprint.plan.tree.find(self.phase) is None:
            raise NotFoundError(
                f"there is no phase {self.phase} in sprint {sprint.id}", phase=self.phase
            )
        if len(self.text) > notes.CHARS_MAX and self.to_agent:
            said = f"has {len(self.text)} characters, more than {notes.CHARS_MAX}"
            raise InvalidInputError(said, field="text")
        if self.now and not self.to_agent:
            raise InvalidInputError("requires a note to the agent", field="now")
        identity = f"note-{sprint.version + 1}" if self.to_agent else None
        return [f.NoteAdded(self.text, self.phase, identity, now=self.now)]


def _as_added(event: f.NoteAdded) -> AddNote:
    return AddNote(event.text, event.phase, event.to_agent is not None, event.now)


CAUSED: Events = {
    f.SprintStarted: StartSprint,
    f.SprintPaused: PauseSprint,
    f.SprintBlocked: BlockSprint,
    f.HumanNeeded: NeedHuman,
    f.SprintInterrupted: InterruptSprint,
    f.SprintResumed: ResumeSprint,
    f.SprintCompleted: CompleteSprint,
    f.SprintReopened: ReopenSprint,
    f.ActivitySeen: RecordHeartbeat,
    f.NoteAdded: _as_added,
}
