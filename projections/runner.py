"""Brings projections up to date with the log; nothing is recorded about them.

A projection stores the position it has reached and the version of its rules. If this log
has no such position, or the rules are newer, it starts from the beginning.
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
    """Up to where a projection goes: the place of the last event it has seen, its hash."""

    rules: int
    """The version of the projection when it saw that."""
    place: int
    """A position of the log, or a version of the stream; 0 for nothing yet."""
    hash: bytes


class Happened(NamedTuple):
    """One event, and what became of earlier ones with it."""

    recorded: RecordedEvent
    event: Event
    voided: tuple[RecordedEvent, ...] = ()
    """What does not count any more since; only a rollback does that."""
    restored: tuple[RecordedEvent, ...] = ()
    """What counts again since; only the undoing of a rollback does that."""


class StoredProjection(Protocol):
    """The name and the scope of a projection, and how it stores its mark."""

    @property
    def name(self) -> str:
        """Return its name."""

    @property
    def version(self) -> int:
        """Return the version of its rules: other ones make something else of events."""

    @property
    def stream(self) -> str | None:
        """Return the stream it reads; None for the whole log."""

    def mark(self) -> Mark | None:
        """Return the last stored mark; None without one."""

    def begin(self) -> None:
        """Forget everything; the log is read again."""

    def keep(self, mark: Mark) -> None:
        """Store the events read, with the mark."""


class Projection(StoredProjection, Protocol):
    """A reading of the log that is kept."""

    def evolve(self, events: Iterable[RecordedEvent]) -> None:
        """Take in the events that come next."""


class SprintProjection(StoredProjection, Protocol):
    """A reading of one sprint that learns which events a rollback discarded."""

    def evolve(self, one: Happened) -> None:
        """Take in what happened next."""


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
    """Yield what happened to a sprint after a version, up to now.

    A projection remembers the last version it has seen, and goes on from there.
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
        version = recorded.version
        turned = changed[version]
        yield Happened(
            recorded,
            event,
            tuple(_work(workspace, stream, turned.gone)),
            tuple(_work(workspace, stream, turned.back)),
        )


def _work(
    workspace: Workspace, stream: str, stretches: Iterable[VersionRange]
) -> Iterator[RecordedEvent]:
    """Yield the versions in stretches that can be discarded, which excludes knowledge."""
    for first, last in stretches:
        for event in workspace.log.read_stream(stream, after=first - 1, until=last):
            if CODEC.decode(event).kind is Kind.EXECUTION:
                yield event


def _start(log: Log, projection: StoredProjection) -> tuple[int, bool]:
    """Return the place after which a projection continues, and whether it starts again."""
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
    """Return the hash of the event at a place; empty if there is none."""
    found = next(between(log, stream, place, place), None) if place else None
    return found.hash if found is not None else b""
