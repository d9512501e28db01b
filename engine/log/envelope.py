"""The envelope that the log stores around every payload."""

from collections.abc import Iterable, Iterator

import msgspec

PAYLOAD_BYTES_MAX = 1024 * 1024
DOCUMENT_BYTES_MAX = 8 * 1024 * 1024
ERASURES = "erasures"
"""The stream of the events that record erasures, one per log."""


class NewEvent(msgspec.Struct, frozen=True):
    """An event that has not been appended yet."""

    type: str
    """The event's wire tag, in kebab case."""
    payload: bytes
    """The event as JSON; at most `PAYLOAD_BYTES_MAX`, or what its event allows."""
    at: str
    """When it happened: ISO 8601 in UTC, ending in `Z`, given by the caller."""
    actor: str
    """Who caused it: `runtime`, `operator`, `operator:…`, `agent:…` or `import:…`."""
    schema_version: int = 1
    """The shape of the payload; raised only when an upcast is needed."""
    correlation_id: str | None = None
    """The work this belongs to; the append's first event when nothing is given."""
    causation_id: str | None = None
    """The event that caused this one; the append's first event when nothing is given."""
    observed: bool = False
    """True when another tool says it happened and our rules were not asked."""
    payload_bytes_max: int = PAYLOAD_BYTES_MAX
    """What its event allows; never more than `DOCUMENT_BYTES_MAX`."""


class RecordedEvent(msgspec.Struct, frozen=True, gc=False):
    """An event in the log, exactly as stored; its fields are the columns."""

    position: int
    """Place in the log: 1, 2, 3 … without gaps."""
    stream: str
    version: int
    """Place in the stream: 1, 2, 3 … without gaps."""
    id: str
    """UUIDv7."""
    type: str
    schema_version: int
    at: str
    recorded_at: str
    """When it was appended, by the store's clock; no projection reads it."""
    actor: str
    correlation_id: str
    causation_id: str
    key: str | None
    """Idempotency key; only on the first event of its append."""
    key_digest: bytes | None
    """The sha256 of the command for which the key was used, with its arguments."""
    remaining: int
    """How many events of the same append follow; 0 on its last."""
    observed: bool
    salt: bytes | None
    """Random bytes that make the payload's digest unguessable; erased with it."""
    payload: bytes | None
    """The event as JSON; what remains of it once it is erased, None for nothing."""
    payload_digest: bytes
    hash: bytes
    """The chain: sha256 over the hash before, the header and the payload's digest."""


class Head(msgspec.Struct, frozen=True):
    """The end of the log: its last position and that event's hash."""

    position: int
    hash: bytes


class Span(msgspec.Struct, frozen=True, omit_defaults=True):
    """A range of a stream's versions, optionally restricted to one event type."""

    stream: str
    """The stream that they are in."""
    first: int
    """Their first version."""
    last: int
    """Their last version; it is one of them."""
    only: str | None = None
    """The one type that is meant; None for all."""

    def holds(self, stream: str, version: int, type_: str) -> bool:
        """Return whether the span contains an event."""
        is_there = stream == self.stream and self.first <= version <= self.last
        return is_there and self.only in (None, type_)


def places_in(spans: Iterable[Span]) -> Iterator[tuple[str, int]]:
    """Yield the stream and version of every event in the spans, in order."""
    for span in spans:
        for version in range(span.first, span.last + 1):
            yield span.stream, version


class Appended(msgspec.Struct, frozen=True):
    """The result of an append: its events, and whether they were already recorded."""

    events: list[RecordedEvent]
    duplicate: bool = False
