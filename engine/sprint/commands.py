"""The topics of a sprint that have commands, and which event each command causes."""

from functools import cache
from types import ModuleType

from ..command import Events
from .agent import reported, runs
from .document import adoption
from .gates import checks
from .goal import dynamic_steps, goal, hook_tasks
from .goal import work as ralph_work
from .iterations import (
    corrections,
    decisions,
    described,
    loop,
    measurement,
    rollback,
    snapshots,
    wrapped,
)
from .phases import leaves, lifecycle, notes, waits
from .plan import create, injection, recompile
from .queue import decisions as queue_decisions
from .queue import requests
from .runs import budgets, record

TOPICS: tuple[ModuleType, ...] = (
    *(adoption, budgets, checks, create, decisions, dynamic_steps, goal, hook_tasks),
    *(injection, leaves, lifecycle, loop, measurement, notes, queue_decisions),
    *(ralph_work, record, recompile, requests, rollback, runs, snapshots, waits),
    *(wrapped, corrections, described, reported),
)


@cache
def caused() -> Events:
    """Return which command causes an event, of those that can be asked for."""
    tables = (getattr(topic, "CAUSED", {}) for topic in TOPICS)
    return {event: made for table in tables for event, made in table.items()}
