"""What is known of a run of an agent's command when its process has ended."""

from typing import NamedTuple

from ...adapters.agents.calls import StreamCalls
from ...log.port import Log
from ...sessions.events import SessionStarted, ToolCalled
from ...sessions.names import session_of
from .known_sessions import event_of

_WITHIN = "compact"
"""How a session starts that never ended."""


class AgentRunEnded(NamedTuple):
    """A command that ran, and what it printed."""

    work: str
    """The correlation id that it was given."""
    since: int
    """The position of the log when it began."""
    is_only: bool
    """Whether nobody else works under this id, such as a command around this one."""
    agent: str | None
    """Whose output it was."""
    calls: StreamCalls


class HookedSession(NamedTuple):
    """A session of which hooks told while a command ran."""

    stream: str
    is_over: bool
    """Whether it began, or was taken up, in this run, and so ended with its process."""


def hooked_sessions(log: Log, run: AgentRunEnded) -> list[HookedSession]:
    """Return the sessions of which hooks told as part of a run, in their order."""
    began: dict[str, bool] = {}
    for recorded in log.read(after=run.since):
        stream = recorded.stream
        if recorded.correlation_id != run.work or session_of(stream) is None:
            continue
        event = event_of(recorded)
        if isinstance(event, ToolCalled) and event.found_in is not None:
            continue
        starts = isinstance(event, SessionStarted) and event.how != _WITHIN
        is_over = run.is_only or starts or recorded.version == 1
        began[stream] = began.get(stream, False) or is_over
    return [HookedSession(stream, is_over) for stream, is_over in began.items()]
