"""A session's transcript against what its hooks said: what only it has is recorded."""

from typing import NamedTuple

from ...adapters.transcripts.calls import KeptCall
from ...errors import InvalidInputError
from ...log.port import EventStore
from ...sessions.compare import compare
from ...sessions.events import ToolCalled
from ...sessions.names import key_of
from ...sprint.state.times import normalise
from .drafts import append, draft_of
from .known_sessions import event_of


class Taken(NamedTuple):
    """What came of the calls of a transcript."""

    seen: int
    taken: int
    left: int
    only_hooks: int
    recorded: int


def take_calls(
    log: EventStore, stream: str, kept: list[KeptCall], *, is_over: bool, now: str
) -> Taken:
    """Record the calls that only a transcript has, each once.

    What has no end is recorded only where the session `is_over`: its hook may be to come.
    """
    known, work = list[ToolCalled](), ""
    for recorded in log.read_stream(stream):
        work = work or recorded.correlation_id or ""
        event = event_of(recorded)
        if isinstance(event, ToolCalled):
            known.append(event)
    found = compare(known, [one.call for one in kept])
    ends = {one.call.call: one.at for one in kept}
    recorded_now = left = 0
    for call in found.missing:
        if call.is_unfinished and not is_over:
            left += 1
            continue
        draft = draft_of(
            stream,
            call,
            key=key_of(stream, ToolCalled.type, call.call),
            counts="",
            at=_moment(ends.get(call.call), now),
            correlation=work,
        )
        appended = append(log, draft)
        recorded_now += appended is not None and not appended.duplicate
    taken = found.taken + len(found.missing) - left
    return Taken(found.seen, taken, left, found.only_hooks, recorded_now)


def _moment(said: str | None, now: str) -> str:
    """Return when it was by the agent's clock; now where that is no time."""
    try:
        return normalise(said) if said else now
    except InvalidInputError:
        return now
