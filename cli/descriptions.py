"""What is said of an event that was recorded: in a few words, and as names to use."""

from typing import Any

from sprintlog.engine.log.envelope import Recorded
from sprintlog.engine.log.fact import Fact
from sprintlog.engine.sprint.events import Injection
from sprintlog.engine.sprint.plan.injection import addresses
from sprintlog.projections.catalogue import CODEC


def described(event: Recorded) -> str:
    """Return an event's type and what it is about, in a few words."""
    fact = _fact(event)
    if isinstance(fact, Injection):
        return f"{event.type} {', '.join(addresses(fact))}".rstrip()
    return fact.described() if fact is not None else event.type


def named(event: Recorded) -> dict[str, Any]:
    """Return by which names what came in can be called from now on."""
    fact = _fact(event)
    if isinstance(fact, Injection):
        # What has no id, or no status, cannot be called at all.
        return {fact.subject.word: came} if (came := addresses(fact)) else {}
    return fact.told() if fact is not None else {}


def _fact(event: Recorded) -> Fact | None:
    """Return an event's fact; None when it was erased."""
    return None if event.payload is None else CODEC.decode(event)
