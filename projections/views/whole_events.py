"""Whole events, with all that the log keeps about them."""

from typing import Any

from msgspec import UNSET, Raw
from msgspec.structs import asdict

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.streams.catalogue import CODEC

from .events import EventReference

_BYTES = ("hash", "key_digest", "payload_digest", "salt")


class WholeEvent(EventReference, frozen=True, kw_only=True):
    """A whole event; `stored` are the bytes of an older shape, where it has one."""

    schema_version: int
    at: str
    recorded_at: str
    actor: str
    correlation_id: str
    causation_id: str | None
    key: str | None
    key_digest: str | None
    remaining: int
    observed: bool
    salt: str | None
    payload_digest: str
    data: Any
    """None where it was erased."""
    stored: Any = UNSET


def envelope(event: RecordedEvent) -> WholeEvent:
    """Return a whole event with its data.

    Whoever reads it meets today's shapes alone. The bytes of an older one stand beside
    its data, because they are what the digest is of.
    """
    said, data = asdict(event), CODEC.today(event)
    payload: bytes | None = said.pop("payload")
    said |= {name: said[name].hex() for name in _BYTES if said[name] is not None}
    is_older = payload is not None and data is not payload
    return WholeEvent(
        **said,
        data=None if data is None else Raw(data),
        stored=Raw(payload or b"") if is_older else UNSET,
    )
