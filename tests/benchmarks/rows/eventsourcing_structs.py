"""The `eventsourcing` library with a msgspec mapper; importing this may raise `Skip`.

The mapper is a documented example, not part of the package. Like the example, this one
stores an event as a struct in JSON, and folds an aggregate with a separate function. The
function omits the checks of the library's own events and fold, so this is the library's
minimum cost.
"""

import sqlite3
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID, uuid4

import msgspec

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events

from .eventsourcing_side import VERSION

__all__ = ["VERSION", "Replay", "Saving"]

if TYPE_CHECKING:
    # The library is installed only for `make bench`, so types are checked without it.
    JSONTranscoder: Any
    get_topic: Any
    resolve_topic: Any
    StoredEvent: Any

    class Application:
        """Saves and returns aggregates."""

        events: Any
        factory: Any
        repository: Any

        def __init__(self, env: dict[str, str]) -> None: ...
        def save(self, *changes: object) -> None:
            """Record events."""

        def close(self) -> None:
            """Close the database."""

    class Mapper:
        """Converts events to their stored form."""

        def __init__(self, transcoder: object) -> None: ...

else:
    from eventsourcing.application import Application
    from eventsourcing.persistence import JSONTranscoder, Mapper, StoredEvent
    from eventsourcing.utils import get_topic, resolve_topic


class Loop:
    """A sprint, as far as the events below change it."""

    def __init__(self, id_: UUID, phases: Iterable[str]) -> None:
        self.id = id_
        self.version = 0
        self.modified_on: datetime | None = None
        self.status = "in-progress"
        self.number = 0
        self.phases: dict[str, dict[str, Any]] = {
            phase: {"status": "pending"} for phase in phases
        }


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the library: to which aggregate, in which order, and when."""

    originator_id: UUID
    originator_version: int
    timestamp: datetime

    def mutate(self, loop: Loop | None) -> Loop:
        """Change the aggregate, and return it."""
        assert loop is not None
        self.apply(loop)
        loop.version = self.originator_version
        loop.modified_on = self.timestamp
        return loop

    def apply(self, loop: Loop) -> None:
        """Apply the change of this event type."""

    @classmethod
    def of(cls, event: Event, **envelope: Any) -> Self:
        """Return an event of sprintlog as one of the library."""
        names = cls.__struct_fields__
        own = {name: getattr(event, name) for name in names if name not in envelope}
        return cls(**own, **envelope)


class Created(Change, frozen=True, kw_only=True):
    """The first event."""

    phases: list[str]

    def mutate(self, loop: Loop | None) -> Loop:
        """Create the aggregate."""
        loop = Loop(self.originator_id, self.phases)
        loop.version = self.originator_version
        return loop


class IterationStarted(Change, frozen=True, kw_only=True):
    """The start of an iteration."""

    number: int

    def apply(self, loop: Loop) -> None:
        loop.number = self.number


class ActivitySeen(Change, frozen=True, kw_only=True):
    """A heartbeat."""


class PhaseStarted(Change, frozen=True, kw_only=True):
    """The start of a phase."""

    phase: str
    model: str | None

    def apply(self, loop: Loop) -> None:
        loop.phases[self.phase].update({"status": "in-progress", "model": self.model})


class PhaseCompleted(Change, frozen=True, kw_only=True):
    """A phase is done."""

    phase: str
    summary: str | None

    def apply(self, loop: Loop) -> None:
        loop.phases[self.phase].update({"status": "completed", "summary": self.summary})


class PhaseFailed(Change, frozen=True, kw_only=True):
    """A phase failed."""

    phase: str
    error: str | None
    category: str | None

    def apply(self, loop: Loop) -> None:
        loop.phases[self.phase].update({"status": "failed", "error": self.error})


class RetryScheduled(Change, frozen=True, kw_only=True):
    """The time of the next attempt at a phase."""

    phase: str
    next_retry_at: str

    def apply(self, loop: Loop) -> None:
        loop.phases[self.phase]["next-retry-at"] = self.next_retry_at


class PhaseReturned(Change, frozen=True, kw_only=True):
    """A phase was reopened."""

    phase: str
    reason: str | None

    def apply(self, loop: Loop) -> None:
        loop.phases[self.phase] = {"status": "pending"}


class Finished(Change, frozen=True, kw_only=True):
    """The sprint is closed."""

    summary: str | None

    def apply(self, loop: Loop) -> None:
        loop.status = "completed"


class Reopened(Change, frozen=True, kw_only=True):
    """The sprint is open again."""

    reason: str | None

    def apply(self, loop: Loop) -> None:
        loop.status = "in-progress"


_KINDS: dict[type[Event], type[Change]] = {
    events.IterationStarted: IterationStarted,
    events.ActivitySeen: ActivitySeen,
    events.PhaseStarted: PhaseStarted,
    events.PhaseCompleted: PhaseCompleted,
    events.PhaseFailed: PhaseFailed,
    events.RetryScheduled: RetryScheduled,
    events.PhaseRetried: PhaseReturned,
    events.PhaseReopened: PhaseReturned,
    events.SprintCompleted: Finished,
    events.SprintReopened: Reopened,
}


class MsgspecMapper(Mapper):
    """Writes an event as JSON through msgspec, as the library's example does."""

    def to_stored_event(self, domain_event: Change) -> Any:
        """Return the stored form of the event."""
        return StoredEvent(
            originator_id=domain_event.originator_id,
            originator_version=domain_event.originator_version,
            topic=get_topic(type(domain_event)),
            state=msgspec.json.encode(domain_event),
        )

    def to_domain_event(self, stored_event: Any) -> Any:
        """Return the original event of a stored one."""
        kind = resolve_topic(stored_event.topic)
        return msgspec.json.decode(stored_event.state, type=kind)


class Structs(Application):
    """An application whose events are structs."""

    def construct_mapper(self) -> Any:
        """Return the mapper."""
        return MsgspecMapper(transcoder=JSONTranscoder())


def _project(loop: Loop | None, changes: Iterable[Change]) -> Loop | None:
    for change in changes:
        loop = change.mutate(loop)
    return loop


def _application(path: Path) -> Structs:
    return Structs(
        {"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(path)}
    )


class Saving:
    """An application that records events individually."""

    def __init__(
        self, path: Path, *, configure: Callable[[sqlite3.Connection], None]
    ) -> None:
        self._application = _application(path)
        self._id = uuid4()
        self._version = 0
        # With a single thread, the pool always returns this same connection.
        with self._application.factory.datastore.get_connection(commit=True) as connection:
            configure(connection.cursor().sqlite_cursor.connection)

    def save_each(self, count: int, event: events.PhaseCompleted) -> None:
        """Save the given number of events individually."""
        for _ in range(count):
            self._application.save(self._next(event))

    def put_each(self, count: int, event: events.PhaseCompleted) -> None:
        """Put a number of events directly into its event store."""
        for _ in range(count):
            self._application.events.put([self._next(event)])

    def _next(self, event: events.PhaseCompleted) -> PhaseCompleted:
        self._version += 1
        return PhaseCompleted(
            originator_id=self._id,
            originator_version=self._version,
            timestamp=datetime.now(UTC),
            phase=event.phase,
            summary=event.summary,
        )

    def pragma(self, name: str) -> object:
        """Return a setting of its writing connection."""
        with self._application.factory.datastore.get_connection(commit=True) as connection:
            cursor = connection.cursor()
            cursor.execute(f"PRAGMA {name}")
            return cursor.fetchone()[0]

    def close(self) -> None:
        """Close the database."""
        self._application.close()


class Replay:
    """An application with one loop whose events are structs."""

    def __init__(self, path: Path, phases: list[str], happened: Iterable[Event]) -> None:
        self._application = _application(path)
        self._id = uuid4()
        now = datetime.now(UTC)
        envelope: dict[str, Any] = {"originator_id": self._id, "timestamp": now}
        made: list[Change] = [Created(originator_version=1, phases=phases, **envelope)]
        for event in happened:
            if kind := _KINDS.get(type(event)):
                made.append(kind.of(event, originator_version=len(made) + 1, **envelope))
        self._application.save(*made)

    def get(self) -> Any:
        """Return the loop, from its events."""
        return self._application.repository.get(self._id, projector_func=_project)

    def close(self) -> None:
        """Close the database."""
        self._application.close()
