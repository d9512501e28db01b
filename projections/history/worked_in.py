"""In which session of an agent it was that an event of a sprint came about."""

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.port import EventStore
from sprintlog.engine.service.agent_sessions.known_sessions import event_of
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sessions.events import ToolCalled
from sprintlog.engine.sessions.names import is_session_stream, session_of, session_stream
from sprintlog.engine.sprint.events import AgentRan

NEAR = 256
"""So many events before one are looked through; a session's are right before it."""


def session_behind(log: EventStore, event: RecordedEvent) -> str | None:
    """Return the session, `AGENT-ID`, that was under way in the work of an event.

    The run of an agent that is recorded with the event names it; else it is the one of
    that work that did something last, unless a run was recorded since. None where no
    session is known.
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
    """Tell whether a call was taken from elsewhere, when its run was over."""
    call = event_of(recorded)
    return isinstance(call, ToolCalled) and call.found_in is not None


def _named(log: EventStore, recorded: RecordedEvent) -> str | None:
    """Return the stream of the last session that a run names, where the log has one."""
    ran = CODEC.decode(recorded) if recorded.payload is not None else None
    if not isinstance(ran, AgentRan) or not ran.sessions or not ran.agent:
        return None
    stream = session_stream(ran.agent, ran.sessions[-1])
    return stream if is_session_stream(stream) and log.version(stream) else None
