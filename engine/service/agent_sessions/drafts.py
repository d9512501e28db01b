"""Session events that are not in the log yet: newly created, or read from a file."""

import math
import re
from datetime import datetime

import msgspec

from ...errors import ConflictError, SprintlogError
from ...log.codec import encode_masked
from ...log.envelope import Appended, NewEvent
from ...log.port import EventStore, Expect, Expected
from ...masking import mask
from ...sessions.events import BY_TAG, SessionEvent
from ...sessions.names import KEY, is_session_stream, key_of, taken_key
from ...sessions.summary import NEAR_SECONDS

SESSION_EVENTS_MAX = 100_000
"""The maximum number of events in a session; of later events, only the end is recorded."""
DRAFT_BYTES_MAX = 256 * 1024
TAKEN_MS = {"tool-called": 2_000}
"""The maximum difference between an event's times in hooks and transcripts, by type."""
_TRIES = 50
_MOMENT_CHARS = 40
_NAME = r"[ -~]{1,128}"


class Draft(msgspec.Struct, frozen=True, omit_defaults=True):
    """A session event that is waiting to be appended."""

    stream: str
    type: str
    data: msgspec.Raw
    """The event as JSON, with secrets masked."""
    at: str
    actor: str
    key: str
    counts: str = ""
    """A type of event whose count is part of the key; it distinguishes the event from the
    same event before the session was resumed."""
    correlation: str = ""
    """The correlation id; defaults to the session's stream."""
    likeness: str = ""
    """The property by which the event is matched with those from another source."""
    said_at: str = ""
    """The time of the event by the agent's clock; empty if it is unknown."""


class DamagedDraftError(ValueError):
    """A file does not contain a session event."""


def draft_of(
    stream: str,
    event: SessionEvent,
    *,
    key: str,
    counts: str,
    at: str,
    correlation: str,
    likeness: str = "",
    said_at: str = "",
) -> Draft:
    """Return the draft of an event that has just happened."""
    agent = stream.partition("/")[2].partition("-")[0]
    return Draft(
        stream,
        event.type,
        msgspec.Raw(encode_masked(event)),
        at,
        f"agent:{agent}",
        key,
        counts,
        mask(correlation) if re.fullmatch(_NAME, correlation) else "",
        likeness,
        said_at,
    )


def unpack(content: bytes) -> Draft:
    """Return the draft in a file's content; raise `DamagedDraftError` if it is not valid.

    Other programs can write to the folder, so everything is checked.
    """
    try:
        draft = msgspec.json.decode(content, type=Draft)
        data = encode_masked(msgspec.json.decode(draft.data, type=BY_TAG[draft.type]))
    except (msgspec.MsgspecError, SprintlogError, KeyError, ValueError) as error:
        raise DamagedDraftError("it is not a session event") from error
    named = [draft.actor, *filter(None, [draft.correlation])]
    if (
        not is_session_stream(draft.stream)
        or re.fullmatch(KEY, draft.key) is None
        or (draft.counts and draft.counts not in BY_TAG)
        or not draft.actor.startswith("agent:")
        or len(draft.said_at) > _MOMENT_CHARS
        or not all(re.fullmatch(_NAME, name) for name in named)
    ):
        raise DamagedDraftError("it is not a session event")
    return msgspec.structs.replace(draft, data=msgspec.Raw(data))


def append(
    log: EventStore, draft: Draft, *, expect: Expected = Expect.ANY
) -> Appended | None:
    """Append a session event once, even if it is reported several times.

    Return None if the session has reached its limit, or if the event was already recorded
    from a transcript or stream. Raise `ConflictError` if a possibly identical event was
    recorded in the meantime.
    """
    if (version := log.version(draft.stream)) >= SESSION_EVENTS_MAX and draft.type != _END:
        return None
    if draft.likeness:
        if _was_taken(log, draft):
            return None
        expect = version
    key = draft.key
    if draft.counts:
        before = sum(len(p.rows) for p in log.scan(draft.stream, only=draft.counts))
        key = key_of(draft.stream, draft.type, key, max(before - 1, 0))
    event = NewEvent(
        draft.type,
        bytes(draft.data),
        draft.at,
        mask(draft.actor),
        schema_version=BY_TAG[draft.type].schema_version,
        correlation_id=mask(draft.correlation) or draft.stream[:128],
        observed=True,
    )
    return log.append(draft.stream, [event], expect=expect, key=key)


def append_at_last(log: EventStore, draft: Draft) -> Appended | None:
    """Append a session event as `append` does, but retry after concurrent appends."""
    for _ in range(_TRIES - 1):
        try:
            return append(log, draft)
        except ConflictError:
            continue
    return append(log, draft)


def _was_taken(log: EventStore, draft: Draft) -> bool:
    """Return whether an event was recorded from another source before its hook reported it.

    Both sources state nearly the same time, which for a call is from the agent's clock.
    """
    apart = TAKEN_MS.get(draft.type, NEAR_SECONDS * 1000)
    for number in range(SESSION_EVENTS_MAX):
        if not (found := log.find_key(taken_key(draft.stream, draft.likeness, number))):
            return False
        if _apart_ms(found[0].at, draft.said_at or draft.at) <= apart:
            return True
    return False


def _apart_ms(one: str, other: str) -> float:
    try:
        apart = datetime.fromisoformat(one) - datetime.fromisoformat(other)
    except (ValueError, TypeError):
        return math.inf
    return abs(apart.total_seconds()) * 1000


_END = "session-ended"
