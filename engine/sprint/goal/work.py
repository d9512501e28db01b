"""An agent's run for a goal, as a loop records it: what follows from its answer; rules."""

from ...log.event import Event
from ..agent.answers import Verdict
from ..agent.runs import NO_REASON, need_as_said
from ..events import AgentRan, GoalClaimed
from ..iterations.loop import end_iteration, start_iteration
from ..state.sprint import Sprint
from ..state.words import COMPLETED, FAILED
from .answers import Turn
from .dynamic_steps import take_steps
from .goal import fail_iteration, reach_goal


def start_turn(sprint: Sprint) -> list[Event]:
    """Begin an iteration for the goal; nothing when one is under way."""
    return [] if sprint.plan.turns.number else start_iteration(sprint)


def end_turn(sprint: Sprint, *, ran: AgentRan, verdict: Verdict, at: str) -> list[Event]:
    """Say how an agent's run for the goal ended, and all that follows from it.

    An iteration that somebody else ended meanwhile is left as it is. A sprint that was
    stopped meanwhile takes what is done, but not that the goal is reached.
    """
    if sprint.plan.turns.number != ran.iteration:
        return [ran]
    if verdict.status == COMPLETED and isinstance(verdict, Turn):
        return [ran, *_went_well(sprint, verdict)]
    if not sprint.is_running:
        return [ran]
    error = verdict.error or NO_REASON
    if verdict.status == FAILED:
        category = verdict.category
        return [ran, *fail_iteration(sprint, error=error, category=category, at=at)]
    return [ran, *need_as_said(sprint, verdict)]


def _went_well(sprint: Sprint, turn: Turn) -> list[Event]:
    if sprint.plan.status == COMPLETED:
        return end_iteration(sprint, summary=turn.summary)
    steps = take_steps(sprint, completed=turn.completed, pending=turn.pending)
    ended = end_iteration(sprint, summary=turn.summary)
    if not turn.is_goal:
        return [*steps, *ended]
    leaf, plan = sprint.plan.tree.open_leaf(), sprint.plan
    if sprint.is_running and leaf is None:
        return [*steps, *ended, reach_goal(sprint, summary=turn.summary, besides=steps)]
    open_one = f"phase {leaf.address} is {leaf.status}" if leaf else None
    why = open_one if sprint.is_running and open_one else f"the sprint is {plan.status}"
    return [*steps, *ended, GoalClaimed(plan.turns.number, why, turn.summary)]
