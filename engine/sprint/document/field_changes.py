"""What is another in the next document, field by field, with the names that people use."""

from collections.abc import Iterator
from typing import Any

import msgspec

from .field_path import named_items, under_key
from .patch import SomeItems, same


class FieldChange(msgspec.Struct, frozen=True):
    """One field that is another than before."""

    field: str
    """Its name, with ids where the items of a list have them."""
    what: str
    """`added`, `removed`, `changed`, or `moved`: only its order is another."""
    old: Any = None
    new: Any = None


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[FieldChange]:
    """Return every field of a document that is another in the next one."""
    return list(_changes("", old, new))


def _changes(name: str, old: Any, new: Any) -> Iterator[FieldChange]:
    if isinstance(old, dict) and isinstance(new, dict):
        places = {key: under_key(name, key) for key in (*old, *new)}
        yield from _in_both(name or "(top)", old, new, places)
    elif isinstance(old, list) and isinstance(new, list):
        before, after = dict(named_items(name, old)), dict(named_items(name, new))
        yield from _in_both(name, before, after, {key: key for key in (*before, *after)})
    elif isinstance(old, SomeItems):
        for index, (place, item) in old.items.items():
            yield from _changes(place, item, new.items[index][1])
    elif not same(old, new):
        yield FieldChange(name, "changed", old, new)


def _in_both(
    name: str, old: dict[str, Any], new: dict[str, Any], places: dict[str, str]
) -> Iterator[FieldChange]:
    """Yield what differs in a collection; `places` are the names of what is in it."""
    for key, value in old.items():
        if key not in new:
            yield FieldChange(places[key], "removed", value)
    for key, value in new.items():
        if key not in old:
            yield FieldChange(places[key], "added", None, value)
        elif old[key] is not value:
            yield from _changes(places[key], old[key], value)
    if [key for key in old if key in new] != [key for key in new if key in old]:
        yield FieldChange(name, "moved", list(old), list(new))
