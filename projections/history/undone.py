"""What goes along when something is taken back: the work that was recorded since."""

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event, Kind
from sprintlog.engine.log.port import Log
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.sprint.events import ActivitySeen, RolledBack
from sprintlog.engine.sprint.iterations.stretches import path, stretches_only_in
from sprintlog.engine.sprint.state.sprint import Sprint


def work_gone(log: Log, sprint: Sprint) -> list[RecordedEvent]:
    """Return the work that the last undo or redo took along with what it took back."""
    stream, rollbacks = sprint_stream(sprint.id), sprint.knowledge.rollbacks
    at, _ = rollbacks[-1]
    (last,) = log.read_stream(stream, after=at - 1, until=at)
    taken = CODEC.decode(last)
    if not isinstance(taken, RolledBack) or taken.undoes is None:
        return []
    (undone,) = log.read_stream(stream, after=taken.undoes - 1, until=taken.undoes)
    # What was recorded in one append with it is no later work.
    since = taken.undoes + undone.remaining
    return [
        event
        for first, end in stretches_only_in(path(rollbacks, at - 1), path(rollbacks, at))
        for event in log.read_stream(stream, after=max(first - 1, since), until=end)
        if _is_work(CODEC.decode(event))
    ]


def _is_work(event: Event) -> bool:
    return event.kind is Kind.EXECUTION and not isinstance(event, ActivitySeen)
