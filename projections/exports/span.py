"""Spans of OpenTelemetry, their attributes, and their JSON in OTLP.

Names follow open-telemetry/semantic-conventions-genai at commit 002c8a6, whose status is
"Development". The constants of the Python package are all marked as moved there.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.masking import mask_all
from sprintlog.engine.sprint.state.times import parse

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
"""What is said of a span; what is None is not."""


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
    """Return a time of the log in nanoseconds since 1970; 0 for what is none."""
    try:
        since = parse(text) - _EPOCH
    except InvalidInputError:
        # An event that came in with a log may say anything there.
        return 0
    microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return max(0, microseconds * 1000)


def line(spans: Iterable[TraceSpan], resource: Attributes) -> bytes:
    """Return spans as one message of OTLP, on a line."""
    scope = {"scope": {"name": "sprintlog"}, "spans": [_span(one) for one in spans]}
    said = {"resource": {"attributes": _attributes(resource)}, "scopeSpans": [scope]}
    return msgspec.json.encode({"resourceSpans": [said]}) + b"\n"


def _span(one: TraceSpan) -> dict[str, Any]:
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
