"""Every command of a sprint, by its topic."""

from functools import cache
from types import ModuleType

from ..command import Commands, Events
from .agent import runs
from .document import adoption
from .gates import checks
from .goal import dynamic_steps, goal, hook_tasks
from .goal import work as ralph_work
from .iterations import decisions, loop, measurement, rollback, snapshots
from .phases import leaves, lifecycle, notes
from .plan import create, injection, recompile
from .queue import decisions as queue_decisions
from .queue import requests

TOPICS: tuple[ModuleType, ...] = (
    adoption,
    recompile,
    decisions,
    dynamic_steps,
    checks,
    hook_tasks,
    injection,
    lifecycle,
    loop,
    measurement,
    notes,
    leaves,
    create,
    requests,
    queue_decisions,
    goal,
    ralph_work,
    rollback,
    snapshots,
    runs,
)


@cache
def commands() -> Commands:
    """Return every command, with the function that decides on it."""
    return {struct: rule for topic in TOPICS for struct, rule in topic.COMMANDS.items()}


@cache
def caused() -> Events:
    """Return which command causes an event, of those that can be wished for."""
    tables = (getattr(topic, "CAUSED", {}) for topic in TOPICS)
    return {event: made for table in tables for event, made in table.items()}
