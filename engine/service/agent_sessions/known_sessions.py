"""The sessions in a log: listing, selection by name, and erasure of old sessions."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...errors import NotFoundError, RefusedError
from ...log.envelope import Appended, RecordedEvent, Span
from ...log.port import Log
from ...sessions.events import PromptGiven, SessionEvent, ToolCalled, TurnEnded
from ...sessions.names import session_of, session_stream
from ...sessions.summary import Summary
from ...sprint.events import ActivitySeen
from ...sprint.state.times import parse
from ..erasure import erase, measured
from ..streams.catalogue import CODEC

SESSIONS_OF_AN_EVENT = 1_000
"""The maximum number of sessions erased by a single event, which lists them."""


WITH_TEXT = (PromptGiven, ToolCalled, TurnEnded)


class OldSession(NamedTuple):
    """A session whose texts can be erased."""

    name: str
    """The name of the session: `AGENT-ID`."""
    spans: tuple[Span, ...]
    payloads: int
    """The number of events with text."""
    bytes: int


def old_sessions(log: Log, before: str) -> Iterator[OldSession]:
    """Yield the sessions with erasable text and no events since the given time.

    It does not matter whether a session has ended, because the end of a killed agent is
    never reported. The age of a resumed session is the age of its newest event.
    """
    moment = parse(before)
    for name, version in sessions(log).items():
        stream = f"session/{name}"
        last = next(log.read_stream(stream, after=version - 1), None)
        if last is None or parse(last.at) >= moment:
            continue
        spans = [Span(stream, 1, version, event.type) for event in WITH_TEXT]
        found = [(span, *measured(log, span)) for span in spans]
        if used := [one for one in found if one[1]]:
            of, payloads, sizes = zip(*used, strict=True)
            yield OldSession(name, of, sum(payloads), sum(sizes))


def erase_sessions(
    log: Log, found: Sequence[OldSession], *, reason: str, actor: str, at: str
) -> Iterator[Appended]:
    """Erase the texts of sessions, and free the space; yield the erasures."""
    is_smaller = False
    for start in range(0, len(found), SESSIONS_OF_AN_EVENT):
        some = found[start : start + SESSIONS_OF_AN_EVENT]
        spans = [span for one in some for span in one.spans]
        if (appended := erase(log, spans, reason=reason, actor=actor, at=at)) is not None:
            is_smaller = True
            yield appended
    if is_smaller:
        log.give_back()


SHOWN_MAX = 5
NEWEST = 128
"""The number of latest events that are searched for recent work."""


def sessions(log: Log) -> dict[str, int]:
    """Return the number of events in each session, by session name (`AGENT-ID`)."""
    found = ((session_of(stream), version) for stream, version in log.streams().items())
    return {name: version for name, version in found if name is not None}


def choose_session(log: Log, named: str) -> str:
    """Return the stream of a session, given its name, its id, or a prefix of either.

    Raise `NotFoundError` if no session matches, and `RefusedError` if several do.
    """
    known = sessions(log)
    wanted = named.removeprefix("session/")
    found = [name for name in known if wanted in (name, name.partition("-")[2])]
    found = found or [
        name
        for name in known
        if name.startswith(wanted) or name.partition("-")[2].startswith(wanted)
    ]
    if not found or not wanted:
        raise NotFoundError(
            f"there is no session {named[:80]}",
            hint="run `sprintlog show session` to list the sessions",
            session=named,
        )
    if len(found) > 1:
        shown = ", ".join(found[:SHOWN_MAX])
        raise RefusedError(
            f"{named[:80]} matches {len(found)} sessions: {shown}",
            hint="specify more characters of the session's name",
            session=named,
        )
    agent, _, id_ = found[0].partition("-")
    return session_stream(agent, id_)


def summary(log: Log, stream: str) -> Summary:
    """Return the summary of a session."""
    found = Summary(files_changed=[])
    for event in log.read_stream(stream):
        found.take(event.at, event_of(event))
    return found


def event_of(recorded: RecordedEvent) -> SessionEvent | None:
    """Return a recorded session event; None if it was erased."""
    if recorded.payload is None:
        return None
    event = CODEC.decode(recorded)
    return event if isinstance(event, SessionEvent) else None


def last_work(log: Log, stream: str) -> str | None:
    """Return the time of the latest event in the sessions that are working on a sprint.

    These are the sessions linked to the sprint's latest heartbeat. Only the newest events
    are searched.
    """
    own = [*log.read_stream(stream, after=max(log.version(stream) - NEWEST, 0))]
    beats = [event for event in own if event.type == ActivitySeen.type]
    if not beats:
        return None
    work = beats[-1].correlation_id
    newest = log.read(after=max(log.head().position - NEWEST, 0))
    linked = (event for event in newest if event.correlation_id == work)
    return max((x.at for x in linked if session_of(x.stream) is not None), default=None)
