"""The work that an undo or a redo takes back together with its target."""

from collections.abc import Iterable

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event, Kind
from sprintlog.engine.log.port import Log
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.service.streams.history import append_end
from sprintlog.engine.sprint.events import ActivitySeen, RolledBack
from sprintlog.engine.sprint.state.effective_history import (
    effective_ranges,
    stretches_only_in,
)
from sprintlog.engine.sprint.state.sprint import Sprint


def undone_event(log: Log, events: Iterable[RecordedEvent]) -> RecordedEvent | None:
    """Return what the rollback among events took back; None where it is no undo."""
    for event in events:
        taken = CODEC.decode(event)
        if isinstance(taken, RolledBack) and taken.undoes is not None:
            at = taken.undoes
            (undone,) = log.read_stream(event.stream, after=at - 1, until=at)
            return undone
    return None


def work_gone(log: Log, sprint: Sprint) -> list[RecordedEvent]:
    """Return the work that the last undo or redo took along with what it took back."""
    stream, rollbacks = sprint_stream(sprint.id), sprint.knowledge.rollbacks
    at, _ = rollbacks[-1]
    last = log.read_stream(stream, after=at - 1, until=at)
    if (undone := undone_event(log, last)) is None:
        return []
    # What was recorded in one append with it is no later work.
    since = append_end(log, sprint, undone.version)
    return [
        event
        for first, end in stretches_only_in(
            effective_ranges(rollbacks, at - 1), effective_ranges(rollbacks, at)
        )
        for event in log.read_stream(stream, after=max(first - 1, since), until=end)
        if _is_work(CODEC.decode(event))
    ]


def _is_work(event: Event) -> bool:
    return event.kind is Kind.EXECUTION and not isinstance(event, ActivitySeen)
