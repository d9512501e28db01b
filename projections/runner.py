"""Updates projections to the current state of the log, without recording anything.

A projection stores the position it has reached and the version of its rules. If the
position does not match the log, or the rules have changed, the projection starts over.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event, Kind
from sprintlog.engine.log.port import Log
from sprintlog.engine.service.event_filter import between
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_of, sprint_stream
from sprintlog.engine.sprint.events import RolledBack
from sprintlog.engine.sprint.state.effective_history import VersionRange, turns

from .workspace import Workspace


class Mark(NamedTuple):
    """A projection's progress: the position and hash of the last event that it has read."""

    rules: int
    """The version of the projection's rules at that time."""
    place: int
    """A position in the log or a version of the stream; 0 before the first event."""
    hash: bytes


class Happened(NamedTuple):
    """An event, and the earlier events that it discarded or made effective again."""

    recorded: RecordedEvent
    event: Event
    voided: tuple[RecordedEvent, ...] = ()
    """The events discarded by this event; empty unless it is a rollback."""
    restored: tuple[RecordedEvent, ...] = ()
    """The events made effective again; empty unless it undoes a rollback."""


class StoredProjection(Protocol):
    """The scope of a projection, and how it stores its mark."""

    @property
    def version(self) -> int:
        """Return the version of the rules, which is increased when the results change."""

    @property
    def stream(self) -> str | None:
        """Return the stream that the projection reads, or None for the complete log."""

    def mark(self) -> Mark | None:
        """Return the last stored mark, or None if there is none."""

    def begin(self) -> None:
        """Reset the projection before the log is read again."""

    def keep(self, mark: Mark) -> None:
        """Store the processed events with the mark."""


class Projection(StoredProjection, Protocol):
    """A projection whose state is stored."""

    def evolve(self, events: Iterable[RecordedEvent]) -> None:
        """Process the next events."""


class SprintProjection(StoredProjection, Protocol):
    """A projection of one sprint that also receives the effects of rollbacks."""

    def evolve(self, one: Happened) -> None:
        """Process the next event."""


def catch_up(log: Log, projection: Projection) -> bool:
    """Bring a projection up to date; return whether it has changed."""
    stream = projection.stream
    after, is_new = _start(log, projection)
    end = log.head().position if stream is None else log.version(stream)
    if after < end:
        projection.evolve(between(log, stream, after + 1, end))
        projection.keep(Mark(projection.version, end, _hash_at(log, stream, end)))
    return is_new or after < end


def catch_up_sprint(workspace: Workspace, projection: SprintProjection) -> bool:
    """Bring a projection of one sprint up to date; return whether it has changed."""
    log, stream = workspace.log, projection.stream or ""
    after, is_new = _start(log, projection)
    seen = after
    for one in happened(workspace, sprint_of(stream) or "", after=after):
        projection.evolve(one)
        seen = one.recorded.version
    if after < seen:
        projection.keep(Mark(projection.version, seen, _hash_at(log, stream, seen)))
    return is_new or after < seen


def happened(workspace: Workspace, sprint_id: str, *, after: int = 0) -> Iterator[Happened]:
    """Yield a sprint's events after a version, with the earlier events that they affect.

    A projection stores the last version it has seen, and continues after that version.
    """
    stream = sprint_stream(sprint_id)
    head = workspace.log.version(stream)
    rollbacks = workspace.repository.rollbacks(sprint_id, head)
    changed = {turn.version: turn for turn in turns(rollbacks) if turn.version > after}
    for recorded in workspace.log.read_stream(stream, after=after, until=head):
        event = CODEC.decode(recorded)
        if not isinstance(event, RolledBack):
            yield Happened(recorded, event)
            continue
        turned = changed[recorded.version]
        yield Happened(
            recorded,
            event,
            tuple(_work(workspace, stream, turned.gone)),
            tuple(_work(workspace, stream, turned.back)),
        )


def _work(
    workspace: Workspace, stream: str, stretches: Iterable[VersionRange]
) -> Iterator[RecordedEvent]:
    """Yield the execution events in version ranges; only such events can be discarded."""
    for first, last in stretches:
        for event in workspace.log.read_stream(stream, after=first - 1, until=last):
            if CODEC.decode(event).kind is Kind.EXECUTION:
                yield event


def _start(log: Log, projection: StoredProjection) -> tuple[int, bool]:
    """Return the position from which a projection continues, and whether it starts over."""
    mark = projection.mark()
    if (
        mark is not None
        and mark.rules == projection.version
        and mark.hash == _hash_at(log, projection.stream, mark.place)
    ):
        return mark.place, False
    projection.begin()
    return 0, True


def _hash_at(log: Log, stream: str | None, place: int) -> bytes:
    """Return the hash of the event at a position, or empty bytes if there is no event."""
    found = next(between(log, stream, place, place), None) if place else None
    return found.hash if found is not None else b""
