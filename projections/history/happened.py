"""What happens to a sprint, event by event, for projections that others write."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event, Kind
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.sprint.events import RolledBack
from sprintlog.engine.sprint.iterations.rollback import Interval, path, stretches_only_in

from ..workspace import Workspace


class Happened(NamedTuple):
    """One event, and what became of earlier ones with it."""

    recorded: RecordedEvent
    event: Event
    voided: tuple[RecordedEvent, ...] = ()
    """What does not count any more since; only a rollback does that."""
    restored: tuple[RecordedEvent, ...] = ()
    """What counts again since; only the undoing of a rollback does that."""


def happened(workspace: Workspace, sprint_id: str, *, after: int = 0) -> Iterator[Happened]:
    """Yield what happened to a sprint after a version, up to now.

    A projection remembers the last version it has seen, and goes on from there.
    """
    stream = sprint_stream(sprint_id)
    head = workspace.log.version(stream)
    rollbacks = workspace.reader.rollbacks(sprint_id, head)
    for recorded in workspace.log.read_stream(stream, after=after, until=head):
        event = CODEC.decode(recorded)
        if not isinstance(event, RolledBack):
            yield Happened(recorded, event)
            continue
        version = recorded.version
        before, now = path(rollbacks, version - 1), path(rollbacks, version)
        yield Happened(
            recorded,
            event,
            tuple(_work(workspace, stream, stretches_only_in(before, now))),
            tuple(_work(workspace, stream, stretches_only_in(now, before))),
        )


def _work(
    workspace: Workspace, stream: str, stretches: Iterable[Interval]
) -> Iterator[RecordedEvent]:
    """Yield what of some stretches can be voided: what was learned never is."""
    for first, last in stretches:
        for event in workspace.log.read_stream(stream, after=first - 1, until=last):
            if CODEC.decode(event).kind is Kind.EXECUTION:
                yield event
