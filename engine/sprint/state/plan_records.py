"""The records of a plan that its document does not contain.

These are the loop's counters, the wait for a limit, and the last event about each subject.
Agents retry commands: a command whose event is still the last about its subject records
nothing (SPR-042).
"""

from typing import Any, Generic, TypeVar, cast

import msgspec

from ...errors import InvalidInputError
from ...log.event import Event
from .. import events as f
from .times import parse

CLOCK_STEP_SECONDS = 60
"""A clock that is more than this before the start of a wait must have been set back."""


class LoopCounters(msgspec.Struct, array_like=True):
    """The counters of a loop for a goal, computed from the effective events."""

    number: int = 0
    """The current iteration; 0 between iterations."""
    ended: int = 0
    """The last iteration that ended."""
    idle: int = 0
    """The number of iterations that ended since a step was completed or added."""
    moved: bool = False
    """Whether a step was completed or added in the current iteration."""
    reflects: bool = False
    """Whether reflection has started since a step was last completed or added."""
    failures: int = 0
    """The number of failed runs of the current iteration."""
    due: str | None = None
    """The earliest time at which the iteration may be run again."""
    error: str | None = None
    """The error in the current iteration's last run."""
    claimed: int = 0
    """The last iteration that claimed the goal without reaching it so far."""
    forgiven: int = 0
    """The number of failed runs before a person intervened."""
    refused: int = 0
    """The number of consecutive claims that the evidence refused."""

    @property
    def idle_next(self) -> int:
        """Return the idle count after the end of the current iteration."""
        return self.idle + (self.number > 0 and not self.moved)

    def begin(self, number: int) -> None:
        """Start an iteration, after ending any iteration that was left open."""
        self.end()
        self.number = number

    def end(self) -> None:
        """End the current iteration, if there is one."""
        self.idle, self.moved = self.idle_next, False
        self.ended, self.number = self.number or self.ended, 0
        self.failures, self.forgiven, self.due, self.error = 0, 0, None, None

    def move(self) -> None:
        """Record that a step was completed or added."""
        self.idle, self.reflects = 0, False
        self.moved = self.number > 0

    def fail(self, error: str, due: str | None) -> None:
        """Record that the current iteration's run failed."""
        self.failures, self.error, self.due = self.failures + 1, error, due


class LimitWait(msgspec.Struct, array_like=True):
    """The latest wait for a limit, for a leaf, a gate's repair or an iteration."""

    since: str
    until: str
    phase: str = ""
    """The address of the leaf, or of the phase whose gate is being repaired."""
    iteration: int | None = None
    """The iteration of a loop for a goal; None for a leaf or a gate."""
    waits: int = 1
    """The number of consecutive waits, including this one."""
    why: str | None = None
    waits_for: str | None = None
    said_by: str | None = None
    is_fallback: bool = False
    """Whether the loop's fallback waits as well."""

    def is_of(self, phase: str, iteration: int | None) -> bool:
        """Return whether the wait applies to this phase or iteration."""
        return self.phase == phase and self.iteration == iteration

    def holds(self, now: str) -> bool:
        """Return whether the wait still applies.

        A wait no longer applies if the clock was set back after the wait started, because
        its end is then uncertain.
        """
        try:
            until, since, at = parse(self.until), parse(self.since), parse(now)
        except InvalidInputError:
            return False
        return at < until and (since - at).total_seconds() <= CLOCK_STEP_SECONDS


OfSprint = f.AboutSprint | f.HumanNeeded | f.BreakpointReached | f.GoalCompleted
Kind = TypeVar("Kind", bound=Event)
Stored = tuple[str, dict[str, Any]]
"""An event as stored in a checkpoint: its type and its fields."""
BY_TYPE = {event.type: event for event in f.EVENTS}


class Latest(dict[str, "Kind | Stored"], Generic[Kind]):
    """The last events about the subjects of one kind, by subject."""

    def of(self, name: str) -> Kind | None:
        """Return the last event about a subject, or None."""
        kept = self.get(name)
        if not isinstance(kept, tuple):
            return kept
        # An event read from a checkpoint is still in its stored format.
        event = cast("Kind", _event(kept))
        self[name] = event
        return event

    def stored(self) -> dict[str, Stored]:
        """Return the events in the form that a checkpoint stores."""
        return {k: v if isinstance(v, tuple) else _stored(v) for k, v in self.items()}

    def forget_indices(self) -> None:
        """Remove the events addressed by an index, which may now refer to another node."""
        for name in [name for name in self if is_by_index(name)]:
            del self[name]


class LastEvents(msgspec.Struct):
    """The last event about each subject of a plan."""

    breakpoint: f.BreakpointReached | None = None
    """A breakpoint reached while the sprint was blocked, which takes effect later."""
    claim: f.GoalClaimed | None = None
    decided: f.ClaimAccepted | f.ClaimRefused | None = None
    """The decision on the last claim."""
    review: f.ClaimReviewed | None = None
    """The second opinion on the last claim."""
    failure: f.IterationFailed | None = None
    failures: Latest[f.PhaseFailed] = msgspec.field(default_factory=Latest)
    """The last failure of each unfinished leaf, by address."""
    gates: Latest[f.GateStarted | f.GateChecked] = msgspec.field(default_factory=Latest)
    """The last event about each gate, by address."""
    goal: f.GoalSet | None = None
    hooks: Latest[f.AboutHook] = msgspec.field(default_factory=Latest)
    """The last event about each hook, by hook id."""
    iteration: f.IterationStarted | f.IterationEnded | None = None
    limit: f.IterationsLimited | None = None
    nodes: Latest[f.AboutPhase | f.Injection] = msgspec.field(default_factory=Latest)
    repaired: Latest[f.GateRepaired] = msgspec.field(default_factory=Latest)
    """The repaired gates that must be checked again, by address."""
    sprint: OfSprint | None = None
    work: Latest[f.WorkDone] = msgspec.field(default_factory=Latest)
    """The leaves whose work is done but which have not ended, by address."""

    def __bool__(self) -> bool:
        """Return whether anything was recorded about any subject."""
        return any(getattr(self, name) for name in self.__struct_fields__)

    def forget_indices(self) -> None:
        """Remove the events addressed by an index, which may now refer to another node."""
        for latest in self.nodes, self.gates, self.work, self.repaired, self.failures:
            latest.forget_indices()

    def stored(self) -> dict[str, dict[str, Stored]]:
        """Return the events as a checkpoint stores them: by field and by subject name."""
        found = {}
        for name in self.__struct_fields__:
            if kept := getattr(self, name):
                is_one = isinstance(kept, Event)
                found[name] = {"": _stored(kept)} if is_one else kept.stored()
        return found


def read(stored: dict[str, dict[str, Stored]]) -> LastEvents:
    """Return the last events that a checkpoint stored."""
    last = LastEvents()
    for name, kept in stored.items():
        latest = getattr(last, name)
        if isinstance(latest, Latest):
            latest.update(kept)
        else:
            setattr(last, name, _event(kept[""]))
    return last


def without_indices(addresses: dict[str, Any]) -> dict[str, Any]:
    """Return the entries whose addresses contain no index."""
    return {name: kept for name, kept in addresses.items() if not is_by_index(name)}


def is_by_index(address: str) -> bool:
    """Return whether any segment of an address is an index."""
    return "/#" in f"/{address}"


def _stored(event: Event) -> Stored:
    return event.type, msgspec.to_builtins(event)


def _event(stored: Stored) -> Event:
    return msgspec.convert(stored[1], BY_TYPE[stored[0]])
