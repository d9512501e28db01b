"""Deliveries of a log to an address: bodies in the order of the log, and the progress.

A body belongs to the position of its last event. A body that was accepted is never made
again; one whose fate is unknown is made again with the same ids. How far each address has
come is in a small file beside the log.
"""

from collections.abc import Iterator
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import msgspec

from sprintlog.engine.adapters.folders import opened
from sprintlog.engine.adapters.replace import FilePlace, read_file, replace_file
from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.envelope import Head, RecordedEvent
from sprintlog.engine.log.port import EventStore
from sprintlog.engine.sessions.events import SessionEnded
from sprintlog.engine.sprint.events import AgentRan, RunEnded, RunStarted, SprintCompleted

from .cloudevents import line as event_line
from .exported_events import LogTold
from .span import TraceSpan
from .span import line as span_line
from .spans import SPANS_A_LINE, Traces, resource_of
from .survey import TYPES, ToolCallers, survey

PREFIX, SUFFIX = "sent-", ".json"
NAME_CHARS = 16
_FILE_BYTES_MAX = 4096


class _Kept(msgspec.Struct, frozen=True):
    position: int
    hash: str


class Sent(NamedTuple):
    """Where it is kept how far something was sent."""

    file: Path

    @property
    def lock(self) -> str:
        """Return the name of the lock that only one sender has."""
        return f"{self.file.stem}.lock"

    def position(self, log: EventStore) -> int:
        """Return up to where it was sent; 0 at first.

        Raise `RefusedError` where that was another log, or the file says nothing.
        """
        try:
            with opened(self.file.parent) as folder:
                spot = FilePlace(folder, self.file.name)
                content = read_file(spot, at_most=_FILE_BYTES_MAX)
            kept = msgspec.json.decode(content, type=_Kept)
        except FileNotFoundError:
            return 0
        except (OSError, msgspec.DecodeError) as error:
            raise self._refused("cannot be read") from error
        if kept.position == 0:
            return 0
        found = next(log.read(after=kept.position - 1, until=kept.position), None)
        if found is None or found.hash.hex() != kept.hash:
            raise self._refused("is about another log")
        return kept.position

    def keep(self, head: Head) -> None:
        """Keep that all up to here was taken."""
        said = msgspec.json.encode(_Kept(head.position, head.hash.hex()))
        try:
            replace_file(self.file, said + b"\n", mode=0o600)
        except OSError as error:
            raise self._refused(f"cannot be written: {error.strerror}") from error

    def _refused(self, problem: str) -> RefusedError:
        return RefusedError(
            f"{self.file} {problem}",
            hint="remove it, and all is sent again",
            file=str(self.file),
        )


def sent_to(folder: Path, kind: str, url: str, stream: str | None) -> Sent:
    """Return where it is kept how far a log was sent to an address."""
    text = "\0".join((kind, url, stream or ""))
    name = sha256(text.encode()).hexdigest()[:NAME_CHARS]
    return Sent(folder / f"{PREFIX}{name}{SUFFIX}")


_ENDS = (SprintCompleted.type, SessionEnded.type)


class Delivery(NamedTuple):
    """One body, and what is sent with it."""

    head: Head
    """Up to where all was sent once it is taken."""
    body: bytes
    id: str
    what: str
    """What it is, in words."""


def events_to_send(
    log: EventStore, after: int, *, stream: str | None = None, with_content: bool = False
) -> Iterator[Delivery]:
    """Yield each event after a position as a CloudEvent."""
    telling = LogTold(log, survey(log), stream, with_content)
    for told in telling.events(after):
        recorded = told.recorded
        yield Delivery(
            Head(recorded.position, recorded.hash),
            event_line(told, telling.known.source).rstrip(b"\n"),
            recorded.id,
            f"event {recorded.position}",
        )


def spans_to_send(
    log: EventStore, after: int, *, stream: str | None = None, with_content: bool = False
) -> Iterator[Delivery]:
    """Yield the spans that events after a position ended, many in a body.

    What goes on is not sent, and a run of an agent is waited for; a sprint's own span is
    sent once it is completed, that of a session once it ended.
    """
    runs = RunsNow()
    known = survey(log, types=runs.types, look=runs.look)
    known = known._replace(head=runs.settled(known.head))
    telling = LogTold(log, known, stream, with_content)
    batch: list[TraceSpan] = []
    head = Head(after, b"")
    for head, spans in _ended(telling, runs.callers, after):
        batch += spans
        if len(batch) >= SPANS_A_LINE:
            yield _spans(head, batch, telling)
            batch = []
    if batch or head.position > after:
        yield _spans(head, batch, telling)


def _spans(head: Head, batch: list[TraceSpan], telling: LogTold) -> Delivery:
    body = span_line(batch, resource_of(telling)) if batch else b""
    return Delivery(head, body, "", f"what ended up to event {head.position}")


def _ended(
    telling: LogTold, callers: ToolCallers, after: int
) -> Iterator[tuple[Head, list[TraceSpan]]]:
    traces = Traces(telling, callers)
    for told in telling._replace(stream=None).events():
        spans = [*traces.take(told)]
        if told.recorded.type in _ENDS:
            spans += traces.root(told.recorded.stream)
        if told.recorded.position > after:
            yield Head(told.recorded.position, told.recorded.hash), spans


class RunsNow:
    """Which sprints a loop drives, and up to where what their agents did is known."""

    types = (*TYPES, RunStarted.type, RunEnded.type)

    def __init__(self) -> None:
        self.callers = ToolCallers()
        self._since: dict[str, Head] = {}

    def look(self, event: RecordedEvent) -> None:
        """Note an event of one of the types."""
        here = Head(event.position, event.hash)
        if event.type == RunStarted.type:
            self._since[event.stream] = here
        elif event.type == RunEnded.type:
            self._since.pop(event.stream, None)
        else:
            self.callers.look(event)
            if event.type == AgentRan.type and event.stream in self._since:
                self._since[event.stream] = here

    def settled(self, head: Head) -> Head:
        """Return up to where every call of a tool has the run that made it."""
        return min(self._since.values(), key=attrgetter("position"), default=head)
