"""What an edit changed, sorted by how it can become true: status, new node, field."""

from typing import Any, NamedTuple

from ..document.patch import escape, same
from ..state.document_fields import mapping_of
from ..state.tree import CHILDREN, Data, Node, Tree
from ..state.words import PENDING

_DERIVED = {"current", "last-activity", "sprint-id", "gate-tracking", "injected"}
_DERIVED_STATS = {
    *("total-phases", "completed-phases", "total-steps", "completed-steps", "elapsed"),
    *("started-at", "completed-at", "current-iteration"),
}
_BY_COMMAND = {
    *("started-at", "completed-at", "elapsed", "summary", "error", "human-needed"),
    *("next-retry-at", "retry-count"),
}
"""What comes with a change of status, from the command that makes it."""
_GONE = object()


class EditChange(NamedTuple):
    """One change."""

    path: str
    """Where, for people: the address and the field."""
    address: str
    """Of the node; empty for the sprint itself."""
    key: str
    value: Any
    """What it is to be; `GONE` where the field goes."""
    node: Data = {}  # noqa: RUF012 (never written to)
    """The node as the edit has it."""
    level: int = 0
    spot: tuple[str, str | None] = ("", None)
    """Where a new node comes in."""

    @property
    def is_gone(self) -> bool:
        """Tell whether the field goes."""
        return self.value is _GONE


class EditChanges(NamedTuple):
    """All of them."""

    statuses: list[EditChange]
    new: list[EditChange]
    fields: list[EditChange]
    left: list[str]
    """What cannot become true, each with its reason."""


def changes_of(base: Data, theirs: Data, ours: Data) -> EditChanges:
    """Return what leads from the document that was edited to the edit.

    What is otherwise in our document by now than it was in that one is left alone.
    """
    found = EditChanges([], [], [], [])
    before, after, here = Tree(base), Tree(theirs), Tree(ours)
    _compare(found, before.root, after.root, here.root)
    for node in after.root.walk():
        old, now = before.find(node.address), here.find(node.address)
        if old is not None and now is not None:
            _compare(found, old, node, now)
        elif old is None and now is None:
            _add(found, before, after, node)
        elif now is None:
            found.left.append(f"{node.address}: is not there any more")
    for address in sorted(after.inert - before.inert):
        is_alias = address.rpartition("/")[2].startswith("#")
        if not (is_alias and before.find(address)):
            found.left.append(f"{address}: needs an id and a status that is known")
    for node in before.root.walk():
        if after.find(node.address) is None and node.address not in after.inert:
            found.left.append(f"{node.address}: nodes are skipped, not removed")
    return found


def set_field(document: Data, change: EditChange) -> None:
    """Make a change of a field in a document."""
    node = Tree(document).find(change.address) if change.address else None
    data = document if node is None else node.data
    *parents, last = change.key.split("\0")
    for parent in parents:
        data = data.setdefault(parent, {})
    if change.is_gone:
        data.pop(last, None)
    else:
        data[last] = change.value


def _compare(found: EditChanges, old: Node, new: Node, now: Node) -> None:
    key = CHILDREN[new.level] if new.level < len(CHILDREN) else ""
    moves = not same(old.data.get("status"), new.data.get("status"))
    fields = [k for k in {**old.data, **new.data} if k != key]
    for field in fields:
        pair = old.data.get(field, _GONE), new.data.get(field, _GONE)
        if field == "stats" and not new.address and all(isinstance(x, dict) for x in pair):
            _compare_stats(found, *pair, mapping_of(now.data, "stats"))
        elif not same(*pair):
            _sort(found, field, pair, new, now, moves=moves)
    _compare_order(found, old, new)


def _sort(
    found: EditChanges,
    field: str,
    pair: tuple[Any, Any],
    new: Node,
    now: Node,
    *,
    moves: bool,
) -> None:
    path = f"{new.address}/{escape(field)}" if new.address else escape(field)
    change = EditChange(path, new.address, field, pair[1], new.data, new.level)
    if same(now.data.get(field, _GONE), pair[1]):
        return
    if field in _DERIVED or (field == "status" and new.address and new.children):
        found.left.append(f"{path}: is derived")
    elif not same(now.data.get(field, _GONE), pair[0]):
        found.left.append(f"{path}: was changed here too")
    elif field == "status":
        found.statuses.append(change)
    elif not (moves and field in _BY_COMMAND):
        found.fields.append(change)


def _compare_stats(found: EditChanges, old: Data, new: Data, here: Data) -> None:
    for field in {**old, **new}:
        pair = old.get(field, _GONE), new.get(field, _GONE)
        path = f"stats/{escape(field)}"
        if same(*pair) or same(here.get(field, _GONE), pair[1]):
            continue
        if field in _DERIVED_STATS:
            found.left.append(f"{path}: is derived")
        elif not same(here.get(field, _GONE), pair[0]):
            found.left.append(f"{path}: was changed here too")
        else:
            found.fields.append(EditChange(path, "", f"stats\0{field}", pair[1]))


def _compare_order(found: EditChanges, old: Node, new: Node) -> None:
    there = {child.address for child in old.children}
    wanted = [child.address for child in new.children if child.address in there]
    order = [child.address for child in old.children if child.address in set(wanted)]
    if order != wanted:
        found.left.append(f"{new.address or 'phases'}: the order is not changed")


def _add(found: EditChanges, before: Tree, after: Tree, node: Node) -> None:
    """Sort in a node that is new; what is below it comes with it."""
    parent = node.parent
    assert parent is not None
    if parent.address and before.find(parent.address) is None:
        return
    beside = parent.children
    index = beside.index(node)
    if index:
        spot = ("after", beside[index - 1].address)
    elif len(beside) > 1:
        spot = ("before", beside[1].address)
    else:
        spot = ("end-of-phase", parent.address)
    value, level = _to_begin(node.data), node.level
    found.new.append(
        EditChange(node.address, node.address, "", value, node.data, level, spot)
    )
    for leaf in [node, *node.walk()]:
        if not leaf.children and leaf.status != PENDING:
            path = f"{leaf.address}/status"
            change = EditChange(path, leaf.address, "status", leaf.status, leaf.data)
            found.statuses.append(change)


def _to_begin(data: Data) -> Data:
    """Return a node as one that nothing has happened to yet, with all below."""
    fresh = {key: data[key] for key in data if key not in _BY_COMMAND | {"status"}}
    for key in {*CHILDREN} & fresh.keys():
        if isinstance(fresh[key], list):
            fresh[key] = [_to_begin(x) if isinstance(x, dict) else x for x in fresh[key]]
    return fresh
