"""Events as scripts get them: where they are, what they are called, all that is kept."""

from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import asdict

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import Injection
from sprintlog.engine.sprint.plan.injection import addresses

Text = str | UnsetType
More = TypeVar("More", bound=Struct)


class EventReference(Struct, frozen=True, kw_only=True):
    """Where a recorded event is."""

    position: int
    stream: str
    version: int
    id: str
    type: str
    hash: str


class Recorded(EventReference, frozen=True, kw_only=True):
    """A recorded event, and by which names what came in can be called from now on."""

    addresses: list[str] | UnsetType = UNSET
    request: Text = UNSET
    step: Text = UNSET
    entry: Text = UNSET
    learning: Text = UNSET
    pattern: Text = UNSET
    duplicate: bool | UnsetType = UNSET
    """True for a key that was used before."""


class Unchanged(Struct, frozen=True, kw_only=True):
    """It was so already: nothing was recorded."""

    unchanged: bool = True
    stream: str
    version: int


Answered = Recorded | list[Recorded] | Unchanged
"""What a recording command answers: an event, several, or none."""


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


def reference(event: RecordedEvent) -> EventReference:
    """Return where an event is."""
    return EventReference(**_place(event))


def recorded(
    events: Sequence[RecordedEvent], *, stream: str, version: int, duplicate: bool
) -> Answered:
    """Return what a recording command answers."""
    repeated = duplicate or UNSET
    found = [Recorded(**_place(e), **named(e), duplicate=repeated) for e in events]
    if not found:
        return Unchanged(stream=stream, version=version)
    return found[0] if len(found) == 1 else found


def extended(answer: Struct, kind: type[More], **more: Any) -> More:
    """Return an answer as one of a kind that says more."""
    return kind(**asdict(answer), **more)


def named(recorded: RecordedEvent) -> dict[str, Any]:
    """Return by which names what came in can be called from now on."""
    event = event_of(recorded)
    if isinstance(event, Injection):
        # What has no id, or no status, cannot be called at all.
        return {"addresses": came} if (came := addresses(event)) else {}
    return event.told() if event is not None else {}


def described(recorded: RecordedEvent) -> str:
    """Return an event's type and what it is about, in a few words."""
    event = event_of(recorded)
    if isinstance(event, Injection):
        return f"{event.type} {', '.join(addresses(event))}".rstrip()
    return event.described() if event is not None else recorded.type


def event_of(recorded: RecordedEvent) -> Event | None:
    """Return what was recorded; None when it was erased."""
    return None if recorded.payload is None else CODEC.decode(recorded)


def envelope(event: RecordedEvent) -> WholeEvent:
    """Return a whole event with its data.

    Whoever reads it meets today's shapes alone. The bytes of an older one stand beside
    its data, because they are what the digest is of.
    """
    data = CODEC.today(event)
    is_older = event.payload is not None and data is not event.payload
    return WholeEvent(
        **_place(event),
        schema_version=event.schema_version,
        at=event.at,
        recorded_at=event.recorded_at,
        actor=event.actor,
        correlation_id=event.correlation_id,
        causation_id=event.causation_id,
        key=event.key,
        key_digest=event.key_digest.hex() if event.key_digest else None,
        remaining=event.remaining,
        observed=event.observed,
        salt=event.salt.hex() if event.salt is not None else None,
        payload_digest=event.payload_digest.hex(),
        data=None if data is None else Raw(data),
        stored=Raw(event.payload or b"") if is_older else UNSET,
    )


def _place(event: RecordedEvent) -> dict[str, Any]:
    return {
        "position": event.position,
        "stream": event.stream,
        "version": event.version,
        "id": event.id,
        "type": event.type,
        "hash": event.hash.hex(),
    }
