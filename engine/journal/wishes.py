"""From an event of the journal that somebody wants recorded to the command behind it."""

from typing import TypeVar

from ..errors import RefusedError
from ..log.event import Event, event_of
from . import events as f
from . import rules
from .intake.foreign import shape_of
from .state.journal import Journal
from .state.shapes import ClosedObject, Entry, Learning, Pattern

Part = TypeVar("Part", bound=ClosedObject)

BY_TAG = {event.type: event for event in f.JOURNAL_EVENTS}

_PARTS: dict[type[Event], tuple[str, type[ClosedObject]]] = {
    f.EntryRecorded: ("entry", Entry),
    f.LearningAdded: ("learning", Learning),
    f.PatternDiscovered: ("pattern", Pattern),
}

_ONLY_CAUSED = {event.type: why for event in f.JOURNAL_EVENTS if (why := event.only_caused)}


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
            raise RefusedError(
                f"{field}: there is no field {name[:40]!r}; allowed: {known}", field=field
            )
    return part


def fulfil(journal: Journal, event: Event, at: str) -> list[Event]:
    """Return what the command behind an event decides."""
    match event:
        case f.JournalOpened(created_at=created_at, project_name=name):
            if event != f.JournalOpened(created_at, name):
                raise RefusedError(
                    "data: give created_at and project_name alone, the rest follows",
                    field="data",
                )
            return rules.open_journal(journal, at=created_at or at, project_name=name)
        case f.EntryRecorded(entry=entry):
            return rules.record_entry(journal, entry=entry, at=at)
        case f.LearningAdded(learning=learning, observation=observation):
            return rules.add_learning(
                journal, learning=learning, at=at, observation=observation
            )
        case f.LearningReferenced(learning_id=id_, prd_id=prd_id, times=times, entry_id=""):
            return rules.reference_learning(
                journal, learning_id=id_, prd_id=prd_id, times=times
            )
        case f.LearningRetired(learning_id=id_, reason=reason):
            return rules.retire_learning(journal, learning_id=id_, reason=reason)
        case f.PatternDiscovered(pattern=pattern):
            return rules.discover_pattern(journal, pattern=pattern, at=at)
        case _:
            why = _ONLY_CAUSED.get(event.type, "it is no event of the journal")
            raise RefusedError(f"{event.type} cannot be wished for: {why}", wish=event.type)
