"""Fold: from events in order to the state of a sprint.

It never raises for what an event says: the event has happened.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..log.event import Event, Versioned
from .events import SprintImported
from .iterations.stretches import Interval
from .queue.view import says_queue
from .state.sprint import Plan, Sprint
from .topics import HANDLERS

Seen = Callable[[int, Event], None]
"""Told version and event after each event."""

EVERY: Interval = (0, 2**63)
"""The stretch that holds every version."""
NONE_LEFT: Interval = (2**63, 2**63)
"""Stands behind the last stretch."""


def fold(
    sprint: Sprint,
    events: Iterable[Versioned],
    live: Sequence[Interval] | None = None,
    *,
    seen: Seen | None = None,
) -> Sprint:
    """Return the sprint, changed in place by events that follow its version.

    The plan takes the execution events whose version lies in `live` (all without it), the
    knowledge all events, so neither reads the other.
    """
    plan, knowledge, version = sprint.plan, sprint.knowledge, sprint.version
    stretches = iter((EVERY,) if live is None else live)
    first, last = next(stretches, NONE_LEFT)
    for version, at, event in events:
        learn, evolve = HANDLERS[type(event)]
        if learn is not None:
            learn(knowledge, event, version)
        if evolve is not None:
            while version > last:
                first, last = next(stretches, NONE_LEFT)
            if version >= first:
                if type(event) is SprintImported:
                    begin_anew(plan, event, version)
                else:
                    plan.touched = True
                evolve(plan, event, at)
                # Last: a patch was made against the document as the event before left it.
                plan.last_at = at
        if seen is not None:
            seen(version, event)
    sprint.version = version
    return sprint


def begin_anew(plan: Plan, event: Any, version: int) -> None:
    """Let a document that says anything of the operator queue stand for all before it."""
    if event.document is not None or says_queue(event.patch or ()):
        plan.imported_at = version
        plan.decisions.clear()
