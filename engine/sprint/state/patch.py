"""Paths in documents, and differences as JSON Patch (RFC 6902), including key order.

A patch created here reproduces the other document exactly, so that a state file has the
same bytes: a `move` of a key onto itself puts that key last.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import msgspec

from ...errors import InvalidInputError
from .document_fields import MISSING as MISSING

Operation: TypeAlias = dict[str, Any]


class SomeItems(NamedTuple):
    """A list reduced to the items to compare: each item with its name, by index."""

    items: dict[int, tuple[str, Any]]


def diff(old: Any, new: Any) -> list[Operation]:
    """Return the operations that change `old` into `new`; empty if the values are equal."""
    operations: list[Operation] = []
    _diff(old, new, "", operations)
    return operations


def apply(document: Any, operations: list[Operation]) -> Any:
    """Return the document with the operations applied; the document is changed in place."""
    for operation in operations:
        path = operation["path"]
        if path == "":
            document = operation["value"]
            continue
        *parents, last = segments(path)
        holder = document
        for segment in parents:
            holder = holder[int(segment)] if isinstance(holder, list) else holder[segment]
        _apply_one(holder, last, operation)
    return document


def segments(pointer: str) -> list[str]:
    """Return the unescaped segments of a JSON Pointer (RFC 6901)."""
    return [s.replace("~1", "/").replace("~0", "~") for s in pointer.split("/")[1:]]


def escape(segment: object) -> str:
    """Return a segment escaped for a JSON Pointer."""
    return str(segment).replace("~", "~0").replace("/", "~1")


def same(a: Any, b: Any) -> bool:
    """Return whether two values are equal, including their types and the order of keys."""
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is str or kind is int:
        return bool(a == b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    # Negative zero equals zero and is written differently.
    return bool(a == b) and (kind is not float or repr(a) == repr(b))


def _apply_one(holder: Any, last: str, operation: Operation) -> None:
    action = operation["op"]
    if isinstance(holder, list):
        index = len(holder) if last == "-" else int(last)
        if action == "add":
            holder.insert(index, operation["value"])
        elif action == "remove":
            del holder[index]
        else:
            holder[index] = operation["value"]
    elif action == "remove":
        del holder[last]
    elif action == "move":
        holder[last] = holder.pop(last)
    else:
        holder[last] = operation["value"]


def _diff(old: Any, new: Any, path: str, out: list[Operation]) -> None:
    if isinstance(old, dict) and isinstance(new, dict):
        _diff_objects(old, new, path, out)
    elif isinstance(old, list) and isinstance(new, list):
        _diff_lists(old, new, path, out)
    elif isinstance(old, SomeItems):
        for index, (_, item) in old.items.items():
            _diff(item, new.items[index][1], f"{path}/{index}", out)
    elif not same(old, new):
        out.append({"op": "replace", "path": path, "value": new})


def _diff_objects(
    old: dict[str, Any], new: dict[str, Any], path: str, out: list[Operation]
) -> None:
    kept = [key for key in old if key in new]
    out.extend(
        {"op": "remove", "path": f"{path}/{escape(key)}"} for key in old if key not in new
    )
    # An added key is written last, so all keys that follow an added or moved key in the new
    # document must be moved after that key.
    in_place = 0
    keys = list(new)
    while in_place < len(kept) and kept[in_place] == keys[in_place]:
        in_place += 1
    for place, key in enumerate(keys):
        pointer = f"{path}/{escape(key)}"
        if key not in old:
            out.append({"op": "add", "path": pointer, "value": new[key]})
            continue
        if place >= in_place:
            out.append({"op": "move", "from": pointer, "path": pointer})
        if old[key] is not new[key]:
            _diff(old[key], new[key], pointer, out)


def _diff_lists(old: list[Any], new: list[Any], path: str, out: list[Operation]) -> None:
    old_ids, new_ids = [_identity(item) for item in old], [_identity(item) for item in new]
    # Equal items at the start are paired at once: the matcher takes quadratic time if many
    # items look the same, such as those without an id.
    head = 0
    for old_id, new_id in zip(old_ids, new_ids, strict=False):
        if old_id != new_id:
            break
        _diff(old[head], new[head], f"{path}/{head}", out)
        head += 1
    if head == len(old) == len(new):
        return
    # Imported here: only imports require it, and loading it is slow.
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, old_ids[head:], new_ids[head:], False)
    shift = head
    for _, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        paired = min(old_to - old_from, new_to - new_from)
        for offset in range(paired):
            before, after = old[head + old_from + offset], new[head + new_from + offset]
            _diff(before, after, f"{path}/{old_from + offset + shift}", out)
        for _ in range(old_from + paired, old_to):
            out.append({"op": "remove", "path": f"{path}/{old_from + paired + shift}"})
        for index in range(head + new_from + paired, head + new_to):
            out.append({"op": "add", "path": f"{path}/{index}", "value": new[index]})
        shift += (new_to - new_from) - (old_to - old_from)


def _identity(item: Any) -> tuple[str, str]:
    """Return the key by which an item is recognized in another version of a list."""
    if isinstance(item, dict):
        return ("object", str(item.get("id", "")))
    return (type(item).__name__, str(item)[:200])


Step = str | int
"""A key, an id, or the index of an item."""
Path = tuple[Step, ...]

FORMS = "phases[ID].status, phases[0].steps[1].prompt, stats.elapsed, or /phases/0/status"

_NUMBER = re.compile(r"0|[1-9]\d{0,8}", re.ASCII)
_PIECE = re.compile(
    r'(?:^|\.)(?P<name>[^.\[\]"]+)|\[(?P<inside>[^\[\]"]+)\]|\[(?P<text>"(?:[^"\\]|\\.)*")\]'
)
_PLAIN_NAME = re.compile(r"[\w-][\w -]*")
_PLAIN_ID = re.compile(r'[^\[\]"]+')


class FieldChange(msgspec.Struct, frozen=True):
    """A change to one field."""

    field: str
    """The name of the field, with the ids of list items if they have ids."""
    what: str
    """`added`, `removed`, `changed`, or `moved` if only the order changed."""
    old: Any = None
    new: Any = None


def parse_path(text: str) -> Path:
    """Return the path segments in a field name; raise `InvalidInputError` if invalid."""
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
        if (document := _inside(document, step)) is MISSING:
            break
    return document


def index_of(items: list[Any], identity: str) -> int:
    """Return the index of the first item with an id, or -1."""
    for index, item in enumerate(items):
        if isinstance(item, dict) and item.get("id") == identity:
            return index
    return -1


@lru_cache(maxsize=8192)
def under_key(prefix: str, key: str) -> str:
    """Return the name of a field in a mapping."""
    if _PLAIN_NAME.fullmatch(key):
        return f"{prefix}.{key}" if prefix else key
    return f"{prefix}[{_quoted(key)}]"


def named_items(prefix: str, items: list[Any]) -> Iterator[tuple[str, Any]]:
    """Yield each item of a list with its name, which contains its id or its index."""
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
        hint=f"use {FORMS}; put names that contain . [ ] or quotes in brackets and double "
        "quotes",
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
    """Yield the changes in a collection; `places` maps keys to field names."""
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
