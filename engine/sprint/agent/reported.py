"""An agent's reports about its work, and the commands that record them.

Which command is used depends on the gate, and on whether the work belongs to a phase or to
the goal.
"""

from ...command import Command
from ...errors import InvalidInputError
from ...log.event import Event
from ..answers.items import SaidItems
from ..answers.verdict import categorise, short
from ..iterations import goal, loop
from ..phases import leaves, lifecycle
from ..queue.returns import events_from_items
from ..state import transitions, tree
from ..state.completion import AGENT
from ..state.sprint import Sprint
from .runs import StartTurn

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
        return _meant(sprint, self).decide(sprint, at)


class TakeSaid(Command, frozen=True):
    """Queue the requests and record the learnings that an agent reported.

    A request that was queued before is not queued again, regardless of the decision on it.
    """

    said: SaidItems

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        transitions.check_exists(sprint)
        return events_from_items(sprint, self.said, at)


def _meant(sprint: Sprint, said: ReportWork) -> Command:
    """Return the command for a report; raise an error if its outcome does not apply."""
    if said.phase is None and sprint.plan.is_at_goal:
        return _of_goal(said)
    return _of_phase(sprint, said)


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
