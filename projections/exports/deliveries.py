"""Messages that deliver a log to an endpoint, in log order.

A message's position is that of its last event. Rebuilding a message produces the same ids.
"""

from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from sprintlog.events import AgentRan, RunEnded, RunStarted, SessionEnded, SprintCompleted
from sprintlog.exports import ExportedLog, survey
from sprintlog.stores import EventStore, Head, RecordedEvent

from . import span as otel
from .formats import event_line
from .spans import SPANS_A_LINE, TYPES, ToolCallers, Traces, resource_of

_ENDS = (SprintCompleted.type, SessionEnded.type)


class Delivery(NamedTuple):
    """A message body with its metadata."""

    head: Head
    """The head that is reached when the body has been accepted."""
    body: bytes
    id: str
    what: str
    """A description for messages."""


def events_to_send(
    log: EventStore, after: int, *, stream: str | None = None, with_content: bool = False
) -> Iterator[Delivery]:
    """Yield each event after a position as a CloudEvent."""
    telling = ExportedLog(log, survey(log), stream, with_content)
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
    """Yield the spans completed by events after a position, in batches.

    Open spans are not sent. While a loop runs, delivery stops at its last recorded agent
    run, because later tool calls cannot yet be assigned to an agent run. A sprint's own
    span is sent when the sprint is completed, and a session's span when the session ends.
    """
    runs = RunsNow()
    known = survey(log, types=runs.types, look=runs.look)
    known = known._replace(head=runs.settled(known.head))
    telling = ExportedLog(log, known, stream, with_content)
    batch: list[otel.TraceSpan] = []
    head = Head(after, b"")
    for head, spans in _ended(telling, runs.callers, after):
        batch += spans
        if len(batch) >= SPANS_A_LINE:
            yield _spans(head, batch, telling)
            batch = []
    if batch or head.position > after:
        yield _spans(head, batch, telling)


def _spans(head: Head, batch: list[otel.TraceSpan], telling: ExportedLog) -> Delivery:
    body = otel.line(batch, resource_of(telling)) if batch else b""
    return Delivery(head, body, "", f"what ended up to event {head.position}")


def _ended(
    telling: ExportedLog, callers: ToolCallers, after: int
) -> Iterator[tuple[Head, list[otel.TraceSpan]]]:
    traces = Traces(telling, callers)
    for told in telling._replace(stream=None).events():
        spans = [*traces.take(told)]
        if told.recorded.type in _ENDS:
            spans += traces.root(told.recorded.stream)
        if told.recorded.position > after:
            yield Head(told.recorded.position, told.recorded.hash), spans


class RunsNow:
    """The running loops, and the agent runs to which tool calls belong."""

    types = (*TYPES, RunStarted.type, RunEnded.type)

    def __init__(self) -> None:
        self.callers = ToolCallers()
        self._since: dict[str, Head] = {}

    def look(self, event: RecordedEvent) -> None:
        """Process an event whose type is in `types`."""
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
        """Return the latest head up to which every tool call has a recorded agent run."""
        return min(self._since.values(), key=attrgetter("position"), default=head)
