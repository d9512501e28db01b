"""Names of agents' sessions: their streams, idempotency keys, and the environment variable.

It imports little, because it is loaded before a wrapped command starts.
"""

import re
from collections.abc import Mapping

from .. import hashes
from ..masking import mask

CORRELATION = "SPRINTLOG_CORRELATION"
"""The variable with the name of the work that a process and its children record for."""
_NAME_CHARS_MAX = 128
AGENTS = ("claude", "codex", "copilot", "cursor", "gemini", "opencode")
"""The agents whose hooks are supported."""
_STREAM = "session/"
_PLAIN = r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}"
_OURS = rf"session/(?:{'|'.join(AGENTS)})-{_PLAIN}"
KEY = r"session:[0-9a-f]{40}"
"""The pattern of a session's keys."""


def work_in(environment: Mapping[str, str]) -> str | None:
    """Return the work that an environment names; None if it names none."""
    said = environment.get(CORRELATION, "")
    is_name = said.isascii() and said.isprintable() and 0 < len(said) <= _NAME_CHARS_MAX
    return said if is_name else None


def session_stream(agent: str, session: str) -> str:
    """Return the name of a session's stream.

    An id with odd characters or with a secret is replaced by its digest.
    """
    if re.fullmatch(_PLAIN, session) is None or mask(session) != session:
        session = hashes.sha256(session.encode("utf-8", "replace")).hexdigest()[:32]
    return f"{_STREAM}{agent}-{session}"


def session_of(stream: str) -> str | None:
    """Return the session whose stream this is, as `AGENT-ID`; None for another one."""
    return stream.removeprefix(_STREAM) if stream.startswith(_STREAM) else None


def is_session_stream(stream: str) -> bool:
    """Return whether `session_stream` could have returned a name."""
    return re.fullmatch(_OURS, stream) is not None and mask(stream) == stream


def key_of(stream: str, tag: str, *parts: object) -> str:
    """Return the idempotency key of an event, equal for every source that reports it.

    `parts` identify the event among those of its type in the session, such as the agent's
    id of a call.
    """
    said = "\0".join((stream, tag, *map(str, parts)))
    return f"session:{hashes.sha256(said.encode('utf-8', 'replace')).hexdigest()[:40]}"


def taken_key(stream: str, likeness: str, number: int) -> str:
    """Return the key of a call without an id that was read from a transcript or stream.

    `number` counts the calls of this likeness in the session.
    """
    return key_of(stream, "taken-call", likeness, number)
