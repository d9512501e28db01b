"""A log's events for other tools: verified, masked and, by default, without text.

Without content, an event has the fields that would remain after an erasure: addresses,
names and figures. All data is masked, including imported data.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.errors import UnreadableError
from sprintlog.engine.log.chain import Row, check_rows, recorded
from sprintlog.engine.log.codec import encode
from sprintlog.engine.log.envelope import Head, RecordedEvent
from sprintlog.engine.log.event import ERASED, Event, Kind
from sprintlog.engine.log.port import EventStore
from sprintlog.engine.masking import mask, mask_all
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_of
from sprintlog.engine.sessions.names import session_of
from sprintlog.engine.sprint.events import EVENTS, IterationStarted, RolledBack
from sprintlog.engine.sprint.state import effective_history as history

SOURCE_CHARS = 32

Look = Callable[[RecordedEvent], object]
Progress = Callable[[int], None]

_TYPE = 4
"""The index of the event type in a row."""


class Survey(NamedTuple):
    """The facts that exports require about a log up to its head."""

    head: Head
    source: str
    """The log's identifier: the hash of its first event, which copies share."""
    paths: dict[str, list[history.VersionRange]]
    """The effective versions of each stream that has rollbacks."""

    def is_in_force(self, event: RecordedEvent) -> bool:
        """Return whether an event is effective, that is, not discarded by a rollback."""
        found = self.paths.get(event.stream)
        return found is None or history.is_effective(found, event.version)


def survey(
    log: EventStore,
    *,
    types: Collection[str] = (),
    look: Look = lambda event: None,
    progress: Progress = lambda count: None,
) -> Survey:
    """Verify a log's chain, and return the survey that its export requires.

    Pass events of the given types to `look`. Raise `UnreadableError` at the first problem,
    before any event is exported.
    """
    head = log.head()
    noted = _Notes({*types}, look, progress)
    for problem in check_rows(noted.rows(log, head.position)):
        raise UnreadableError(problem.problem, position=problem.position)
    paths = {
        stream: history.effective_ranges(found, noted.versions[stream])
        for stream, found in noted.rollbacks.items()
    }
    return Survey(noted.end or Head(0, bytes(32)), noted.source, paths)


class _Notes:
    """Collects the facts for a survey as rows are read."""

    def __init__(self, types: set[str], look: Look, progress: Progress) -> None:
        self.source = "empty"
        self.end: Head | None = None
        self.rollbacks: dict[str, list[tuple[int, int]]] = {}
        self.versions: dict[str, int] = {}
        self._types, self._look, self._progress = types, look, progress

    def rows(self, log: EventStore, until: int) -> Iterator[Row]:
        """Yield every row; process a row only after the caller has verified it."""
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


EVENTS_A_STEP = 512
_NEVER_VOIDED = {event.type for event in EVENTS if event.kind is not Kind.EXECUTION}


class ExportedEvent(NamedTuple):
    """An event with its exported data."""

    recorded: RecordedEvent
    event: Event | None
    """The decoded event in its current shape; None if it was completely erased."""
    data: Any
    """The exported fields as JSON values; None if the event was completely erased."""
    is_in_force: bool
    """False if a rollback has discarded the event."""
    iteration: int | None
    """The iteration of a sprint's event; None after a rollback."""
    previous: bytes
    """The hash of the preceding event in the log."""

    @property
    def sprint(self) -> str | None:
        """Return the id of the event's sprint, if it belongs to a sprint."""
        return sprint_of(self.recorded.stream)

    @property
    def session(self) -> str | None:
        """Return the event's agent session (`AGENT-ID`), if it belongs to a session."""
        return session_of(self.recorded.stream)

    @property
    def actor(self) -> str:
        """Return the event's actor, masked."""
        return mask(self.recorded.actor)

    @property
    def is_erased(self) -> bool:
        """Return whether the event was erased; if so, `data` contains its remainder."""
        return self.recorded.salt is None


class ExportedLog(NamedTuple):
    """The exported part of a log."""

    log: EventStore
    known: Survey
    stream: str | None = None
    """The only exported stream; None for all streams."""
    with_content: bool = False
    progress: Progress = lambda count: None

    def events(self, after: int = 0) -> Iterator[ExportedEvent]:
        """Yield the events after a position in log order, up to the surveyed head."""
        iterations: dict[str, int | None] = {}
        previous = bytes(32)
        for event in self.log.read(until=self.known.head.position):
            if event.position % EVENTS_A_STEP == 0:
                self.progress(event.position)
            if self.stream in (None, event.stream):
                said = None if event.payload is None else CODEC.decode(event)
                is_in = event.type in _NEVER_VOIDED or self.known.is_in_force(event)
                iteration = None
                if sprint_of(event.stream) is not None:
                    iteration = _iteration(iterations, event.stream, said)
                if event.position > after:
                    data = told(said, with_content=self.with_content)
                    yield ExportedEvent(event, said, data, is_in, iteration, previous)
            previous = event.hash


def _iteration(
    known: dict[str, int | None], stream: str, event: Event | None
) -> int | None:
    if isinstance(event, IterationStarted):
        known[stream] = event.number
    elif isinstance(event, RolledBack):
        known[stream] = None
    return known.setdefault(stream, 0)


def told(event: Event | None, *, with_content: bool) -> Any:
    """Return an event's fields as JSON values; text is included only on request."""
    if event is None:
        return None
    said = msgspec.json.decode(encode(event if with_content else event.remains()))
    return mask_all(said if with_content else _without_words(said))


def _without_words(value: Any) -> Any:
    """Return a JSON value without placeholders for erased text."""
    if isinstance(value, dict):
        return {n: _without_words(x) for n, x in value.items() if not _is_word(x)}
    if isinstance(value, list):
        return [_without_words(x) for x in value if not _is_word(x)]
    return value


def _is_word(value: Any) -> bool:
    """Return whether a value contains a placeholder for erased text."""
    return isinstance(value, str) and ERASED in value
