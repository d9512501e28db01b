"""The causes of an event, and the session in which it occurred."""

from typing import Any

import msgspec

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.port import EventStore
from sprintlog.engine.service.agent_sessions.known_sessions import event_of
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sessions.events import ToolCalled
from sprintlog.engine.sessions.names import is_session_stream, session_of, session_stream
from sprintlog.engine.sprint.events import AgentRan

CAUSES_MAX = 32
"""The maximum length of a chain; query its last event for more."""
NEAR = 256
"""The number of preceding events searched first: most causes and sessions are close."""
_REASONS = ("reason", "why", "error", "problem", "summary", "text", "details", "source")
"""The fields with the reason, result or origin of an event."""


def reason_of(event: RecordedEvent) -> str | None:
    """Return the reason, result or origin that an event records."""
    payload = CODEC.today(event)
    data: dict[str, Any] = {} if payload is None else msgspec.json.decode(payload)
    found = next((data[name] for name in _REASONS if data.get(name)), None)
    if found is None and data.get("exit_code") is not None:
        over = ", ran into its time limit" if data.get("timed_out") else ""
        return f"exit code {data['exit_code']}{over}"
    return None if found is None else str(found)


def causes_of(log: EventStore, event: RecordedEvent) -> list[RecordedEvent]:
    """Return the chain of an event's causes, nearest first.

    The chain ends at an event that is its own cause or whose cause is not in the log.
    """
    chain: list[RecordedEvent] = []
    seen = {event.id}
    while event.causation_id not in seen and len(chain) < CAUSES_MAX:
        seen.add(event.causation_id)
        found = _find(log, event)
        if found is None:
            break
        chain.append(found)
        event = found
    return chain


def session_behind(log: EventStore, event: RecordedEvent) -> str | None:
    """Return the session (`AGENT-ID`) in which an event occurred, or None if unknown.

    If an agent run was recorded together with the event, the result is the session that the
    run names. Otherwise, it is the most recently active session with the same correlation
    id, unless a run has been recorded since.
    """
    found: str | None = None
    for other in log.read(after=max(event.position - NEAR, 0), until=event.position):
        if other.correlation_id != event.correlation_id:
            continue
        if session_of(other.stream) is not None:
            found = found if _is_found_later(other) else other.stream
        elif other.type == AgentRan.type and other.stream == event.stream:
            is_same = other.recorded_at == event.recorded_at
            found = (_named(log, other) or found) if is_same else None
    return session_of(found) if found is not None else None


def _is_found_later(recorded: RecordedEvent) -> bool:
    """Return whether a tool call was found in another source after its run."""
    call = event_of(recorded)
    return isinstance(call, ToolCalled) and call.found_in is not None


def _find(log: EventStore, event: RecordedEvent) -> RecordedEvent | None:
    near = log.read(after=max(0, event.position - NEAR), until=event.position)
    found = next((one for one in near if one.id == event.causation_id), None)
    return found or log.find_id(event.causation_id)


def _named(log: EventStore, recorded: RecordedEvent) -> str | None:
    """Return the stream of the last session named by a run, if the log contains it."""
    ran = CODEC.decode(recorded) if recorded.payload is not None else None
    if not isinstance(ran, AgentRan) or not ran.sessions or not ran.agent:
        return None
    stream = session_stream(ran.agent, ran.sessions[-1])
    return stream if is_session_stream(stream) and log.version(stream) else None
