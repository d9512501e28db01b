"""An agent's run for a goal, as a loop records it: what follows from its answer; rules."""

from msgspec.structs import replace

from ...command import Command, Commands
from ...log.event import Event
from ..answers.goal_verdict import Turn
from ..answers.verdict import Verdict
from ..events import AgentRan, GoalClaimed, IterationFailed
from ..iterations.goal import FailIteration, fail_iteration, reach_goal
from ..iterations.loop import EndIteration, StartIteration, end_iteration, start_iteration
from ..phases.lifecycle import need_human
from ..plan.goal_steps import take_steps
from ..queue.returns import with_said
from ..state.sprint import Sprint
from ..state.words import COMPLETED, NO_SUCCESS
from .runs import NO_REASON, as_failure, need_as_said, wait_as_said


class StartTurn(Command, frozen=True):
    """Begin an iteration for the goal; nothing when one is under way."""


def start_turn(sprint: Sprint, command: StartTurn, at: str) -> list[Event]:
    """Decide on `StartTurn`."""
    return [] if sprint.plan.turns.number else start_iteration(sprint, StartIteration(), at)


class EndTurn(Command, frozen=True):
    """Say how an agent's run for the goal ended, and all that follows from it.

    An iteration that somebody else ended meanwhile is left as it is. A sprint that was
    stopped meanwhile takes what is done, but not that the goal is reached.
    """

    ran: AgentRan
    verdict: Verdict


def end_turn(sprint: Sprint, command: EndTurn, at: str) -> list[Event]:
    """Decide on `EndTurn`."""
    decided, said = _after_turn(sprint, command, at), command.verdict.said
    return with_said(sprint, decided, said, at, steps=False)


def _after_turn(sprint: Sprint, command: EndTurn, at: str) -> list[Event]:
    ran, verdict = command.ran, command.verdict
    if sprint.plan.turns.number != ran.iteration:
        return [ran]
    if verdict.status == COMPLETED and isinstance(verdict, Turn):
        return [ran, *_went_well(sprint, verdict, at)]
    if not sprint.is_running:
        return [ran]
    if waits := wait_as_said(sprint, ran, verdict, at):
        return [ran, *waits]
    if verdict.status in NO_SUCCESS:
        failed = FailIteration(verdict.error or NO_REASON, verdict.category)
        events = fail_iteration(sprint, failed, at)
        if ran.is_fallback:
            events = [_by_fallback(event) for event in events]
        return [as_failure(ran), *events]
    return [ran, *need_human(sprint, need_as_said(verdict), at)]


def _by_fallback(event: Event) -> Event:
    is_failure = isinstance(event, IterationFailed)
    return replace(event, is_fallback=True) if is_failure else event


def _went_well(sprint: Sprint, turn: Turn, at: str) -> list[Event]:
    ended = end_iteration(sprint, EndIteration(summary=turn.summary), at)
    if sprint.plan.status == COMPLETED:
        return ended
    steps = take_steps(sprint, completed=turn.completed, pending=turn.pending)
    if not turn.is_goal:
        return [*steps, *ended]
    leaf, plan = sprint.plan.tree.open_leaf(), sprint.plan
    if sprint.is_running and leaf is None:
        return [*steps, *ended, reach_goal(sprint, summary=turn.summary, besides=steps)]
    open_one = f"phase {leaf.address} is {leaf.status}" if leaf else None
    why = open_one if sprint.is_running and open_one else f"the sprint is {plan.status}"
    return [*steps, *ended, GoalClaimed(plan.turns.number, why, turn.summary)]


COMMANDS: Commands = {StartTurn: start_turn, EndTurn: end_turn}
