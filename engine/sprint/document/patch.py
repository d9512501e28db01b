"""Differences between documents as JSON Patch (RFC 6902), key order included.

A patch made here leads from one document to exactly the other, so that a state file
is the same bytes again: a `move` of a key onto itself puts that key last.
"""

from typing import Any, NamedTuple, TypeAlias

Operation: TypeAlias = dict[str, Any]


class SomeItems(NamedTuple):
    """Of a list only what is to be compared: item and its name, by index."""

    items: dict[int, tuple[str, Any]]


def diff(old: Any, new: Any) -> list[Operation]:
    """Return the operations that turn `old` into `new`; empty when they are equal."""
    operations: list[Operation] = []
    _diff(old, new, "", operations)
    return operations


def apply(document: Any, operations: list[Operation]) -> Any:
    """Return the document with the operations applied; the document itself changes."""
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
    """Return a segment as a JSON Pointer writes it."""
    return str(segment).replace("~", "~0").replace("/", "~1")


def same(a: Any, b: Any) -> bool:
    """Tell whether two values are equal in value, type and order of keys."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    # Negative zero equals zero and is written differently.
    return bool(a == b) and (type(a) is not float or repr(a) == repr(b))


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
    # A key is written last when it is added, so all that stands behind an added or
    # moved key in the new document has to be moved behind it.
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
    # What is alike from the start is paired at once: the matcher takes quadratic time
    # where many items look the same, as those without an id do.
    head = 0
    for old_id, new_id in zip(old_ids, new_ids, strict=False):
        if old_id != new_id:
            break
        _diff(old[head], new[head], f"{path}/{head}", out)
        head += 1
    if head == len(old) == len(new):
        return
    # Needed by imports only, and not cheap to load: no start-up should wait for it.
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, old_ids[head:], new_ids[head:], False)
    shift = head
    for _, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        paired = min(old_to - old_from, new_to - new_from)
        for offset in range(paired):
            _diff(
                old[head + old_from + offset],
                new[head + new_from + offset],
                f"{path}/{old_from + offset + shift}",
                out,
            )
        for _ in range(old_from + paired, old_to):
            out.append({"op": "remove", "path": f"{path}/{old_from + paired + shift}"})
        for index in range(head + new_from + paired, head + new_to):
            out.append({"op": "add", "path": f"{path}/{index}", "value": new[index]})
        shift += (new_to - new_from) - (old_to - old_from)


def _identity(item: Any) -> tuple[str, str]:
    """Return what makes an item of a list the same item in the next document."""
    if isinstance(item, dict):
        return ("object", str(item.get("id", "")))
    return (type(item).__name__, str(item)[:200])
