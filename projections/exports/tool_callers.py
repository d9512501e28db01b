"""Which run of an agent made a call of a tool: the call is in the log before the run is."""

from bisect import bisect_left
from collections import defaultdict
from operator import attrgetter
from typing import NamedTuple

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sessions.names import session_stream
from sprintlog.engine.sprint.events import ActivitySeen, AgentRan

from .span import SPAN_BYTES, nanoseconds

TYPES = (AgentRan.type, ActivitySeen.type)


class CallingRun(NamedTuple):
    """A run of an agent, as far as its calls need to know it."""

    stream: str
    """Of the sprint that it worked for."""
    span: bytes
    ended: int
    """In nanoseconds since 1970."""


class ToolCallers:
    """The runs of agents by session and by work, and which sprint has which work."""

    def __init__(self) -> None:
        self._by_session: defaultdict[str, list[CallingRun]] = defaultdict(list)
        self._by_work: defaultdict[str, list[CallingRun]] = defaultdict(list)
        self._sprints: dict[str, str] = {}

    def look(self, recorded: RecordedEvent) -> None:
        """Note an event of one of `TYPES`."""
        if recorded.type == ActivitySeen.type:
            self._sprints[recorded.correlation_id] = recorded.stream
            return
        ran = None if recorded.payload is None else CODEC.decode(recorded)
        if isinstance(ran, AgentRan) and ran.is_rest:
            return
        caller = CallingRun(
            recorded.stream, recorded.hash[:SPAN_BYTES], nanoseconds(recorded.at)
        )
        self._by_work[recorded.correlation_id].append(caller)
        if isinstance(ran, AgentRan) and ran.agent:
            for session in ran.sessions:
                self._by_session[session_stream(ran.agent, session)].append(caller)

    def of(self, call: RecordedEvent) -> CallingRun | None:
        """Return the run of a call: the first that ended no earlier, else the last.

        A run that names the session counts before one that only has its correlation id.
        """
        found = self._by_session.get(call.stream) or self._by_work.get(call.correlation_id)
        if not found:
            return None
        at = bisect_left(found, nanoseconds(call.at), key=attrgetter("ended"))
        return found[min(at, len(found) - 1)]

    def sprint_of(self, call: RecordedEvent) -> str | None:
        """Return the stream of the sprint whose work a call was part of, without a run."""
        return self._sprints.get(call.correlation_id)
