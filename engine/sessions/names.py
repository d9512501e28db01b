"""The stream names and idempotency keys for agent sessions."""

import re

from .. import hashes
from ..masking import mask

AGENTS = ("claude", "codex", "copilot", "cursor", "gemini", "opencode")
"""The agents whose hooks are supported."""
FOLLOWED = ("antigravity", "droid")
"""The other agents whose transcripts can be followed."""
_STREAM = "session/"
_PLAIN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}"
_OURS = rf"session/(?:{'|'.join((*AGENTS, *FOLLOWED))})-{_PLAIN}"
KEY = r"session:[0-9a-f]{40}"
"""The pattern of session keys."""


def session_stream(agent: str, session: str) -> str:
    """Return the name of a session's stream.

    An id that contains unusual characters or a secret is replaced by its digest.
    """
    if re.fullmatch(_PLAIN, session) is None or mask(session) != session:
        session = hashes.sha256(session.encode("utf-8", "replace")).hexdigest()[:32]
    return f"{_STREAM}{agent}-{session}"


def session_of(stream: str) -> str | None:
    """Return a stream's session as `AGENT-ID`, or None if it is not a session stream."""
    return stream.removeprefix(_STREAM) if stream.startswith(_STREAM) else None


def is_session_stream(stream: str) -> bool:
    """Return whether a name is a possible result of `session_stream`."""
    return re.fullmatch(_OURS, stream) is not None and mask(stream) == stream


def key_of(stream: str, tag: str, *parts: object) -> str:
    """Return an event's idempotency key, which is the same for all of its sources.

    `parts` distinguish the event from other events of its type in the session, for example
    by the agent's call id.
    """
    said = "\0".join((stream, tag, *map(str, parts)))
    return f"session:{hashes.sha256(said.encode('utf-8', 'replace')).hexdigest()[:40]}"


def taken_key(stream: str, likeness: str, number: int) -> str:
    """Return the key of an event without an id, as read from a transcript or stream.

    `number` counts the events with this likeness in the session.
    """
    return key_of(stream, "taken-call", likeness, number)
