"""Runs of agents, checks of gates, calls of tools as spans: each follows from one event."""

from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.sessions.events import ToolCalled
from sprintlog.engine.sessions.names import session_of
from sprintlog.engine.sprint.events import AgentRan, GateChecked
from sprintlog.engine.sprint.state.words import NO_SUCCESS
from sprintlog.engine.usage import Usage, lower_bounds, tokens_of

from . import span
from . import span as names
from .exported_events import ToldEvent

PASSED, FAILED = "pass", "fail"


class PlaceInTrace(NamedTuple):
    """Where a span belongs."""

    trace: bytes
    parent: bytes


def marks(told: ToldEvent, *, with_content: bool) -> dict[str, Any]:
    """Return what every span says of the event that it is from."""
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
    told: ToldEvent, ran: AgentRan | None, place: PlaceInTrace, said: span.Attributes
) -> span.TraceSpan:
    """Return a run of an agent; of one that says nothing any more only that it was."""
    if ran is None:
        return _span(told, names.AGENT, place, said, took=None)
    session = ran.sessions[-1] if ran.sessions else None
    is_known, failed = ran.agent is not None, ran.status in NO_SUCCESS
    attributes: dict[str, Any] = {
        names.OPERATION: names.AGENT,
        names.PROVIDER: names.PROVIDERS.get(ran.agent or "", ran.agent),
        names.AGENT_NAME: ran.agent,
        names.AGENT_VERSION: ran.agent_version,
        names.CONVERSATION: session,
        names.REQUEST_MODEL: ran.model,
        names.RESPONSE_MODEL: ran.models[-1] if ran.models else None,
        **_usage(ran.usage),
        names.ERROR_TYPE: ran.error_kind if failed else None,
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
    name = f"{names.AGENT} {ran.agent}" if is_known else names.AGENT
    return _span(told, name, place, attributes, took=ran.duration_ms, has_failed=failed)


def gate_span(
    told: ToldEvent, checked: GateChecked | None, place: PlaceInTrace, said: span.Attributes
) -> span.TraceSpan:
    """Return a check of a gate, with its evaluation."""
    if checked is None:
        return _span(told, "gate", place, said, took=None)
    passed = checked.exit_code == 0 and not checked.timed_out
    evaluation: dict[str, Any] = {
        names.EVALUATION_NAME: f"gate {checked.phase}",
        names.EVALUATION_SCORE: 1.0 if passed else 0.0,
        names.EVALUATION_LABEL: PASSED if passed else FAILED,
        names.ERROR_TYPE: "timeout" if checked.timed_out else None,
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
    return made._replace(events=(span.SpanEvent(made.end, names.EVALUATION, evaluation),))


def tool_span(
    told: ToldEvent, call: ToolCalled | None, place: PlaceInTrace, said: span.Attributes
) -> span.TraceSpan:
    """Return a call of a tool."""
    if call is None:
        return _span(told, names.TOOL, place, said, took=None)
    attributes: dict[str, Any] = {
        names.OPERATION: names.TOOL,
        names.TOOL_NAME: call.tool,
        names.TOOL_CALL: call.call,
        names.CONVERSATION: (session_of(told.recorded.stream) or "").partition("-")[2],
        names.ERROR_TYPE: "tool_error" if call.ok is False else None,
        "sprintlog.exit_code": call.exit_code,
        "sprintlog.subagent": call.subagent,
        "sprintlog.unfinished": True if call.is_unfinished else None,
        "sprintlog.found_in": call.found_in,
        **said,
    }
    failed = call.ok is False
    name = f"{names.TOOL} {call.tool}"
    return _span(told, name, place, attributes, took=call.duration_ms, has_failed=failed)


def _span(
    told: ToldEvent,
    name: str,
    place: PlaceInTrace,
    attributes: span.Attributes,
    *,
    took: int | None,
    has_failed: bool = False,
) -> span.TraceSpan:
    """Return the span of an event that was recorded at its end."""
    recorded = told.recorded
    end = span.nanoseconds(recorded.at)
    start = max(0, end - max(0, took or 0) * span.NANOSECONDS_A_MILLISECOND)
    return span.TraceSpan(
        place.trace,
        recorded.hash[: span.SPAN_BYTES],
        place.parent,
        name,
        start,
        end,
        attributes,
        has_failed=has_failed,
    )


def _usage(used: Usage | None) -> dict[str, Any]:
    """Return what a run took, counted as OpenTelemetry counts it.

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
        names.INPUT_TOKENS: sum(given) if given else None,
        names.OUTPUT_TOKENS: _counted(used.output_tokens),
        names.CACHE_READ_TOKENS: read,
        names.CACHE_CREATION_TOKENS: created,
        "sprintlog.usage.new_input_tokens": new,
        "sprintlog.usage.tokens": tokens_of(used),
        "sprintlog.usage.at_least": [*lower_bounds(used)] or None,
        "sprintlog.turns": _counted(used.turns),
        "sprintlog.cost_usd": None if cost is None else float(cost),
    }


def _counted(known: int | None) -> int | None:
    return known if known is not None and known >= 0 else None
