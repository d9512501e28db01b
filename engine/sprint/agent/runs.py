"""Commands that record an agent's run on a leaf or the goal, or its report about its work.

Which command records a report depends on the gate, and on whether the work belongs to a
phase or to the goal.
"""

from msgspec.structs import replace

from ...command import Command, Events
from ...errors import InvalidInputError
from ...log.event import Event
from ..answers.items import SaidItems
from ..answers.limit_table import USAGE
from ..answers.verdict import Turn, Verdict, categorise, short
from ..events import AgentRan, GoalClaimed, IterationFailed, Limit
from ..iterations import claims, goal, loop
from ..iterations.follow_up import loop_rules
from ..iterations.loop import EndIteration, StartIteration
from ..phases import gate_checks, leaves, lifecycle
from ..phases.retry import next_retry_at, next_turn_at, policy_of, retries_used
from ..phases.waits import limit_of_own, wait_for
from ..plan.goal_steps import take_steps
from ..queue.returns import events_from_items, with_item_events
from ..state import transitions, tree, words
from ..state.completion import AGENT, ANSWER
from ..state.sprint import Sprint

NO_REASON = "the agent gave no reason"


class StartRun(Command, frozen=True):
    """Start an iteration and its leaf; do nothing if the leaf was already started.

    Another attempt at a leaf belongs to the iteration that was started for the leaf.
    """

    phase: str

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        leaf = transitions.find_leaf(sprint, self.phase)
        if leaf.status == words.IN_PROGRESS:
            return []
        goes_on = loop.is_begun_for(sprint.plan, leaf.address)
        iteration = loop.StartIteration(phase=leaf.address)
        begun = [] if goes_on else iteration.decide(sprint, at)
        return [*begun, *leaves.StartPhase(leaf.address).decide(sprint, at)]


class EndRun(Command, frozen=True):
    """Record the end of an agent's run on a leaf, and its effect on the leaf.

    If the run succeeded, the leaf is completed and the iteration ends; an open gate or a
    paused sprint delays the completion. A leaf that has ended in the meantime is not
    changed.
    """

    ran: AgentRan
    verdict: Verdict

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        return with_item_events(sprint, _after_run(sprint, self, at), self.verdict.said, at)


def _after_run(sprint: Sprint, command: EndRun, at: str) -> list[Event]:
    ran, verdict = command.ran, command.verdict
    leaf, phase = sprint.plan.tree.find(ran.phase), ran.phase
    if leaf is None or leaf.status != words.IN_PROGRESS:
        return [ran]
    if verdict.status == words.COMPLETED:
        if sprint.is_running and not tree.gate_is_open(leaf.data):
            done = leaves.CompletePhase(phase, verdict.summary).decide(sprint, at)
        else:
            done = leaves.EndWork(phase, verdict.summary).decide(sprint, at)
        if loop.is_begun_for(sprint.plan, phase):
            done += loop.EndIteration().decide(sprint, at)
        return [ran, *done]
    if not sprint.is_running or ran.interrupted_by:
        return [ran]
    if waits := wait_as_said(sprint, ran, verdict, at, phase=phase):
        return [ran, *waits]
    if verdict.status in words.NO_SUCCESS:
        failed = leaves.FailPhase(verdict.error or NO_REASON, verdict.category, phase)
        return [as_failure(ran), *failed.decide(sprint, at)]
    return [ran, *need_as_said(verdict, phase).decide(sprint, at)]


def wait_as_said(
    sprint: Sprint, ran: AgentRan, verdict: Verdict, at: str, *, phase: str | None = None
) -> list[Event]:
    """Return the wait for a limit; empty if there is no limit or the plan forbids waiting.

    A plan forbids waiting if it does not retry failures of this category. If the fallback
    agent cannot work or has failed too often, the loop waits for the limit on its own agent
    to end.
    """
    retried, limit = policy_of(sprint.plan.document).retry_on, verdict.limit
    if limit is None or verdict.category not in retried:
        own = limit_of_own(sprint.plan) if ran.is_fallback else None
        is_failed = verdict.status in words.NO_SUCCESS
        if own is None or verdict.status == words.COMPLETED:
            return []
        if is_failed and (ran.is_repair or _is_tried_again(sprint, verdict, at, phase)):
            return []
        limit = Limit(own.waits_for or USAGE, own.until, own.said_by)
    why = verdict.error or verdict.reason
    return wait_for(sprint, limit, why, at=at, phase=phase, is_fallback=ran.is_fallback)


def _is_tried_again(sprint: Sprint, verdict: Verdict, at: str, phase: str | None) -> bool:
    """Return whether a failed run will be retried after a pause."""
    if phase is None:
        return next_turn_at(sprint, verdict.category, at) is not None
    used = retries_used(sprint.plan, transitions.find_leaf(sprint, phase))
    document, category = sprint.plan.document, verdict.category
    return next_retry_at(document, tried=used, category=category, at=at) is not None


def as_failure(ran: AgentRan) -> AgentRan:
    """Return the run without its limit, so that it counts as a failure."""
    return ran if ran.limit is None else replace(ran, limit=None)


def need_as_said(verdict: Verdict, phase: str | None = None) -> lifecycle.NeedHuman:
    """Return the command that records an agent's request for a person's help."""
    reason = verdict.reason or verdict.error or NO_REASON
    return lifecycle.NeedHuman(reason, verdict.details, verdict.error, phase)


class StartRepair(Command, frozen=True):
    """Start an iteration to fix a failed gate, if each agent run is an iteration."""

    phase: str

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the start of the repair; empty if it has already started."""
        rules = loop_rules(sprint)
        if rules.measure is None and not rules.keeps_files:
            return []
        if loop.is_begun_for(sprint.plan, self.phase):
            return []
        return loop.StartIteration(phase=self.phase).decide(sprint, at)


class EndRepair(Command, frozen=True):
    """Record the end of an agent's run to fix a failed gate.

    Unless the agent asked for a person, reached a limit or gets another attempt, the
    iteration ends and the gate must be checked again.
    """

    ran: AgentRan
    verdict: Verdict
    again: bool = False

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        return with_item_events(
            sprint, _after_repair(sprint, self, at), self.verdict.said, at
        )


def _after_repair(sprint: Sprint, command: EndRepair, at: str) -> list[Event]:
    ran, verdict = command.ran, command.verdict
    if ran.interrupted_by:
        return [ran]
    waits = wait_as_said(sprint, ran, verdict, at, phase=ran.phase)
    if sprint.is_running and waits:
        return [ran, *waits]
    ran = as_failure(ran)
    if verdict.status == words.NEEDS_HUMAN:
        if not sprint.is_running:
            return [ran]
        why = f"repairing the gate of {ran.phase}: {verdict.reason or verdict.error}"
        return [ran, *lifecycle.BlockSprint(why).decide(sprint, at)]
    if command.again:
        return [ran]
    node = sprint.plan.tree.find(ran.phase)
    has_gate = node is not None and tree.gate_status(node.data) is not None
    repaired = gate_checks.RepairGate(ran.phase).decide(sprint, at) if has_gate else []
    if loop.is_begun_for(sprint.plan, ran.phase):
        repaired += loop.EndIteration().decide(sprint, at)
    return [ran, *repaired]


class RecordRun(Command, frozen=True):
    """Record an agent's run without any of its consequences."""

    ran: AgentRan

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        if self.ran.phase:
            transitions.find_node(sprint, self.ran.phase)
        else:
            transitions.check_goal(sprint, "record a run for the goal")
        return [self.ran]


class StartTurn(Command, frozen=True):
    """Start an iteration for the goal; do nothing if one is running."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        return [] if sprint.plan.turns.number else StartIteration().decide(sprint, at)


class EndTurn(Command, frozen=True):
    """Record the end of an agent's run for the goal, and its consequences.

    An iteration that has ended in the meantime is not changed. If the sprint was stopped in
    the meantime, completed steps are recorded, but the goal is not marked as reached.
    """

    ran: AgentRan
    verdict: Verdict

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        decided, said = _after_turn(sprint, self, at), self.verdict.said
        return with_item_events(sprint, decided, said, at, steps=False)


def _after_turn(sprint: Sprint, command: EndTurn, at: str) -> list[Event]:
    ran, verdict = command.ran, command.verdict
    if sprint.plan.turns.number != ran.iteration:
        return [ran]
    if verdict.status == words.COMPLETED and isinstance(verdict, Turn):
        return [ran, *_went_well(sprint, verdict, at)]
    if not sprint.is_running or ran.interrupted_by:
        return [ran]
    if waits := wait_as_said(sprint, ran, verdict, at):
        return [ran, *waits]
    if verdict.status in words.NO_SUCCESS:
        failed = goal.FailIteration(verdict.error or NO_REASON, verdict.category)
        events = failed.decide(sprint, at)
        if ran.is_fallback:
            events = [_by_fallback(event) for event in events]
        return [as_failure(ran), *events]
    return [ran, *need_as_said(verdict).decide(sprint, at)]


def _by_fallback(event: Event) -> Event:
    return replace(event, is_fallback=True) if isinstance(event, IterationFailed) else event


def _went_well(sprint: Sprint, turn: Turn, at: str) -> list[Event]:
    ended = EndIteration(summary=turn.summary).decide(sprint, at)
    if sprint.plan.status == words.COMPLETED:
        return ended
    steps = take_steps(sprint, completed=turn.completed, pending=turn.pending)
    if not turn.is_goal:
        return [*steps, *ended]
    leaf, plan = sprint.plan.tree.open_leaf(), sprint.plan
    if sprint.is_running and leaf is None:
        return [*steps, *ended, *claims.claim_goal(sprint, turn.summary, ANSWER, steps)]
    open_one = f"phase {leaf.address} is {leaf.status}" if leaf else None
    why = open_one if sprint.is_running and open_one else f"the sprint is {plan.status}"
    return [*steps, *ended, GoalClaimed(plan.turns.number, turn.summary, ANSWER, why)]


def _record_run(event: AgentRan) -> RecordRun:
    return RecordRun(event)


CAUSED: Events = {AgentRan: _record_run}


OUTCOMES = ("started", "done", "continue", "failed", "blocked", "needs-human")
"""The outcomes; `continue` means that the goal has not been reached yet."""


class ReportWork(Command, frozen=True):
    """Record the start or the outcome of work on a leaf or the goal.

    A report cannot make a gate pass: if the gate is open, only the work is recorded as
    done.
    """

    outcome: str
    summary: str = ""
    phase: str | None = None
    details: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        transitions.check_exists(sprint)
        leaves.check_word("outcome", self.outcome, OUTCOMES)
        is_goal = self.phase is None and sprint.plan.is_at_goal
        meant = _of_goal(self) if is_goal else _of_phase(sprint, self)
        return meant.decide(sprint, at)


class TakeSaid(Command, frozen=True):
    """Queue the requests and record the learnings that an agent reported.

    A request that was queued before is not queued again, regardless of the decision on it.
    """

    said: SaidItems

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        transitions.check_exists(sprint)
        return events_from_items(sprint, self.said, at)


def _of_goal(said: ReportWork) -> Command:
    summary = short(said.summary)
    match said.outcome:
        case "started":
            return StartTurn()
        case "done":
            return goal.CompleteGoal(summary or None, AGENT)
        case "continue":
            return loop.EndIteration(summary=summary or None)
        case "failed":
            return goal.FailIteration(_why(said), categorise(said.summary))
        case "blocked":
            return lifecycle.BlockSprint(_why(said))
        case _:
            return lifecycle.NeedHuman(_why(said), said.details)


def _of_phase(sprint: Sprint, said: ReportWork) -> Command:
    phase, summary = said.phase, short(said.summary) or None
    match said.outcome:
        case "started":
            return leaves.StartPhase(phase)
        case "done":
            node = transitions.find_node(sprint, phase)
            if not node.children and tree.gate_is_open(node.data):
                return leaves.EndWork(node.address, summary)
            return leaves.CompletePhase(phase, summary)
        case "continue":
            raise InvalidInputError(
                "continue is valid only for the iterations of a goal",
                field="outcome",
                hint="for a phase, use done, failed, blocked or needs-human",
            )
        case "failed":
            return leaves.FailPhase(_why(said), categorise(said.summary), phase)
        case "blocked":
            return leaves.BlockPhase(_why(said), phase)
        case _:
            return lifecycle.NeedHuman(_why(said), said.details, None, phase)


def _why(said: ReportWork) -> str:
    if not said.summary.strip():
        raise InvalidInputError(f"missing reason for {said.outcome}", field="summary")
    return short(said.summary)
