"""Iterations of somebody else's loop: one for each command that is wrapped; rules.

They are facts, whatever the sprint's status and limits say. Several may be under way at
once: each is ended by its number.
"""

from ...command import Command, Commands
from ...log.event import Event
from ..answers.items import SaidItems
from ..events import AgentRan, IterationEnded, IterationStarted
from ..queue.returns import with_said
from ..state.goal_settings import max_iterations
from ..state.sprint import Sprint
from ..state.transitions import check_exists


class StartWrapped(Command, frozen=True):
    """Begin an iteration for a command that another loop runs."""

    before: str | None = None
    """The snapshot of the files with which it begins, if they were looked at."""


def start_wrapped(sprint: Sprint, command: StartWrapped, at: str) -> list[Event]:
    """Decide on `StartWrapped`."""
    check_exists(sprint)
    number = sprint.knowledge.iteration_max + 1
    most = max_iterations(sprint.plan.document)
    is_beyond = most is not None and number > most
    return [
        IterationStarted(
            number, beyond_limit=is_beyond, is_wrapped=True, before=command.before
        )
    ]


class EndWrapped(Command, frozen=True):
    """Say how such a command ended; with `ends` its iteration ends, too."""

    ran: AgentRan
    ends: bool = True
    summary: str | None = None
    said: SaidItems | None = None
    """What the agent said beside that; no step is changed by it."""


def end_wrapped(sprint: Sprint, command: EndWrapped, at: str) -> list[Event]:
    """Decide on `EndWrapped`."""
    check_exists(sprint)
    number = command.ran.iteration
    events: list[Event] = [command.ran]
    if number is not None and command.ends:
        events.append(IterationEnded(number, command.summary))
    return with_said(sprint, events, command.said, at, steps=False)


COMMANDS: Commands = {StartWrapped: start_wrapped, EndWrapped: end_wrapped}
