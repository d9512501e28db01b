"""The original appends of a sprint: which of its events belong together.

A fork copies its events in a few large appends. The boundaries that matter to a rollback,
an undo or another fork are those in the stream from which each event was copied.
"""

from collections.abc import Iterator

from ...log.envelope import RecordedEvent
from ...log.port import Log
from ...sprint.state.sprint import Sprint
from .catalogue import sprint_stream


def first_recorded(
    log: Log, sprint: Sprint, *, after: int, until: int
) -> Iterator[RecordedEvent]:
    """Yield the events of a sprint, for a fork those that it copied from its origin."""
    for last, stream in (*sprint.knowledge.forks, (until, sprint_stream(sprint.id))):
        end = min(last, until)
        if after < end:
            yield from log.read_stream(stream, after=after, until=end)
            after = end


def append_end(log: Log, sprint: Sprint, version: int) -> int:
    """Return the last version of the append that contains a version."""
    found = first_recorded(log, sprint, after=version - 1, until=version)
    return version + sum(event.remaining for event in found)
