"""From an event of the journal that somebody wants recorded to the command behind it."""

from typing import TypeVar

from ..command import Command, made_of
from ..errors import RefusedError
from ..log.event import Event, event_of
from . import events as f
from .foreign import shape_of
from .parts import ClosedObject, Entry, Learning, Pattern, refuse
from .rules import CAUSED

Part = TypeVar("Part", bound=ClosedObject)

BY_TAG = {event.type: event for event in f.JOURNAL_EVENTS}

_PARTS: dict[type[Event], tuple[str, type[ClosedObject]]] = {
    f.EntryRecorded: ("entry", Entry),
    f.LearningAdded: ("learning", Learning),
    f.PatternDiscovered: ("pattern", Pattern),
}


def to_event(tag: str, data: object) -> Event:
    """Return the event of a tag from its data as JSON gives it.

    What follows by itself may be missing: ids, iterations, times. Raise `RefusedError`
    naming a field that is missing, unknown or of the wrong type.
    """
    kind = BY_TAG[tag]
    if isinstance(data, dict):
        if kind is f.JournalOpened:
            data = {"created_at": "", **data}
        name, shape = _PARTS.get(kind, ("", ClosedObject))
        if name in data:
            data = {**data, name: part_of(shape, data[name], field=f"data.{name}")}
    return event_of(kind, data)


def part_of(kind: type[Part], data: object, *, field: str) -> Part:
    """Return an entry, observation, learning or pattern as a person gives it."""
    part = shape_of(kind, data, field=field)
    inner: list[ClosedObject] = [part]
    if isinstance(part, Entry):
        inner += [*part.observations, *filter(None, [part.context])]
    for one in inner:
        for name in one.extra:
            known = ", ".join(n for n in type(one).__struct_fields__ if n != "extra")
            raise refuse(field, f"there is no field {name[:40]!r}; allowed: {known}")
    return part


def command_of(event: Event) -> Command:
    """Return the command that causes an event; raise `RefusedError` where there is none."""
    made = CAUSED.get(type(event))
    if made is None or (isinstance(event, f.LearningReferenced) and event.entry_id):
        why = event.only_caused or "it is no event of the journal"
        raise RefusedError(f"{event.type} cannot be asked for: {why}", command=event.type)
    return made_of(event, made)
