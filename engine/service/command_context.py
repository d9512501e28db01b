"""Facts from outside a command's stream that the command requires for its decision."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from ..command import UNNAMED, Command
from ..journal.events import LearningReferenced
from ..journal.state import entry_id
from ..log.event import Kind
from ..log.port import Log
from ..sprint.events import EditAdopted, GateStarted, GoalCompleted, SprintCompleted
from ..sprint.iterations import decisions, goal, rollback
from ..sprint.state import completion, effective_history
from ..sprint.state.sprint import Sprint
from . import agents, lost_runs, port, state_file_owner
from .streams import catalogue, evaluation, history

CommandT = TypeVar("CommandT", bound=Command)

UNDOABLE = {"human", "skip", "block", "injection", "request"}
"""The kinds of decisions that `undo` discards one at a time, like adopted edits."""
_WHOLE = {event.type for event in (EditAdopted, GoalCompleted, SprintCompleted)}
"""Events that are undone together with their entire append, whatever their cause."""
EVENTS_LOOKED_AT = 64
"""The number of latest events searched first; each further search doubles it."""


def completed(
    service: port.Service, state: Any, command: CommandT, envelope: port.Envelope
) -> CommandT:
    """Return a command with the facts that it requires, if it `needs_context`."""
    if not command.needs_context:
        return command
    if isinstance(command, goal.CompleteGoal):
        # An agent or a loop cannot claim a goal in the name of a person.
        is_loops = envelope.get("actor", UNNAMED[0]) == UNNAMED[0]
        given = (
            completion.LOOP
            if is_loops and command.source == completion.PERSON
            else command.source
        )
        given = completion.AGENT if agents.is_agents(service, envelope) else given
        return cast(CommandT, replace(command, source=given))
    return cast(CommandT, _COMPLETE[command.name()](service, state, command))


def _is_there(log: Log, sprint: Sprint, to: int) -> bool:
    """Return whether a rollback to a version would leave the plan unchanged."""
    turned = effective_history.turned_by(sprint.knowledge.rollbacks, sprint.version + 1, to)
    if turned.back:
        return False
    stream = catalogue.sprint_stream(sprint.id)
    since = (
        catalogue.CODEC.events.get(event.type)
        for first, last in turned.gone
        for event in log.read_stream(stream, after=first - 1, until=last)
    )
    # An extension's event is also part of the work, so a rollback discards it.
    return not any(kind is None or kind.kind is Kind.EXECUTION for kind in since)


def last_decision(
    log: Log, sprint: Sprint, *, after: int = 0, near: int = EVENTS_LOOKED_AT
) -> int:
    """Return the first version in the append of the latest decision; 0 if there is none.

    A decision is an effective decision event that no other event caused, an adopted edit, a
    completion, or the cause of a stop, such as a failure that blocked the sprint. The
    complete append belongs to the decision. Only versions after `after` are searched.
    """
    # The latest decision is searched for backwards along the effective events.
    for start, last in reversed(
        effective_history.effective_ranges(sprint.knowledge.rollbacks, sprint.version)
    ):
        first, events = max(start, after + 1), near
        while last >= first:
            begin = max(first, last - events + 1)
            if latest := _last_decision_in(log, sprint, begin, last):
                return latest
            last, events = begin - 1, 2 * events
    return 0


def _last_decision_in(log: Log, sprint: Sprint, first: int, last: int) -> int:
    """Return the latest decision between two effective versions; 0 if there is none."""
    latest, caused = 0, False
    # The preceding event shows whether another event caused the first of these.
    for event in history.first_recorded(log, sprint, after=first - 2, until=last):
        kind = catalogue.CODEC.events.get(event.type)
        how = kind.as_decision if kind is not None else None
        is_undoable = how is not None and how.kind in UNDOABLE
        is_one = is_undoable and not caused
        # A stop of the sprint is undone together with its cause.
        is_whole = event.type in _WHOLE or (how and is_undoable and how.stops)
        caused = event.remaining > 0
        if event.version >= first and (is_one or is_whole):
            at = event.version if is_one else _begin_of_append(log, sprint, event.version)
            if event.causation_id is not None:
                at = _begin_of_gate(log, sprint, at, event.causation_id)
            latest = latest if at in sprint.knowledge.undone else at
    return latest


def _begin_of_append(log: Log, sprint: Sprint, version: int) -> int:
    """Return the first version in the append that contains the given version."""
    while version > 1:
        if history.append_end(log, sprint, version - 1) < version:
            break
        version -= 1
    return version


def _begin_of_gate(log: Log, sprint: Sprint, at: int, cause: str) -> int:
    """Return the version at which the gate run behind an append started, or `at`.

    After a rollback to a version within the run, the gate would be running without a
    process.
    """
    near = max(at - 1 - EVENTS_LOOKED_AT, 0)
    for event in history.first_recorded(log, sprint, after=near, until=at - 1):
        if event.id == cause and event.type == GateStarted.type:
            return event.version
    return at


def _roll_back(service: port.Service, sprint: Sprint, command: Any) -> Any:
    inside = history.append_end(service.log, sprint, command.to) > command.to
    there = _is_there(service.log, sprint, command.to)
    return replace(command, is_inside_append=inside, is_there=there)


def _undo(service: port.Service, sprint: Sprint, command: Any) -> Any:
    # The latest effective rollback is undone before anything older.
    since = rollback.rollback_to_undo(sprint) or 0
    return replace(command, first=last_decision(service.log, sprint, after=since))


def _judged(service: port.Service, sprint: Sprint, command: Any) -> Any:
    """Return a command about iterations with the judgements that it requires."""
    number: Any = getattr(command, "number", None)
    if (name := command.name()) == "retract-measurement":
        decisions.check_retraction(sprint, number, command.reason)
    judged = evaluation.evaluate(service.log, sprint)
    match name:
        case "give-recommendation":
            return replace(command, given=judged.recommendation().event)
        case "retract-measurement":
            return replace(command, retracted=judged.retraction(number, command.reason))
        case "accept-instruments":
            return replace(command, accepted=judged.acceptance(number, command.reason))
        case "replace-baseline":
            return replace(command, metrics=judged.one(number).metrics)
        case "prune-snapshots":
            return replace(command, target=judged.target())
        case _:
            chosen = number is not None
            found = judged.chosen(number, command.reason) if chosen else judged.selection()
            return replace(command, selected=found.event)


def _capture_baseline(service: port.Service, sprint: Sprint, command: Any) -> Any:
    if command.loop_id is not None:
        state_file_owner.check_loop(service, sprint, command.loop_id)
    return command


def _of_gate(service: port.Service, sprint: Sprint, command: Any) -> Any:
    return replace(command, lost=lost_runs.lost_run(sprint, command.phase))


def _with_ours(service: port.Service, journal: Any, command: Any) -> Any:
    return replace(command, ours=service.documents.current(journal.id))


def _hand_over(service: port.Service, journal: Any, command: Any) -> Any:
    entry = entry_id(command.prd_id, command.iteration)
    before = service.journals.events(journal.id, LearningReferenced)
    known = {event.learning_id for event in before if event.entry_id == entry}
    new = tuple(one for one in command.learning_ids if one not in known)
    return replace(command, learning_ids=new)


_JUDGED = (
    *("give-recommendation", "select-best", "retract-measurement", "replace-baseline"),
    *("accept-instruments", "prune-snapshots"),
)
_COMPLETE: dict[str, Callable[[port.Service, Any, Any], Any]] = {
    "roll-back": _roll_back,
    "undo": _undo,
    **dict.fromkeys(_JUDGED, _judged),
    "capture-baseline": _capture_baseline,
    "start-gate": _of_gate,
    "record-gate": _of_gate,
    "take-text": _with_ours,
    "take-document": _with_ours,
    "adopt-journal-edit": _with_ours,
    "hand-over-learnings": _hand_over,
}
