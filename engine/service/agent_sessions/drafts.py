"""An event of a session before it is in the log: made here, or read out of a file."""

import re

import msgspec

from ...errors import SprintlogError
from ...log.codec import encode
from ...log.envelope import Appended, NewEvent
from ...log.port import EventStore, Expect
from ...sessions.events import BY_TAG, SessionEvent
from ...sessions.names import KEY, is_session_stream, key_of

SESSION_EVENTS_MAX = 100_000
"""So many events has a session; what comes then is not recorded, but for its end."""
DRAFT_BYTES_MAX = 256 * 1024
_NAME = r"[ -~]{1,128}"


class Draft(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event of a session that waits for its place."""

    stream: str
    type: str
    data: msgspec.Raw
    """The event as JSON, secrets masked."""
    at: str
    actor: str
    key: str
    counts: str = ""
    """The type of events whose number belongs to the key: what tells it from the same
    before a session was resumed."""
    correlation: str = ""
    """The work it belongs to; that of the session where nobody says."""


class DamagedDraftError(ValueError):
    """A file holds no event of a session."""


def draft_of(
    stream: str, event: SessionEvent, *, key: str, counts: str, at: str, correlation: str
) -> Draft:
    """Return an event that happened now."""
    agent = stream.partition("/")[2].partition("-")[0]
    return Draft(
        stream,
        event.type,
        msgspec.Raw(encode(event)),
        at,
        f"agent:{agent}",
        key,
        counts,
        correlation if re.fullmatch(_NAME, correlation) else "",
    )


def pack(draft: Draft) -> bytes:
    """Return a draft as a file holds it."""
    return msgspec.json.encode(draft)


def unpack(content: bytes) -> Draft:
    """Return the draft of a file; raise `DamagedDraftError` for what is none of ours.

    Who can write into the folder can write anything: all of it is checked.
    """
    try:
        draft = msgspec.json.decode(content, type=Draft)
        event = msgspec.json.decode(draft.data, type=BY_TAG[draft.type])
        data = encode(event)
    except (msgspec.MsgspecError, SprintlogError, KeyError, ValueError) as error:
        raise DamagedDraftError("it is no event of a session") from error
    named = [draft.actor, *filter(None, [draft.correlation])]
    if (
        not is_session_stream(draft.stream)
        or re.fullmatch(KEY, draft.key) is None
        or (draft.counts and draft.counts not in BY_TAG)
        or not draft.actor.startswith("agent:")
        or not all(re.fullmatch(_NAME, name) for name in named)
    ):
        raise DamagedDraftError("it is no event of a session")
    return msgspec.structs.replace(draft, data=msgspec.Raw(data))


def append(log: EventStore, draft: Draft) -> Appended | None:
    """Record an event of a session once, however often it is told; None past the limit."""
    if log.version(draft.stream) >= SESSION_EVENTS_MAX and draft.type != _END:
        return None
    key = draft.key
    if draft.counts:
        before = sum(len(p.rows) for p in log.scan(draft.stream, only=draft.counts))
        key = key_of(draft.stream, draft.type, key, max(before - 1, 0))
    event = NewEvent(
        draft.type,
        bytes(draft.data),
        draft.at,
        draft.actor,
        schema_version=BY_TAG[draft.type].schema_version,
        correlation_id=draft.correlation or draft.stream[:128],
        observed=True,
    )
    return log.append(draft.stream, [event], expect=Expect.ANY, key=key)


_END = "session-ended"
