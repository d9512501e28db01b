"""OpenTelemetry traces of a log: sprints, iterations, agent runs, gates and tool calls.

Each sprint is a trace. Its workflow span contains the iterations, an iteration contains
agent runs and gate checks, and an agent run contains its tool calls. Every other event
becomes a span event of the iteration or sprint in which it occurred. Each line of OTLP JSON
is one message. Ids are derived from hashes in the log, so the same log always produces
the same spans.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from sprintlog import events
from sprintlog.events import RecordedEvent, SessionEnded, ToolCalled
from sprintlog.exports import ExportedEvent, ExportedLog, session_stream

from . import span as otel

TYPES = (events.AgentRan.type, events.ActivitySeen.type)


class CallingRun(NamedTuple):
    """The facts about an agent run that the spans of its tool calls require."""

    stream: str
    """The stream of the sprint that the run worked for."""
    span: bytes
    ended: int
    """In nanoseconds since 1970."""


class ToolCallers:
    """Indexes of agent runs by session and by correlation id, and an index of sprints."""

    def __init__(self) -> None:
        self._by_session: defaultdict[str, list[CallingRun]] = defaultdict(list)
        self._by_work: defaultdict[str, list[CallingRun]] = defaultdict(list)
        self._sprints: dict[str, str] = {}

    def look(self, recorded: RecordedEvent) -> None:
        """Process an event whose type is in `TYPES`."""
        if recorded.type == events.ActivitySeen.type:
            self._sprints[recorded.correlation_id] = recorded.stream
            return
        ran = None if recorded.payload is None else events.decode(recorded)
        if isinstance(ran, events.AgentRan) and ran.is_rest:
            return
        caller = CallingRun(
            recorded.stream, recorded.hash[: otel.SPAN_BYTES], otel.nanoseconds(recorded.at)
        )
        self._by_work[recorded.correlation_id].append(caller)
        if isinstance(ran, events.AgentRan) and ran.agent:
            for session in ran.sessions:
                self._by_session[session_stream(ran.agent, session)].append(caller)

    def of(self, call: RecordedEvent) -> CallingRun | None:
        """Return the agent run that made a tool call, or None if the run is unknown.

        The result is the first candidate that ended at or after the call, otherwise the
        last candidate. Runs that name the session take precedence over runs that only share
        the correlation id.
        """
        found = self._by_session.get(call.stream) or self._by_work.get(call.correlation_id)
        if not found:
            return None
        at = bisect_left(found, otel.nanoseconds(call.at), key=attrgetter("ended"))
        return found[min(at, len(found) - 1)]

    def sprint_of(self, call: RecordedEvent) -> str | None:
        """Return the sprint stream of a tool call whose agent run is unknown."""
        return self._sprints.get(call.correlation_id)


class OpenSpan:
    """A span under construction for a sprint, an iteration or a session."""

    def __init__(
        self, place: otel.PlaceInTrace, name: str, told: ExportedEvent, **said: Any
    ) -> None:
        self.place, self.name, self.is_over = place, name, False
        self.id = place.parent
        self.parent: bytes | None = None
        self.start = self.last = otel.nanoseconds(told.recorded.at)
        self.said = said
        self._events: list[otel.SpanEvent] = []
        self._more = 0

    def passes(self, told: ExportedEvent) -> None:
        """Extend the span to the time of an event."""
        self.last = max(self.last, otel.nanoseconds(told.recorded.at))

    def note(self, told: ExportedEvent, said: dict[str, Any]) -> None:
        """Add a span event, or only count the event if the limit has been reached."""
        if len(self._events) >= otel.EVENTS_MAX:
            self._more += 1
            return
        at, name = otel.nanoseconds(told.recorded.at), told.recorded.type
        self._events.append(otel.SpanEvent(at, name, said))

    def span(self, **more: Any) -> otel.TraceSpan:
        """Return the span so far, which ends at its last event."""
        is_open = {} if self.is_over else {"sprintlog.open": True}
        return otel.TraceSpan(
            self.place.trace,
            self.id,
            self.parent,
            self.name,
            self.start,
            self.last,
            {**self.said, **more, **is_open},
            tuple(self._events),
            self._more,
        )


class _Sprint:
    """A sprint's trace, built from the events read so far."""

    def __init__(self, trace: bytes, root: OpenSpan) -> None:
        self.trace, self.root = trace, root
        self.iteration: OpenSpan | None = None
        self.iterations: dict[int, bytes] = {}

    def place(self, number: int | None = None) -> otel.PlaceInTrace:
        """Return the parent of a new span: an iteration, or the sprint itself."""
        if number is not None and number in self.iterations:
            return otel.PlaceInTrace(self.trace, self.iterations[number])
        return otel.PlaceInTrace(self.trace, (self.iteration or self.root).id)


class Traces:
    """A log's traces, built event by event."""

    def __init__(self, telling: ExportedLog, callers: ToolCallers) -> None:
        self._source = telling.known.source
        self._only = telling.stream
        self._with_content = telling.with_content
        self._callers = callers
        self._sprints: dict[str, _Sprint] = {}
        self._sessions: dict[str, OpenSpan] = {}

    def take(self, told: ExportedEvent) -> Iterator[otel.TraceSpan]:
        """Process the next event, and yield the spans that it completes."""
        stream = told.recorded.stream
        if told.recorded.type == ToolCalled.type:
            yield from self._called(told)
        elif told.recorded.type == SessionEnded.type and stream in self._sessions:
            self._sessions[stream].passes(told)
            self._sessions[stream].is_over = True
        elif told.sprint is not None and self._only in (None, stream):
            yield from self._of_sprint(told, self._sprint(told))

    def open(self) -> Iterator[otel.TraceSpan]:
        """Yield the spans of open iterations, then all sprint and session spans."""
        for sprint in self._sprints.values():
            if sprint.iteration is not None:
                yield sprint.iteration.span()
            yield sprint.root.span()
        for session in self._sessions.values():
            yield session.span()

    def root(self, stream: str) -> Iterator[otel.TraceSpan]:
        """Yield the span of a sprint or session stream, if there is one."""
        if stream in self._sprints:
            yield self._sprints[stream].root.span()
        elif stream in self._sessions:
            yield self._sessions[stream].span()

    def _sprint(self, told: ExportedEvent) -> _Sprint:
        stream = told.recorded.stream
        if stream not in self._sprints:
            name = told.sprint
            place = self._root(stream)
            said = {otel.OPERATION: otel.WORKFLOW, "gen_ai.workflow.name": name}
            root = OpenSpan(place, f"{otel.WORKFLOW} {name}", told, **said)
            self._sprints[stream] = _Sprint(place.trace, root)
        return self._sprints[stream]

    def _root(self, stream: str) -> otel.PlaceInTrace:
        """Return a stream's trace and root span."""
        digest = sha256(f"{self._source}/{stream}".encode()).digest()
        return otel.PlaceInTrace(
            digest[: otel.TRACE_BYTES],
            digest[otel.TRACE_BYTES : otel.TRACE_BYTES + otel.SPAN_BYTES],
        )

    def _of_sprint(self, told: ExportedEvent, sprint: _Sprint) -> Iterator[otel.TraceSpan]:
        said = otel.marks(told, with_content=self._with_content)
        event, kind = told.event, told.recorded.type
        sprint.root.passes(told)
        if kind == events.IterationStarted.type:
            yield from self._begin(told, sprint, said)
            return
        if sprint.iteration is not None:
            sprint.iteration.passes(told)
        if kind in otel.SPANS:
            number = event.iteration if isinstance(event, events.AgentRan) else None
            yield otel.event_span(told, sprint.place(number), said)
        else:
            (sprint.iteration or sprint.root).note(told, said)
        if isinstance(event, events.IterationEnded) and sprint.iteration is not None:
            sprint.iteration.is_over = True
            yield sprint.iteration.span()
            sprint.iteration = None
        if kind in (events.SprintCompleted.type, events.SprintReopened.type):
            sprint.root.is_over = kind == events.SprintCompleted.type

    def _begin(
        self, told: ExportedEvent, sprint: _Sprint, said: dict[str, Any]
    ) -> Iterator[otel.TraceSpan]:
        """Start an iteration's span, ending the previous span if it is still open."""
        if sprint.iteration is not None:
            sprint.iteration.is_over = True
            yield sprint.iteration.span(**{"sprintlog.left_open": True})
        began = told.event if isinstance(told.event, events.IterationStarted) else None
        id_ = told.recorded.hash[: otel.SPAN_BYTES]
        number = None if began is None else began.number
        sprint.iteration = OpenSpan(
            otel.PlaceInTrace(sprint.trace, id_),
            "iteration" if number is None else f"iteration {number}",
            told,
            **{"sprintlog.iteration": number},
            **{"sprintlog.phase": None if began is None else began.phase},
            **said,
        )
        sprint.iteration.parent = sprint.root.id
        if number is not None:
            sprint.iterations[number] = id_

    def _called(self, told: ExportedEvent) -> Iterator[otel.TraceSpan]:
        """Yield the span of a tool call, as a child of the run that made the call."""
        caller = self._callers.of(told.recorded)
        stream = self._callers.sprint_of(told.recorded) if caller is None else caller.stream
        if self._only not in (None, stream):
            return
        if caller is not None:
            place = otel.PlaceInTrace(self._root(caller.stream).trace, caller.span)
        elif stream is not None and stream in self._sprints:
            place = self._sprints[stream].place()
        else:
            place = self._session(told).place
        yield otel.event_span(
            told, place, otel.marks(told, with_content=self._with_content)
        )

    def _session(self, told: ExportedEvent) -> OpenSpan:
        """Return the span of a session that does not belong to a known sprint."""
        stream = told.recorded.stream
        if stream not in self._sessions:
            agent, _, id_ = (told.session or stream).partition("-")
            said = {
                otel.OPERATION: otel.AGENT,
                otel.PROVIDER: otel.PROVIDERS.get(agent, agent),
                otel.AGENT_NAME: agent,
                otel.CONVERSATION: id_,
            }
            found = OpenSpan(self._root(stream), f"{otel.AGENT} {agent}", told, **said)
            self._sessions[stream] = found
        self._sessions[stream].passes(told)
        return self._sessions[stream]


def spans(telling: ExportedLog, callers: ToolCallers) -> Iterator[otel.TraceSpan]:
    """Yield each span when it ends, then the spans still open at the end of the log."""
    traces = Traces(telling, callers)
    for told in telling._replace(stream=None).events():
        yield from traces.take(told)
    yield from traces.open()


SPANS_A_LINE = 256


def resource_of(telling: ExportedLog) -> otel.Attributes:
    """Return the resource attributes shared by all spans of a log."""
    return {"service.name": "sprintlog", "sprintlog.log": telling.known.source}


def otlp_json(telling: ExportedLog, callers: ToolCallers) -> Iterator[bytes]:
    """Yield the spans of a log as OTLP JSON, with many spans per line."""
    resource = resource_of(telling)
    found = spans(telling, callers)
    while page := list(islice(found, SPANS_A_LINE)):
        yield otel.line(page, resource)


class _PartialSuccess(msgspec.Struct, rename="camel", frozen=True):
    rejected_spans: int = 0
    error_message: str = ""


class _Answer(msgspec.Struct, rename="camel", frozen=True):
    partial_success: _PartialSuccess = _PartialSuccess()


def spans_left_out(answer: bytes) -> tuple[int, str]:
    """Return the number of spans that an endpoint rejected, and the reason.

    The specification forbids resending them. An invalid answer is treated as no rejection.
    """
    try:
        # Protobuf's JSON format allows 64-bit numbers as text.
        said = msgspec.json.decode(answer, type=_Answer, strict=False).partial_success
    except (msgspec.DecodeError, UnicodeDecodeError):
        return 0, ""
    return max(said.rejected_spans, 0), said.error_message
