"""The JSON of recorded events: abbreviated for answers, or complete."""

from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import asdict

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event
from sprintlog.engine.service.port import Handled
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.sprint.events import Injection
from sprintlog.engine.sprint.state.sprint import Sprint

if TYPE_CHECKING:
    from sprintlog.engine.journal.state import Journal

Text = str | UnsetType
More = TypeVar("More", bound=Struct)
SAID_CHARS_MAX = 200
"""The maximum length of a subject on one line."""


class EventReference(Struct, frozen=True, kw_only=True):
    """The position, stream and identity of a recorded event."""

    position: int
    stream: str
    version: int
    id: str
    type: str
    hash: str


class Recorded(EventReference, frozen=True, kw_only=True):
    """A recorded event, and the addresses that it added."""

    addresses: list[str] | UnsetType = UNSET
    request: Text = UNSET
    step: Text = UNSET
    entry: Text = UNSET
    learning: Text = UNSET
    pattern: Text = UNSET
    duplicate: bool | UnsetType = UNSET
    """True if the idempotency key was used before."""


class EventLine(EventReference, frozen=True, kw_only=True):
    """An event on one line: position, time, actor and subject."""

    at: str
    actor: str
    said: str
    """The event's type and subject; at most 200 characters."""


class Unchanged(Struct, frozen=True, kw_only=True):
    """Nothing changed, so nothing was recorded."""

    unchanged: bool = True
    stream: str
    version: int


Answered = Recorded | list[Recorded] | Unchanged
"""The answer of a recording command: one event, several events, or no event."""


def reference(event: RecordedEvent) -> EventReference:
    """Return a reference to an event."""
    return filled(EventReference, event, hash=event.hash.hex())


def event_line(event: RecordedEvent) -> EventLine:
    """Return an event on one line, or only its type if it requires a newer version."""
    try:
        told = described(event)
    except SprintlogError:
        told = event.type
    return filled(EventLine, event, hash=event.hash.hex(), said=told[:SAID_CHARS_MAX])


def stream_of(state: "Sprint | Journal") -> str:
    """Return the stream that a state belongs to."""
    return sprint_stream(state.id) if isinstance(state, Sprint) else state.id


def answer_of(outcome: "Handled[Sprint] | Handled[Journal]") -> Answered:
    """Return the answer to a command that records events, from its outcome."""
    state, repeated = outcome.state, outcome.duplicate or UNSET
    found = [
        filled(Recorded, e, hash=e.hash.hex(), duplicate=repeated, **named(e))
        for e in outcome.events
    ]
    if not found:
        return Unchanged(stream=stream_of(state), version=state.version)
    return found[0] if len(found) == 1 else found


def filled(kind: type[More], source: object, **more: Any) -> More:
    """Return an answer of the given type, copying missing fields from `source`."""
    known = {
        name: getattr(source, name)
        for name in kind.__struct_fields__
        if name not in more and hasattr(source, name)
    }
    return kind(**known, **more)


def named(recorded: RecordedEvent) -> dict[str, Any]:
    """Return the addresses that an event added."""
    event = event_of(recorded)
    if isinstance(event, Injection):
        # Items without an id or a status have no address.
        return {"addresses": came} if (came := _addresses(event)) else {}
    return event.told() if event is not None else {}


def _addresses(event: Injection) -> list[str]:
    # Imported here: few events add nodes.
    from sprintlog.engine.sprint.plan.injection import addresses

    return addresses(event)


def described(recorded: RecordedEvent) -> str:
    """Return an event's type and subject in a few words."""
    return recorded.type if recorded.payload is None else said_of(CODEC.decode(recorded))


def said_of(event: Event) -> str:
    """Return the same text as `described` for an event that may not be recorded yet."""
    if isinstance(event, Injection):
        return f"{event.type} {', '.join(_addresses(event))}".rstrip()
    return event.described()


def event_of(recorded: RecordedEvent) -> Event | None:
    """Return the decoded event, or None if it was erased."""
    return None if recorded.payload is None else CODEC.decode(recorded)


_BYTES = ("hash", "key_digest", "payload_digest", "salt")


class WholeEvent(EventReference, frozen=True, kw_only=True):
    """A complete event; `stored` is the original data if it has an older schema."""

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
    """The event's data; null if the event was erased."""
    stored: Any = UNSET


def envelope(event: RecordedEvent) -> WholeEvent:
    """Return a complete event with its data.

    The data conforms to the current schema. If the event was stored with an older schema,
    the original data is also included, because the digest is computed from it.
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
