"""OpenTelemetry spans of agent runs, gate checks and tool calls, and their OTLP JSON.

The attribute names follow open-telemetry/semantic-conventions-genai at commit 002c8a6, in
which they have the status "Development". OpenTelemetry's Python package marks all of its
constants as moved to that repository.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from sprintlog.errors import InvalidInputError
from sprintlog.events import AgentRan, GateChecked, ToolCalled
from sprintlog.exports import ExportedEvent
from sprintlog.formatting import mask_all, parse_time
from sprintlog.usage import Usage, lower_bounds, tokens_of

OPERATION = "gen_ai.operation.name"
WORKFLOW, AGENT, TOOL = "invoke_workflow", "invoke_agent", "execute_tool"
"""The operations of a sprint, an agent run and a tool call."""

PROVIDER = "gen_ai.provider.name"
AGENT_NAME = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
"""All input tokens, including cache reads and cache writes."""
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_CREATION_TOKENS = "gen_ai.usage.cache_creation.input_tokens"

EVALUATION = "gen_ai.evaluation.result"
EVALUATION_LABEL = "gen_ai.evaluation.score.label"
ERROR_TYPE = "error.type"

PROVIDERS = {"claude": "anthropic", "codex": "openai", "gemini": "gcp.gemini"}
"""The model provider of each agent; other agents can use any provider."""


TRACE_BYTES, SPAN_BYTES = 16, 8
EVENTS_MAX = 128
"""The maximum number of events per span, as in OpenTelemetry SDKs; others are counted."""
NANOSECONDS_A_MILLISECOND = 1_000_000
_INTERNAL, _ERROR = 1, 2
_EPOCH = datetime.fromtimestamp(0, UTC)

Attributes = Mapping[str, str | bool | int | float | tuple[str, ...] | None]
"""The attributes of a span; None means unknown."""


class SpanEvent(NamedTuple):
    """An event within a span, at a single point in time."""

    at: int
    name: str
    attributes: Attributes


class TraceSpan(NamedTuple):
    """A span of a trace; times are in nanoseconds since 1970."""

    trace: bytes
    id: bytes
    parent: bytes | None
    name: str
    start: int
    end: int
    attributes: Attributes
    events: tuple[SpanEvent, ...] = ()
    dropped_events: int = 0
    has_failed: bool = False


def nanoseconds(text: str) -> int:
    """Return a log timestamp in nanoseconds since 1970; 0 if it is invalid."""
    try:
        since = parse_time(text) - _EPOCH
    except InvalidInputError:
        # Imported events may contain any text.
        return 0
    microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return max(0, microseconds * 1000)


def line(spans: Iterable[TraceSpan], resource: Attributes) -> bytes:
    """Return spans as an OTLP message on a single line."""
    scope = {"scope": {"name": "sprintlog"}, "spans": [_encoded(one) for one in spans]}
    said = {"resource": {"attributes": _attributes(resource)}, "scopeSpans": [scope]}
    return msgspec.json.encode({"resourceSpans": [said]}) + b"\n"


def _encoded(one: TraceSpan) -> dict[str, Any]:
    said: dict[str, Any] = {"traceId": one.trace.hex(), "spanId": one.id.hex()}
    if one.parent is not None:
        said["parentSpanId"] = one.parent.hex()
    said |= {
        "name": mask_all(one.name),
        "kind": _INTERNAL,
        "startTimeUnixNano": str(one.start),
        "endTimeUnixNano": str(max(one.start, one.end)),
        "attributes": _attributes(one.attributes),
    }
    if one.events:
        said["events"] = [
            {
                "timeUnixNano": str(event.at),
                "name": event.name,
                "attributes": _attributes(event.attributes),
            }
            for event in one.events
        ]
    if one.dropped_events:
        said["droppedEventsCount"] = one.dropped_events
    if one.has_failed:
        said["status"] = {"code": _ERROR}
    return said


def _attributes(named: Attributes) -> list[dict[str, Any]]:
    return [
        {"key": name, "value": _value(mask_all(value))}
        for name, value in named.items()
        if value is not None and value != ()
    ]


def _value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case tuple() | list():
            return {"arrayValue": {"values": [_value(one) for one in value]}}
        case _:
            return {"stringValue": str(value)}


PASSED, FAILED = "pass", "fail"
_FAILURES = ("failed", "stopped", "unknown")
"""The run statuses that are reported as errors."""


class PlaceInTrace(NamedTuple):
    """The trace and the parent of a span."""

    trace: bytes
    parent: bytes


def marks(told: ExportedEvent, *, with_content: bool) -> dict[str, Any]:
    """Return the attributes that every span copies from its event."""
    recorded = told.recorded
    return {
        "sprintlog.position": recorded.position,
        "sprintlog.type": recorded.type,
        "sprintlog.rolled_back": True if not told.is_in_force else None,
        "sprintlog.erased": True if told.is_erased else None,
        "sprintlog.data": msgspec.json.encode(told.data).decode() if with_content else None,
    }


class _About(NamedTuple):
    """The details that a span takes from its event."""

    name: str
    attributes: dict[str, Any]
    took: int | None = None
    """In milliseconds."""
    has_failed: bool = False
    evaluation: dict[str, Any] | None = None


def event_span(told: ExportedEvent, place: PlaceInTrace, said: Attributes) -> TraceSpan:
    """Return the span that ends with an event, whose type must be in `SPANS`.

    The span of an erased event has neither attributes nor a duration.
    """
    name, about = SPANS[told.recorded.type]
    found = _About(name, {}) if told.event is None else about(told.event, told)
    end = nanoseconds(told.recorded.at)
    start = max(0, end - max(0, found.took or 0) * NANOSECONDS_A_MILLISECOND)
    evaluated = found.evaluation
    return TraceSpan(
        place.trace,
        told.recorded.hash[:SPAN_BYTES],
        place.parent,
        found.name,
        start,
        end,
        {**found.attributes, **said},
        () if evaluated is None else (SpanEvent(end, EVALUATION, evaluated),),
        has_failed=found.has_failed,
    )


def _own(event: Any, *names: str) -> dict[str, Any]:
    """Return an event's fields as attributes, without empty text and false flags."""
    own = {f"sprintlog.{name}": getattr(event, name) for name in names}
    return {name: x for name, x in own.items() if x is not False and x != ""}


def _agent(ran: AgentRan, told: ExportedEvent) -> _About:
    """Return the span details for an agent run."""
    failed = ran.status in _FAILURES
    attributes: dict[str, Any] = {
        OPERATION: AGENT,
        PROVIDER: PROVIDERS.get(ran.agent or "", ran.agent),
        AGENT_NAME: ran.agent,
        "gen_ai.agent.version": ran.agent_version,
        CONVERSATION: ran.sessions[-1] if ran.sessions else None,
        "gen_ai.request.model": ran.model,
        "gen_ai.response.model": ran.models[-1] if ran.models else None,
        **_usage(ran.usage),
        ERROR_TYPE: ran.error_kind if failed else None,
        **_own(ran, "phase", "iteration", "status", "outcome", "exit_code", "timed_out"),
        **_own(ran, "is_repair", "is_rest", "is_priced", "tool_calls"),
        "sprintlog.duration_ms": None if ran.is_rest else ran.duration_ms,
    }
    name = AGENT if ran.agent is None else f"{AGENT} {ran.agent}"
    return _About(name, attributes, ran.duration_ms, failed)


def _gate(checked: GateChecked, told: ExportedEvent) -> _About:
    """Return the span details for a gate check, including its evaluation."""
    passed = checked.exit_code == 0 and not checked.timed_out
    evaluation = {
        "gen_ai.evaluation.name": f"gate {checked.phase}",
        "gen_ai.evaluation.score.value": 1.0 if passed else 0.0,
        EVALUATION_LABEL: PASSED if passed else FAILED,
        ERROR_TYPE: "timeout" if checked.timed_out else None,
    }
    attributes = _own(checked, "phase", "attempt", "exit_code", "timed_out", "duration_ms")
    name = f"gate {checked.phase}"
    return _About(name, attributes, checked.duration_ms, not passed, evaluation)


def _tool(call: ToolCalled, told: ExportedEvent) -> _About:
    """Return the span details for a tool call."""
    failed = call.ok is False
    attributes = {
        OPERATION: TOOL,
        "gen_ai.tool.name": call.tool,
        "gen_ai.tool.call.id": call.call,
        CONVERSATION: (told.session or "").partition("-")[2],
        ERROR_TYPE: "tool_error" if failed else None,
        "sprintlog.exit_code": call.exit_code,
        "sprintlog.subagent": call.subagent,
        "sprintlog.unfinished": call.is_unfinished or None,
        "sprintlog.found_in": call.found_in,
    }
    return _About(f"{TOOL} {call.tool}", attributes, call.duration_ms, failed)


SPANS: dict[str, tuple[str, Callable[[Any, ExportedEvent], _About]]] = {
    AgentRan.type: (AGENT, _agent),
    GateChecked.type: ("gate", _gate),
    ToolCalled.type: (TOOL, _tool),
}
"""For each event type, the span name for erased events and the function for others."""


def _usage(used: Usage | None) -> dict[str, Any]:
    """Return a run's usage, counted according to OpenTelemetry's definitions.

    OpenTelemetry's input tokens include cache reads and cache writes.
    `sprintlog.usage.tokens` contains the tokens that `status` and budgets count.
    """
    if used is None:
        return {}
    new, read = _counted(used.input_tokens), _counted(used.cache_read_tokens)
    created = _counted(used.cache_creation_tokens)
    given = [known for known in (new, read, created) if known is not None]
    cost = used.cost_usd if used.cost_usd is not None and used.cost_usd >= 0 else None
    return {
        INPUT_TOKENS: sum(given) if given else None,
        OUTPUT_TOKENS: _counted(used.output_tokens),
        CACHE_READ_TOKENS: read,
        CACHE_CREATION_TOKENS: created,
        "sprintlog.usage.new_input_tokens": new,
        "sprintlog.usage.tokens": tokens_of(used),
        "sprintlog.usage.at_least": [*lower_bounds(used)] or None,
        "sprintlog.turns": _counted(used.turns),
        "sprintlog.cost_usd": None if cost is None else float(cost),
    }


def _counted(known: int | None) -> int | None:
    return known if known is not None and known >= 0 else None
