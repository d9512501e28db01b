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
    """The event type's tag, in kebab case."""
    payload: bytes
    """The event as JSON, at most `payload_bytes_max` bytes."""
    at: str
    """The time at which it happened, set by the caller: ISO 8601 in UTC, ending in `Z`."""
    actor: str
    """The actor: `runtime`, `operator`, `operator:…`, `agent:…` or `import:…`."""
    schema_version: int = 1
    """The version of the payload's shape, incremented only if an upcast is required."""
    correlation_id: str | None = None
    """The id of the related work; defaults to the append's first event."""
    causation_id: str | None = None
    """The id of the event that caused this one; defaults to the append's first event."""
    observed: bool = False
    """Whether another tool reported the event, so that no rules were applied to it."""
    payload_bytes_max: int = PAYLOAD_BYTES_MAX
    """The maximum size of the payload, at most `DOCUMENT_BYTES_MAX`."""


class RecordedEvent(msgspec.Struct, frozen=True, gc=False):
    """An event in the log, exactly as stored; its fields are the columns."""

    position: int
    """The position in the log: 1, 2, 3 … without gaps."""
    stream: str
    version: int
    """The position in the stream: 1, 2, 3 … without gaps."""
    id: str
    """A UUIDv7."""
    type: str
    schema_version: int
    at: str
    recorded_at: str
    """The time of the append according to the store's clock; projections do not use it."""
    actor: str
    correlation_id: str
    causation_id: str
    key: str | None
    """The idempotency key, which is only set on the first event in its append."""
    key_digest: bytes | None
    """The SHA-256 of the command that used the key, including its arguments."""
    remaining: int
    """The number of events that follow in the same append; 0 for the last one."""
    observed: bool
    salt: bytes | None
    """Random bytes that make the payload's digest unguessable; erased with the payload."""
    payload: bytes | None
    """The event as JSON; after an erasure, the remainder or None."""
    payload_digest: bytes
    hash: bytes
    """The chain: the SHA-256 of the previous hash, the header and the payload's digest."""


class Head(msgspec.Struct, frozen=True):
    """The end of the log: its last position and that event's hash."""

    position: int
    hash: bytes


class Span(msgspec.Struct, frozen=True, omit_defaults=True):
    """A range of a stream's versions, optionally restricted to one event type."""

    stream: str
    """The events' stream."""
    first: int
    """The first version, inclusive."""
    last: int
    """The last version, inclusive."""
    only: str | None = None
    """The event type to which the span is restricted; None for all types."""

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
