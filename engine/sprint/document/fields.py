"""Names of fields in a document, and the named differences between two documents.

A name is like `phases[build].steps[1].status`, or a JSON Pointer. A name in brackets is
the id of a list item, a number its index. Names with other characters are written as JSON
strings: `phases["a.b]"]`, `stats["odd key"]`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from ...errors import InvalidInputError
from ..state.document_fields import MISSING as MISSING
from .patch import SomeItems, same, segments

Step = str | int
"""A key or an id, or the index of an item."""
Path = tuple[Step, ...]

FORMS = "phases[ID].status, phases[0].steps[1].prompt, stats.elapsed, or /phases/0/status"

_NUMBER = re.compile(r"0|[1-9]\d{0,8}", re.ASCII)
_PIECE = re.compile(
    r'(?:^|\.)(?P<name>[^.\[\]"]+)|\[(?P<inside>[^\[\]"]+)\]|\[(?P<text>"(?:[^"\\]|\\.)*")\]'
)
_PLAIN_NAME = re.compile(r"[\w-][\w -]*")
_PLAIN_ID = re.compile(r'[^\[\]"]+')


class FieldChange(msgspec.Struct, frozen=True):
    """The change of one field."""

    field: str
    """Its name, with the ids of list items if they have ids."""
    what: str
    """`added`, `removed`, `changed`, or `moved` if only the order changed."""
    old: Any = None
    new: Any = None


def parse_path(text: str) -> Path:
    """Return the steps of a field name; raise `InvalidInputError` if it is invalid."""
    if text.startswith("/"):
        return tuple(_step(segment) for segment in segments(text))
    steps: list[Step] = []
    at = 0
    while at < len(text):
        piece = _PIECE.match(text, at)
        # A path begins with a key: brackets refer to the preceding name.
        if piece is None or (at == 0 and piece["name"] is None and piece["text"] is None):
            raise _unknown(text)
        if (quoted := piece["text"]) is not None:
            steps.append(_unquoted(quoted, text))
        elif (inside := piece["inside"]) is not None:
            steps.append(_step(inside))
        else:
            steps.append(piece["name"])
        at = piece.end()
    if not steps:
        raise _unknown(text)
    return tuple(steps)


def find(document: Any, path: Path) -> Any:
    """Return the value at a path, or `MISSING`."""
    for step in path:
        document = _inside(document, step)
        if document is MISSING:
            break
    return document


def index_of(items: list[Any], identity: str) -> int:
    """Return the index of the first item with an id; -1 if there is none."""
    for index, item in enumerate(items):
        if isinstance(item, dict) and item.get("id") == identity:
            return index
    return -1


@lru_cache(maxsize=8192)
def under_key(prefix: str, key: str) -> str:
    """Return the name of a mapping's field."""
    if _PLAIN_NAME.fullmatch(key):
        return f"{prefix}.{key}" if prefix else key
    return f"{prefix}[{_quoted(key)}]"


def named_items(prefix: str, items: list[Any]) -> Iterator[tuple[str, Any]]:
    """Yield a list's items by name: by id, unless an earlier item has the same id."""
    ids: set[str] = set()
    for index, item in enumerate(items):
        identity = item.get("id") if isinstance(item, dict) else None
        if not isinstance(identity, str) or identity in ids:
            yield f"{prefix}[{index}]", item
            continue
        ids.add(identity)
        is_plain = _PLAIN_ID.fullmatch(identity) and identity.isprintable()
        if _NUMBER.fullmatch(identity) or not is_plain:
            identity = _quoted(identity)
        yield f"{prefix}[{identity}]", item


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[FieldChange]:
    """Return the changes between two documents, field by field."""
    return list(_changes("", old, new))


def _inside(holder: Any, step: Step) -> Any:
    if isinstance(holder, dict):
        return holder.get(step if isinstance(step, str) else str(step), MISSING)
    if not isinstance(holder, list):
        return MISSING
    index = step if isinstance(step, int) else index_of(holder, step)
    return holder[index] if 0 <= index < len(holder) else MISSING


def _step(text: str) -> Step:
    return int(text) if _NUMBER.fullmatch(text) else text


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _unquoted(quoted: str, text: str) -> str:
    try:
        return msgspec.json.decode(quoted, type=str)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise _unknown(text) from error


def _unknown(text: str) -> InvalidInputError:
    return InvalidInputError(
        f"{text[:80]!r} does not name a field",
        hint=f"give {FORMS}; what holds . [ ] or quotes in brackets and double quotes",
    )


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
    """Yield the changes in a collection; `places` are the names of its items."""
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
