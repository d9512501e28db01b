"""What is said of an event that was recorded: in a few words, and as names to use."""

from typing import Any

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import Injection
from sprintlog.engine.sprint.plan.injection import addresses


def described(recorded: RecordedEvent) -> str:
    """Return an event's type and what it is about, in a few words."""
    event = _event(recorded)
    if isinstance(event, Injection):
        return f"{event.type} {', '.join(addresses(event))}".rstrip()
    return event.described() if event is not None else recorded.type


def named(recorded: RecordedEvent) -> dict[str, Any]:
    """Return by which names what came in can be called from now on."""
    event = _event(recorded)
    if isinstance(event, Injection):
        # What has no id, or no status, cannot be called at all.
        return {"addresses": came} if (came := addresses(event)) else {}
    return event.told() if event is not None else {}


def _event(event: RecordedEvent) -> Event | None:
    """Return an event's event; None when it was erased."""
    return None if event.payload is None else CODEC.decode(event)
