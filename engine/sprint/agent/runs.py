"""An agent's run on a leaf, as a loop records it: what it means for the leaf; rules."""

from msgspec.structs import replace

from ...command import Command, Events, commands_in
from ...log.event import Event
from ..events import AgentRan
from ..gates.checks import RepairGate, repair_gate
from ..iterations.follow_up import loop_rules
from ..iterations.loop import (
    EndIteration,
    StartIteration,
    end_iteration,
    is_begun_for,
    start_iteration,
)
from ..phases.leaves import (
    CompletePhase,
    EndWork,
    FailPhase,
    StartPhase,
    complete_phase,
    end_work,
    fail_phase,
    start_phase,
)
from ..phases.lifecycle import BlockSprint, NeedHuman, block_sprint, need_human
from ..phases.retry import policy_of
from ..phases.waits import wait_for
from ..state.sprint import Sprint
from ..state.transitions import check_goal, find_leaf, find_node
from ..state.tree import gate_is_open, gate_status
from ..state.words import COMPLETED, FAILED, IN_PROGRESS, NEEDS_HUMAN
from .answers import Verdict
from .taken import with_said

NO_REASON = "the agent gave no reason"


class StartRun(Command, frozen=True):
    """Begin a loop iteration and in it a leaf; nothing for a leaf that is begun.

    Another attempt on a leaf belongs to the iteration that was begun for it.
    """

    phase: str


def start_run(sprint: Sprint, command: StartRun, at: str) -> list[Event]:
    """Decide on `StartRun`."""
    leaf = find_leaf(sprint, command.phase)
    if leaf.status == IN_PROGRESS:
        return []
    goes_on = is_begun_for(sprint.plan, leaf.address)
    iteration = StartIteration(phase=leaf.address)
    begun = [] if goes_on else start_iteration(sprint, iteration, at)
    return [*begun, *start_phase(sprint, StartPhase(leaf.address), at)]


class EndRun(Command, frozen=True):
    """Say how an agent's run on a leaf ended, and what follows for the leaf.

    Success completes it, or waits for its gate, or for a sprint that somebody paused
    meanwhile, and ends the iteration. A leaf that somebody else ended meanwhile is left
    as it is.
    """

    ran: AgentRan
    verdict: Verdict


def end_run(sprint: Sprint, command: EndRun, at: str) -> list[Event]:
    """Decide on `EndRun`."""
    return with_said(sprint, _after_run(sprint, command, at), command.verdict.said, at)


def _after_run(sprint: Sprint, command: EndRun, at: str) -> list[Event]:
    ran, verdict = command.ran, command.verdict
    leaf, phase = sprint.plan.tree.find(ran.phase), ran.phase
    if leaf is None or leaf.status != IN_PROGRESS:
        return [ran]
    if verdict.status == COMPLETED:
        if sprint.is_running and not gate_is_open(leaf.data):
            done = complete_phase(sprint, CompletePhase(phase, verdict.summary), at)
        else:
            done = end_work(sprint, EndWork(phase, verdict.summary), at)
        if is_begun_for(sprint.plan, phase):
            done += end_iteration(sprint, EndIteration(), at)
        return [ran, *done]
    if not sprint.is_running:
        return [ran]
    if waits := wait_as_said(sprint, verdict, at, phase=phase):
        return [ran, *waits]
    if verdict.status == FAILED:
        failed = FailPhase(verdict.error or NO_REASON, verdict.category, phase)
        return [as_failure(ran), *fail_phase(sprint, failed, at)]
    return [ran, *need_human(sprint, need_as_said(verdict, phase), at)]


def wait_as_said(
    sprint: Sprint, verdict: Verdict, at: str, *, phase: str | None = None
) -> list[Event]:
    """Return that a limit is waited for; empty where none is, or the plan forbids it.

    A plan forbids it that does not try failures of this category again.
    """
    retried = policy_of(sprint.plan.document).retry_on
    if verdict.limit is None or verdict.category not in retried:
        return []
    return wait_for(sprint, verdict.limit, verdict.error, at=at, phase=phase)


def as_failure(ran: AgentRan) -> AgentRan:
    """Return a run that counts as a failure, though a limit may have caused it."""
    return ran if ran.limit is None else replace(ran, limit=None)


def is_failure(ran: AgentRan) -> bool:
    """Tell whether a run counts as a failure: a wait for a limit is none."""
    return ran.status == FAILED and ran.limit is None


def need_as_said(verdict: Verdict, phase: str | None = None) -> NeedHuman:
    """Return that a person is needed, as an agent said; its error stands beside that."""
    reason = verdict.reason or verdict.error or NO_REASON
    return NeedHuman(reason, verdict.details, verdict.error, phase)


class StartRepair(Command, frozen=True):
    """Begin an iteration to repair what a gate found, where each run of an agent is one."""

    phase: str


def start_repair(sprint: Sprint, command: StartRepair, at: str) -> list[Event]:
    """Decide on `StartRepair`; nothing for one that is begun."""
    rules = loop_rules(sprint)
    if rules.measure is None and not rules.keeps_files:
        return []
    if is_begun_for(sprint.plan, command.phase):
        return []
    return start_iteration(sprint, StartIteration(phase=command.phase), at)


class EndRepair(Command, frozen=True):
    """Say how an agent's run to repair what a gate found ended.

    A person may be needed, or a limit is to be waited for before it is repaired. Where it
    is not tried again the gate is to be checked, and its iteration ends.
    """

    ran: AgentRan
    verdict: Verdict
    again: bool = False


def end_repair(sprint: Sprint, command: EndRepair, at: str) -> list[Event]:
    """Decide on `EndRepair`."""
    return with_said(sprint, _after_repair(sprint, command, at), command.verdict.said, at)


def _after_repair(sprint: Sprint, command: EndRepair, at: str) -> list[Event]:
    ran, verdict = command.ran, command.verdict
    if sprint.is_running and (waits := wait_as_said(sprint, verdict, at, phase=ran.phase)):
        return [ran, *waits]
    ran = as_failure(ran)
    if verdict.status == NEEDS_HUMAN:
        if not sprint.is_running:
            return [ran]
        why = f"repairing the gate of {ran.phase}: {verdict.reason or verdict.error}"
        return [ran, *block_sprint(sprint, BlockSprint(why), at)]
    if command.again:
        return [ran]
    node = sprint.plan.tree.find(ran.phase)
    has_gate = node is not None and gate_status(node.data) is not None
    repaired = repair_gate(sprint, RepairGate(ran.phase), at) if has_gate else []
    if is_begun_for(sprint.plan, ran.phase):
        repaired += end_iteration(sprint, EndIteration(), at)
    return [ran, *repaired]


class RecordRun(Command, frozen=True):
    """Keep how an agent's run went, without anything that follows from it."""

    ran: AgentRan


def record_run(sprint: Sprint, command: RecordRun, at: str) -> list[Event]:
    """Decide on `RecordRun`."""
    if command.ran.phase:
        find_node(sprint, command.ran.phase)
    else:
        check_goal(sprint, "record a run for the goal")
    return [command.ran]


def _as_ran(event: AgentRan) -> RecordRun:
    return RecordRun(event)


COMMANDS = commands_in(globals())

CAUSED: Events = {AgentRan: _as_ran}
