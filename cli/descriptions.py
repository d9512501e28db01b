"""What is said of an event that was recorded: in a few words, and as names to use."""

from typing import Any

import msgspec

from sprintlog.engine.log.envelope import Recorded
from sprintlog.engine.sprint.events import (
    QUEUE_FACTS,
    DynamicStepAdded,
    Injection,
    PhaseInjected,
    StepInjected,
)
from sprintlog.engine.sprint.plan.injection import addresses
from sprintlog.projections.catalogue import CODEC, sprint_of

INJECTIONS = (PhaseInjected.type, StepInjected.type)
OF_QUEUE = frozenset(fact.type for fact in QUEUE_FACTS)
ABOUT = (
    *("request", "phase", "number", "to", "next_retry_at", "id", "hook_id"),
    "learning_id",
)
"""The fields that say what an event is about; the first that says something counts."""
PARTS = ("entry", "learning", "pattern")
"""The fields of the journal's facts that hold something with an id."""


def described(event: Recorded) -> str:
    """Return an event's type and what it is about, in a few words."""
    payload = CODEC.today(event)
    data = msgspec.json.decode(payload) if payload else {}
    if came := injected(event):
        return f"{event.type} {', '.join(came)}"
    for field in ABOUT:
        if data.get(field):
            return f"{event.type} {data[field]}"
    for field in PARTS:
        if field in data:
            return f"{event.type} {data[field]['id']}"
    return event.type


def named(event: Recorded) -> dict[str, Any]:
    """Return by which names what came in can be called from now on."""
    if came := injected(event):
        return {"addresses": came}
    is_known = event.type in OF_QUEUE or event.type == DynamicStepAdded.type
    of_journal = sprint_of(event.stream) is None
    fact = CODEC.decode(event) if is_known or of_journal else None
    if request := getattr(fact, "request", None):
        return {"request": request}
    if isinstance(fact, DynamicStepAdded):
        return {"step": fact.id}
    return {field: part.id for field in PARTS if (part := getattr(fact, field, None))}


def injected(event: Recorded) -> list[str]:
    """Return the addresses of what came into the plan with an event."""
    if event.type not in INJECTIONS:
        return []
    fact = CODEC.decode(event)
    return addresses(fact) if isinstance(fact, Injection) else []
