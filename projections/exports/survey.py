"""A first pass over a log, which collects what an export must know before its first event.

A rollback voids events before it, and a tool call ends before the run that made it. So the
log is read twice: here, where its chain is verified, and again by each format. Memory grows
with rollbacks, runs and sessions, not with events.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from operator import attrgetter
from typing import NamedTuple

from sprintlog.engine.errors import UnreadableError
from sprintlog.engine.log.chain import Row, check_rows, recorded
from sprintlog.engine.log.envelope import Head, RecordedEvent
from sprintlog.engine.log.port import EventStore
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sessions.names import session_stream
from sprintlog.engine.sprint.events import ActivitySeen, AgentRan, RolledBack
from sprintlog.engine.sprint.state.effective_history import Interval, lies_on, path

from .span import SPAN_BYTES, nanoseconds

TYPES = (AgentRan.type, ActivitySeen.type)


class CallingRun(NamedTuple):
    """A run of an agent, as far as its calls need to know it."""

    stream: str
    """Of the sprint that it worked for."""
    span: bytes
    ended: int
    """In nanoseconds since 1970."""


class ToolCallers:
    """The runs of agents by session and by work, and which sprint has which work."""

    def __init__(self) -> None:
        self._by_session: defaultdict[str, list[CallingRun]] = defaultdict(list)
        self._by_work: defaultdict[str, list[CallingRun]] = defaultdict(list)
        self._sprints: dict[str, str] = {}

    def look(self, recorded: RecordedEvent) -> None:
        """Note an event of one of `TYPES`."""
        if recorded.type == ActivitySeen.type:
            self._sprints[recorded.correlation_id] = recorded.stream
            return
        ran = None if recorded.payload is None else CODEC.decode(recorded)
        if isinstance(ran, AgentRan) and ran.is_rest:
            return
        caller = CallingRun(
            recorded.stream, recorded.hash[:SPAN_BYTES], nanoseconds(recorded.at)
        )
        self._by_work[recorded.correlation_id].append(caller)
        if isinstance(ran, AgentRan) and ran.agent:
            for session in ran.sessions:
                self._by_session[session_stream(ran.agent, session)].append(caller)

    def of(self, call: RecordedEvent) -> CallingRun | None:
        """Return the run of a call: the first that ended no earlier, else the last.

        A run that names the session counts before one that only has its correlation id.
        """
        found = self._by_session.get(call.stream) or self._by_work.get(call.correlation_id)
        if not found:
            return None
        at = bisect_left(found, nanoseconds(call.at), key=attrgetter("ended"))
        return found[min(at, len(found) - 1)]

    def sprint_of(self, call: RecordedEvent) -> str | None:
        """Return the stream of the sprint whose work a call was part of, without a run."""
        return self._sprints.get(call.correlation_id)


SOURCE_CHARS = 32

Look = Callable[[RecordedEvent], object]
Progress = Callable[[int], None]

_TYPE = 4
"""Where a row has the type of its event."""


class Survey(NamedTuple):
    """What is known of a log up to its head."""

    head: Head
    source: str
    """Names the log: the hash of its first event. A copy of it is the same log."""
    paths: dict[str, list[Interval]]
    """What is in force of the streams that were rolled back."""

    def is_in_force(self, event: RecordedEvent) -> bool:
        """Tell whether no rollback went back before an event."""
        found = self.paths.get(event.stream)
        return found is None or lies_on(found, event.version)


def survey(
    log: EventStore,
    *,
    types: Collection[str] = (),
    look: Look = lambda event: None,
    progress: Progress = lambda count: None,
) -> Survey:
    """Check the chain of a log, and return what its export needs to know.

    Events of some types are looked at on the way. Raise `UnreadableError` at the first
    problem, before anything is told.
    """
    head = log.head()
    noted = _Notes({*types}, look, progress)
    for problem in check_rows(noted.rows(log, head.position)):
        raise UnreadableError(problem.problem, position=problem.position)
    paths = {
        stream: path(found, noted.versions[stream])
        for stream, found in noted.rollbacks.items()
    }
    return Survey(noted.end or Head(0, bytes(32)), noted.source, paths)


class _Notes:
    """What is noted of a log while its rows pass."""

    def __init__(self, types: set[str], look: Look, progress: Progress) -> None:
        self.source = "empty"
        self.end: Head | None = None
        self.rollbacks: dict[str, list[tuple[int, int]]] = {}
        self.versions: dict[str, int] = {}
        self._types, self._look, self._progress = types, look, progress

    def rows(self, log: EventStore, until: int) -> Iterator[Row]:
        """Yield every row; it is noted once the next one is asked for: then it is sound."""
        row: Row | None = None
        for page in log.pages(until=until):
            for row in page:
                yield row
                if row[_TYPE] in self._types:
                    self._look(recorded(row))
                if row[_TYPE] == RolledBack.type:
                    self._note(recorded(row))
                if row[1] in self.rollbacks:
                    self.versions[row[1]] = row[2]
            if row is not None:
                event = recorded(row)
                self.end = Head(event.position, event.hash)
                self._progress(event.position)
            if self.source == "empty":
                self.source = recorded(page[0]).hash.hex()[:SOURCE_CHARS]

    def _note(self, event: RecordedEvent) -> None:
        said = None if event.payload is None else CODEC.decode(event)
        if isinstance(said, RolledBack):
            self.rollbacks.setdefault(event.stream, []).append((event.version, said.to))
