"""The last event about each subject, by which a repeated command is recognised.

Agents retry: a command whose event is still the last one about its subject records
nothing (SPR-042).
"""

from typing import Any, Generic, TypeVar, cast

import msgspec

from ...log.event import Event
from .. import events as f

OfSprint = (
    f.SprintStarted
    | f.SprintPaused
    | f.BreakpointReached
    | f.SprintBlocked
    | f.HumanNeeded
    | f.SprintInterrupted
    | f.SprintResumed
    | f.SprintCompleted
    | f.SprintReopened
    | f.GoalCompleted
)
OfNode = (
    f.PhaseStarted
    | f.PhaseCompleted
    | f.PhaseFailed
    | f.PhaseBlocked
    | f.PhaseSkipped
    | f.PhaseRetried
    | f.PhaseReopened
    | f.Injection
)
OfGate = f.GateStarted | f.GateChecked

Kind = TypeVar("Kind", bound=Event)
Stored = tuple[str, dict[str, Any]]
"""An event as a checkpoint keeps it: its type and its fields."""
BY_TYPE = {event.type: event for event in f.EVENTS}


class Latest(dict[str, "Kind | Stored"], Generic[Kind]):
    """The last events about the subjects of one kind, by name."""

    def of(self, name: str) -> Kind | None:
        """Return the last event about a subject, None without one."""
        kept = self.get(name)
        if not isinstance(kept, tuple):
            return kept
        # One that was read from a checkpoint is still in its stored form.
        event = cast("Kind", _event(kept))
        self[name] = event
        return event

    def stored(self) -> dict[str, Stored]:
        """Return them as a checkpoint keeps them."""
        return {k: v if isinstance(v, tuple) else _stored(v) for k, v in self.items()}

    def forget_indices(self) -> None:
        """Forget what is addressed by its index, since that may be another one now."""
        for name in [name for name in self if is_by_index(name)]:
            del self[name]


class LastEvents:
    """The last event about each subject of a plan."""

    __slots__ = (
        *("breakpoint", "claim", "failure", "failures", "gates", "goal", "hooks"),
        *("iteration", "limit", "nodes", "repaired", "sprint", "work"),
    )

    def __init__(self) -> None:
        self.sprint: OfSprint | None = None
        self.breakpoint: f.BreakpointReached | None = None
        """One that was reached while the sprint was blocked anyway, and is to come."""
        self.iteration: f.IterationStarted | f.IterationEnded | None = None
        self.limit: f.IterationsLimited | None = None
        self.goal: f.GoalSet | None = None
        self.claim: f.GoalClaimed | None = None
        self.failure: f.IterationFailed | None = None
        self.nodes: Latest[OfNode] = Latest()
        """By address, as the next three are."""
        self.gates: Latest[OfGate] = Latest()
        self.work: Latest[f.WorkDone] = Latest()
        """Done, and its end is to come."""
        self.repaired: Latest[f.GateRepaired] = Latest()
        """By the gate's address: it is to be checked again."""
        self.failures: Latest[f.PhaseFailed] = Latest()
        """How a leaf failed last, by its address, until it is finished."""
        self.hooks: Latest[f.AboutHook] = Latest()
        """By the hook's id."""

    def __bool__(self) -> bool:
        """Tell whether anything was recorded about any subject."""
        return any(getattr(self, name) for name in self.__slots__)

    def forget_indices(self) -> None:
        """Forget what is addressed by its index, since that may be another one now."""
        found = self.nodes, self.gates, self.work, self.repaired, self.failures
        for latest in found:
            latest.forget_indices()

    def stored(self) -> dict[str, dict[str, Stored]]:
        """Return them as a checkpoint keeps them, those about one subject without name."""
        found = {}
        for name in self.__slots__:
            if kept := getattr(self, name):
                is_one = isinstance(kept, Event)
                found[name] = {"": _stored(kept)} if is_one else kept.stored()
        return found


def read(stored: dict[str, dict[str, Stored]]) -> LastEvents:
    """Return the last events that a checkpoint kept."""
    last = LastEvents()
    for name, kept in stored.items():
        latest = getattr(last, name)
        if isinstance(latest, Latest):
            latest.update(kept)
        else:
            setattr(last, name, _event(kept[""]))
    return last


def without_indices(addresses: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept by address, without what is addressed by its index."""
    return {name: kept for name, kept in addresses.items() if not is_by_index(name)}


def is_by_index(address: str) -> bool:
    """Tell whether any part of an address is an index."""
    return "/#" in f"/{address}"


def _stored(event: Event) -> Stored:
    return event.type, msgspec.to_builtins(event)


def _event(stored: Stored) -> Event:
    return msgspec.convert(stored[1], BY_TYPE[stored[0]])
