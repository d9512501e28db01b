"""An agent's run on a leaf, as a loop records it: what it means for the leaf; rules."""

from ...command import Command, Events, commands_in
from ...log.event import Event
from ..events import AgentRan
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
from ..state.sprint import Sprint
from ..state.transitions import check_goal, find_leaf, find_node
from ..state.tree import gate_is_open
from ..state.words import COMPLETED, FAILED, IN_PROGRESS, NEEDS_HUMAN
from .answers import Verdict

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
    if verdict.status == FAILED:
        failed = FailPhase(verdict.error or NO_REASON, verdict.category, phase)
        return [ran, *fail_phase(sprint, failed, at)]
    return [ran, *need_human(sprint, need_as_said(verdict, phase), at)]


def need_as_said(verdict: Verdict, phase: str | None = None) -> NeedHuman:
    """Return that a person is needed, as an agent said; its error stands beside that."""
    reason = verdict.reason or verdict.error or NO_REASON
    return NeedHuman(reason, verdict.details, verdict.error, phase)


class EndRepair(Command, frozen=True):
    """Say how an agent's run to repair what a gate found ended; a person may be needed."""

    ran: AgentRan
    verdict: Verdict


def end_repair(sprint: Sprint, command: EndRepair, at: str) -> list[Event]:
    """Decide on `EndRepair`."""
    ran, verdict = command.ran, command.verdict
    if verdict.status != NEEDS_HUMAN or not sprint.is_running:
        return [ran]
    why = f"repairing the gate of {ran.phase}: {verdict.reason or verdict.error}"
    return [ran, *block_sprint(sprint, BlockSprint(why), at)]


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
