"""An agent's run on a leaf, as a loop records it: what it means for the leaf; rules."""

from ...log.event import Event
from ..events import AgentRan
from ..iterations.loop import end_iteration, is_begun_for, start_iteration
from ..phases.leaves import complete_phase, end_work, fail_phase, start_phase
from ..phases.lifecycle import need_human
from ..state.sprint import Sprint
from ..state.transitions import check_goal, find_leaf, find_node
from ..state.tree import gate_is_open
from ..state.words import COMPLETED, FAILED, IN_PROGRESS
from .answers import Verdict

NO_REASON = "the agent gave no reason"


def start_run(sprint: Sprint, *, phase: str) -> list[Event]:
    """Begin a loop iteration and in it a leaf; nothing for a leaf that is begun.

    Another attempt on a leaf belongs to the iteration that was begun for it.
    """
    leaf = find_leaf(sprint, phase)
    if leaf.status == IN_PROGRESS:
        return []
    goes_on = is_begun_for(sprint.plan, leaf.address)
    begun = [] if goes_on else start_iteration(sprint, phase=leaf.address)
    return [*begun, *start_phase(sprint, phase=leaf.address)]


def end_run(sprint: Sprint, *, ran: AgentRan, verdict: Verdict, at: str) -> list[Event]:
    """Say how an agent's run on a leaf ended, and what follows for the leaf.

    Success completes it, or waits for its gate, or for a sprint that somebody paused
    meanwhile, and ends the iteration. A leaf that somebody else ended meanwhile is left
    as it is.
    """
    leaf = sprint.plan.tree.find(ran.phase)
    if leaf is None or leaf.status != IN_PROGRESS:
        return [ran]
    if verdict.status == COMPLETED:
        is_end = sprint.is_running and not gate_is_open(leaf.data)
        end = complete_phase if is_end else end_work
        ends = end_iteration(sprint) if is_begun_for(sprint.plan, ran.phase) else []
        return [ran, *end(sprint, phase=ran.phase, summary=verdict.summary), *ends]
    if not sprint.is_running:
        return [ran]
    phase, error = ran.phase, verdict.error or NO_REASON
    if verdict.status == FAILED:
        category = verdict.category
        return [
            ran,
            *fail_phase(sprint, phase=phase, error=error, category=category, at=at),
        ]
    return [ran, *need_as_said(sprint, verdict, phase=phase)]


def need_as_said(
    sprint: Sprint, verdict: Verdict, *, phase: str | None = None
) -> list[Event]:
    """Wait for the person that an agent said is needed; its error stands beside that."""
    return need_human(
        sprint,
        phase=phase,
        reason=verdict.reason or verdict.error or NO_REASON,
        details=verdict.details,
        error=verdict.error,
    )


def record_run(sprint: Sprint, *, ran: AgentRan) -> list[Event]:
    """Keep how an agent's run went, without anything that follows from it."""
    if ran.phase:
        find_node(sprint, ran.phase)
    else:
        check_goal(sprint, "record a run for the goal")
    return [ran]
