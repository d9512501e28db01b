"""Why an event is there: what it says itself, and the chain of what caused it."""

from typing import Any

import msgspec

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.port import EventStore
from sprintlog.engine.service.streams.catalogue import CODEC

CAUSES_MAX = 32
"""How far a chain is followed; whoever wants more asks for its last event."""
_NEAR = 256
"""How many events before one are looked at before all others: most causes are there."""
_REASONS = ("reason", "why", "error", "problem", "summary", "text", "details", "source")
"""The fields in which an event says why, what came of it, or where it is from."""


def reason_of(event: RecordedEvent) -> str | None:
    """Return what an event says of why, what came of it, or where it is from."""
    payload = CODEC.today(event)
    data: dict[str, Any] = {} if payload is None else msgspec.json.decode(payload)
    found = next((data[name] for name in _REASONS if data.get(name)), None)
    if found is None and data.get("exit_code") is not None:
        over = ", ran into its time limit" if data.get("timed_out") else ""
        return f"exit code {data['exit_code']}{over}"
    return None if found is None else str(found)


def causes_of(log: EventStore, event: RecordedEvent) -> list[RecordedEvent]:
    """Return what caused an event, what caused that, and so on, nearest first.

    An event that names itself, or nothing that is in the log, ends the chain.
    """
    chain: list[RecordedEvent] = []
    seen = {event.id}
    while event.causation_id not in seen and len(chain) < CAUSES_MAX:
        seen.add(event.causation_id)
        found = _find(log, event)
        if found is None:
            break
        chain.append(found)
        event = found
    return chain


def _find(log: EventStore, event: RecordedEvent) -> RecordedEvent | None:
    near = log.read(after=max(0, event.position - _NEAR), until=event.position)
    found = next((one for one in near if one.id == event.causation_id), None)
    return found or log.find_id(event.causation_id)
