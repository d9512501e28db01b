"""Spans of OpenTelemetry: of agent runs, gate checks and tool calls; their JSON in OTLP.

Names follow open-telemetry/semantic-conventions-genai at commit 002c8a6, whose status is
"Development". The constants of the Python package are all marked as moved there.
"""

from collections.abc import Iterable, Mapping
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
"""The operations that a sprint, a run of an agent and a call of a tool are."""

WORKFLOW_NAME = "gen_ai.workflow.name"
PROVIDER = "gen_ai.provider.name"
AGENT_NAME = "gen_ai.agent.name"
AGENT_VERSION = "gen_ai.agent.version"
CONVERSATION = "gen_ai.conversation.id"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
"""All that the model was given, what came from a cache or went into one included."""
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_CREATION_TOKENS = "gen_ai.usage.cache_creation.input_tokens"
TOOL_NAME = "gen_ai.tool.name"
TOOL_CALL = "gen_ai.tool.call.id"

EVALUATION = "gen_ai.evaluation.result"
EVALUATION_NAME = "gen_ai.evaluation.name"
EVALUATION_SCORE = "gen_ai.evaluation.score.value"
EVALUATION_LABEL = "gen_ai.evaluation.score.label"
ERROR_TYPE = "error.type"

PROVIDERS = {"claude": "anthropic", "codex": "openai", "gemini": "gcp.gemini"}
"""Whose models an agent asks; of the others anybody's."""


TRACE_BYTES, SPAN_BYTES = 16, 8
EVENTS_MAX = 128
"""So many events a span has, as OpenTelemetry's SDKs allow; the others are counted."""
NANOSECONDS_A_MILLISECOND = 1_000_000
_INTERNAL, _ERROR = 1, 2
_EPOCH = datetime.fromtimestamp(0, UTC)

Attributes = Mapping[str, str | bool | int | float | tuple[str, ...] | None]
"""The attributes of a span; None means unknown."""


class SpanEvent(NamedTuple):
    """Something that happened at one moment of a span."""

    at: int
    name: str
    attributes: Attributes


class TraceSpan(NamedTuple):
    """Something that took time; times are nanoseconds since 1970."""

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
    """Return a time of the log in nanoseconds since 1970; 0 for invalid text."""
    try:
        since = parse_time(text) - _EPOCH
    except InvalidInputError:
        # Imported events may contain any text.
        return 0
    microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return max(0, microseconds * 1000)


def line(spans: Iterable[TraceSpan], resource: Attributes) -> bytes:
    """Return spans as one message of OTLP, on a line."""
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
"""The statuses of runs that are errors."""


class PlaceInTrace(NamedTuple):
    """Where a span belongs."""

    trace: bytes
    parent: bytes


def marks(told: ExportedEvent, *, with_content: bool) -> dict[str, Any]:
    """Return the attributes that every span takes from its event."""
    recorded = told.recorded
    data = msgspec.json.encode(told.data).decode() if with_content else None
    return {
        "sprintlog.position": recorded.position,
        "sprintlog.type": recorded.type,
        "sprintlog.rolled_back": True if not told.is_in_force else None,
        "sprintlog.erased": True if told.is_erased else None,
        "sprintlog.data": data,
    }


def agent_span(
    told: ExportedEvent, ran: AgentRan | None, place: PlaceInTrace, said: Attributes
) -> TraceSpan:
    """Return the span of an agent run; of an erased run only that it existed."""
    if ran is None:
        return _span(told, AGENT, place, said, took=None)
    session = ran.sessions[-1] if ran.sessions else None
    is_known, failed = ran.agent is not None, ran.status in _FAILURES
    attributes: dict[str, Any] = {
        OPERATION: AGENT,
        PROVIDER: PROVIDERS.get(ran.agent or "", ran.agent),
        AGENT_NAME: ran.agent,
        AGENT_VERSION: ran.agent_version,
        CONVERSATION: session,
        REQUEST_MODEL: ran.model,
        RESPONSE_MODEL: ran.models[-1] if ran.models else None,
        **_usage(ran.usage),
        ERROR_TYPE: ran.error_kind if failed else None,
        "sprintlog.phase": ran.phase or None,
        "sprintlog.iteration": ran.iteration,
        "sprintlog.status": ran.status,
        "sprintlog.outcome": ran.outcome,
        "sprintlog.exit_code": ran.exit_code,
        "sprintlog.timed_out": True if ran.timed_out else None,
        "sprintlog.is_repair": True if ran.is_repair else None,
        "sprintlog.is_rest": True if ran.is_rest else None,
        "sprintlog.is_priced": True if ran.is_priced else None,
        "sprintlog.tool_calls": ran.tool_calls,
        "sprintlog.duration_ms": None if ran.is_rest else ran.duration_ms,
        **said,
    }
    name = f"{AGENT} {ran.agent}" if is_known else AGENT
    return _span(told, name, place, attributes, took=ran.duration_ms, has_failed=failed)


def gate_span(
    told: ExportedEvent, checked: GateChecked | None, place: PlaceInTrace, said: Attributes
) -> TraceSpan:
    """Return a check of a gate, with its evaluation."""
    if checked is None:
        return _span(told, "gate", place, said, took=None)
    passed = checked.exit_code == 0 and not checked.timed_out
    evaluation: dict[str, Any] = {
        EVALUATION_NAME: f"gate {checked.phase}",
        EVALUATION_SCORE: 1.0 if passed else 0.0,
        EVALUATION_LABEL: PASSED if passed else FAILED,
        ERROR_TYPE: "timeout" if checked.timed_out else None,
    }
    attributes: dict[str, Any] = {
        "sprintlog.phase": checked.phase,
        "sprintlog.attempt": checked.attempt,
        "sprintlog.exit_code": checked.exit_code,
        "sprintlog.timed_out": True if checked.timed_out else None,
        "sprintlog.duration_ms": checked.duration_ms,
        **said,
    }
    made = _span(
        told,
        f"gate {checked.phase}",
        place,
        attributes,
        took=checked.duration_ms,
        has_failed=not passed,
    )
    return made._replace(events=(SpanEvent(made.end, EVALUATION, evaluation),))


def tool_span(
    told: ExportedEvent, call: ToolCalled | None, place: PlaceInTrace, said: Attributes
) -> TraceSpan:
    """Return a call of a tool."""
    if call is None:
        return _span(told, TOOL, place, said, took=None)
    attributes: dict[str, Any] = {
        OPERATION: TOOL,
        TOOL_NAME: call.tool,
        TOOL_CALL: call.call,
        CONVERSATION: (told.session or "").partition("-")[2],
        ERROR_TYPE: "tool_error" if call.ok is False else None,
        "sprintlog.exit_code": call.exit_code,
        "sprintlog.subagent": call.subagent,
        "sprintlog.unfinished": True if call.is_unfinished else None,
        "sprintlog.found_in": call.found_in,
        **said,
    }
    failed = call.ok is False
    name = f"{TOOL} {call.tool}"
    return _span(told, name, place, attributes, took=call.duration_ms, has_failed=failed)


def _span(
    told: ExportedEvent,
    name: str,
    place: PlaceInTrace,
    attributes: Attributes,
    *,
    took: int | None,
    has_failed: bool = False,
) -> TraceSpan:
    """Return the span of an event that was recorded at its end."""
    recorded = told.recorded
    end = nanoseconds(recorded.at)
    start = max(0, end - max(0, took or 0) * NANOSECONDS_A_MILLISECOND)
    return TraceSpan(
        place.trace,
        recorded.hash[:SPAN_BYTES],
        place.parent,
        name,
        start,
        end,
        attributes,
        has_failed=has_failed,
    )


def _usage(used: Usage | None) -> dict[str, Any]:
    """Return the usage of a run as OpenTelemetry counts it.

    There what is given to a model includes what comes from a cache and what goes into one;
    `sprintlog.usage.tokens` are the tokens that `status` and budgets count.
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
