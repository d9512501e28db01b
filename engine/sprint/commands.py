"""The commands of a sprint by topic, and the conversion of an event to its command.

`append` uses this conversion so that it follows the same rules as every other command.
"""

from functools import cache
from types import ModuleType
from typing import Any

from ..command import Command, Events, command_from_event
from ..errors import NotFoundError, RefusedError
from ..judging import events as i
from ..log.event import Event, ExtensionEvent, check_event, event_of
from ..sprint import events as f
from .agent import runs
from .events import goal as r
from .events import queue as q
from .iterations import (
    budgets,
    claims,
    decisions,
    described,
    goal,
    hook_tasks,
    loop,
    measurement,
    rollback,
    run_record,
    snapshots,
)
from .phases import gate_checks, leaves, lifecycle, waits
from .plan import adoption, create, goal_steps, injection, recompile
from .queue import decisions as queue_decisions
from .queue import requests
from .state.sprint import Sprint
from .state.transitions import check_exists

TOPICS: tuple[ModuleType, ...] = (
    *(adoption, budgets, claims, create, decisions, goal_steps, goal, hook_tasks),
    *(gate_checks, injection, leaves, lifecycle, loop, measurement, queue_decisions),
    *(run_record, recompile, requests, rollback, runs, snapshots, waits),
    described,
)
BY_TAG = {event.type: event for event in f.EVENTS}
_DERIVED: tuple[tuple[type[Event], str, tuple[str, ...]], ...] = (
    (f.Injection, "position", ("into", "after", "before")),
    (q.RequestDecided, "decision", ("phase",)),
    (i.IterationMeasured, "log", ("previous",)),
)
"""The fields that a command must omit, with their sources."""

_LEFT_OUT: dict[type[Event], dict[str, Any]] = {
    f.GateChecked: {"attempt": 0},
    f.IterationStarted: {"number": 0},
    f.IterationEnded: {"number": 0},
    r.IterationFailed: {"number": 0},
    r.DynamicStepAdded: {"id": ""},
    r.GoalCompleted: {"iteration": 0, "source": ""},
    r.HookTaskSpawned: {"transcript": ""},
    q.RequestQueued: dict.fromkeys(
        ("request", "description", "created_at", "discovered_in"), ""
    ),
    i.IterationMeasured: {"number": 0},
    i.MeasurementFailed: {"number": 0},
}
"""The fields that the command fills in, with their placeholder values."""


@cache
def caused() -> Events:
    """Return the command constructor for each event type that can be requested."""
    tables = (getattr(topic, "CAUSED", {}) for topic in TOPICS)
    return {event: made for table in tables for event, made in table.items()}


def to_event(tag: str, data: object) -> Event:
    """Return the event with the given tag, built from decoded JSON data.

    Raise `NotFoundError` if the tag is unknown, or `RefusedError` naming a field that is
    missing, unknown or of the wrong type.
    """
    if tag not in BY_TAG:
        raise NotFoundError(
            f"there is no event type {tag!r}",
            hint=f"known: {', '.join(BY_TAG)}",
            unknown=(tag, BY_TAG),
            field="type",
        )
    kind = BY_TAG[tag]
    if isinstance(data, dict):
        data = {**_LEFT_OUT.get(kind, {}), **data}
    event = event_of(kind, data)
    for about, source, names in _DERIVED:
        for name in names if isinstance(event, about) else ():
            if getattr(event, name) is not None:
                problem = f"data.{name}: follows from the {source}; omit it"
                raise RefusedError(problem, field=f"data.{name}")
    # A patch that does not apply would make the stream unreadable.
    if isinstance(event, f.SprintImported) and (event.document is None or event.patch):
        raise RefusedError(
            "data.document must be the whole document; sprintlog computes patches",
            field="data.document",
        )
    return event


class ObserveEvent(Command, frozen=True):
    """Record an event that another tool reports, even if it violates the rules."""

    event: Event

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the observed event."""
        check_exists(sprint)
        if isinstance(self.event, ExtensionEvent):
            check_event(self.event)
        if isinstance(self.event, i.IterationMeasured):
            return [measurement.observed_measurement(sprint, self.event)]
        return [self.event]


def command_for(event: Event, *, is_observed: bool) -> Command:
    """Return the command that records an event; most observed events bypass the rules."""
    if is_observed and not event.is_structural:
        return ObserveEvent(event)
    return command_of(event)


def command_of(event: Event) -> Command:
    """Return the command that causes an event; raise `RefusedError` if there is none."""
    if (made := caused().get(type(event))) is None or _follows(event):
        why = event.only_caused or "give a whole document"
        raise RefusedError(
            f"{event.type} cannot be recorded directly: {why}",
            hint="use --observed to record an event of another tool",
            command=event.type,
        )
    return command_from_event(event, made, _LEFT_OUT.get(type(event), {}))


def _follows(event: Event) -> bool:
    """Return whether an event can only result from another command, despite its type."""
    return (isinstance(event, f.RolledBack) and event.undoes is not None) or (
        isinstance(event, f.SprintImported) and event.document is None
    )


class RecordExtensionEvent(Command, frozen=True):
    """Record an extension's event."""

    event: ExtensionEvent

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the extension's event; raise an error if the sprint does not exist.

        Events of built-in types are rejected because they would change the sprint.
        """
        check_exists(sprint)
        check_event(self.event)
        return [self.event]
