"""The adoption of an edit to the state file: its changes, and the events recording them.

A status is changed by running the commands that produce it, and a new node is injected, so
the rules of these commands apply. Other fields are imported as a patch, except derived
fields, which are ignored. Fields that changed in the log since the edit retain the log's
value.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from ...command import Command
from ...errors import RefusedError
from ...log.event import Event
from ..events import EditAdopted, EditObserved, InjectionPosition, SprintImported
from ..fold import fold_ahead
from ..phases import gate, leaves, lifecycle
from ..state import document_fields, words
from ..state.patch import apply, diff, escape, same
from ..state.sprint import Sprint, pack, unpack
from ..state.transitions import PHASE_FROM, PHASE_TO, SPRINT_FROM, SPRINT_TO, shortest_way
from ..state.tree import CHILDREN, Data, Node, Tree
from . import create, shape
from .injection import injection_of

_DERIVED = {"current", "last-activity", "sprint-id", "gate-tracking", "injected"}
_DERIVED_STATS = {
    *("total-phases", "completed-phases", "total-steps", "completed-steps", "elapsed"),
    *("started-at", "completed-at", "current-iteration"),
}
_BY_COMMAND = {
    *("started-at", "completed-at", "elapsed", "summary", "error", "human-needed"),
    *("next-retry-at", "retry-count"),
}
"""The fields set by the commands that change a status."""
_GONE = object()


class EditChange(NamedTuple):
    """A single change in an edit."""

    path: str
    """The address and the field, for messages."""
    address: str
    """The address of the node; empty for the sprint itself."""
    key: str
    value: Any
    """The new value; `_GONE` if the field is removed."""
    node: Data = {}  # noqa: RUF012 (never written to)
    """The edited node."""
    level: int = 0
    position: tuple[str, str | None] = ("", None)
    """The insertion point of a new node."""

    @property
    def is_gone(self) -> bool:
        """Return whether the change removes the field."""
        return self.value is _GONE


class EditChanges(NamedTuple):
    """All changes in an edit."""

    statuses: list[EditChange]
    new: list[EditChange]
    fields: list[EditChange]
    left: list[str]
    """The paths of changes that cannot be adopted, with the reasons."""


def changes_of(base: Data, theirs: Data, ours: Data) -> EditChanges:
    """Return the changes from `base` to `theirs` that do not conflict with `ours`."""
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
    """Apply a change to a field of a document."""
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
    for field in [k for k in {**old.data, **new.data} if k != key]:
        pair = old.data.get(field, _GONE), new.data.get(field, _GONE)
        if field == "stats" and not new.address and all(isinstance(x, dict) for x in pair):
            _compare_stats(found, *pair, document_fields.mapping_of(now.data, "stats"))
            continue
        if same(*pair):
            continue
        path = f"{new.address}/{escape(field)}" if new.address else escape(field)
        is_parents = field == "status" and new.address and new.children
        current, derived = now.data.get(field, _GONE), field in _DERIVED or bool(is_parents)
        if _is_left(found, path, current, pair, is_derived=derived):
            continue
        change = EditChange(path, new.address, field, pair[1], new.data, new.level)
        if field == "status":
            found.statuses.append(change)
        elif not (moves and field in _BY_COMMAND):
            found.fields.append(change)
    _compare_order(found, old, new)


def _is_left(
    found: EditChanges, path: str, current: Any, pair: tuple[Any, Any], *, is_derived: bool
) -> bool:
    """Return whether a change is skipped; add the reason to `left` if it is rejected."""
    if same(current, pair[1]):
        return True
    if is_derived:
        found.left.append(f"{path}: is derived")
    elif not same(current, pair[0]):
        found.left.append(f"{path}: was changed here too")
    else:
        return False
    return True


def _compare_stats(found: EditChanges, old: Data, new: Data, here: Data) -> None:
    for field in {**old, **new}:
        pair = old.get(field, _GONE), new.get(field, _GONE)
        path, is_derived = f"stats/{escape(field)}", field in _DERIVED_STATS
        if not same(*pair) and not _is_left(
            found, path, here.get(field, _GONE), pair, is_derived=is_derived
        ):
            found.fields.append(EditChange(path, "", f"stats\0{field}", pair[1]))


def _compare_order(found: EditChanges, old: Node, new: Node) -> None:
    there = {child.address for child in old.children}
    wanted = [child.address for child in new.children if child.address in there]
    order = [child.address for child in old.children if child.address in set(wanted)]
    if order != wanted:
        found.left.append(f"{new.address or 'phases'}: the order is not changed")


def _add(found: EditChanges, before: Tree, after: Tree, node: Node) -> None:
    """Add a new node and its descendants to the changes."""
    parent = node.parent
    assert parent is not None
    if parent.address and before.find(parent.address) is None:
        return
    beside = parent.children
    if index := beside.index(node):
        position = ("after", beside[index - 1].address)
    elif len(beside) > 1:
        position = ("before", beside[1].address)
    else:
        position = ("end-of-phase", parent.address)
    value, level = _to_begin(node.data), node.level
    found.new.append(
        EditChange(node.address, node.address, "", value, node.data, level, position)
    )
    for leaf in [node, *node.walk()]:
        if not leaf.children and leaf.status != words.PENDING:
            path = f"{leaf.address}/status"
            change = EditChange(path, leaf.address, "status", leaf.status, leaf.data)
            found.statuses.append(change)


def _to_begin(data: Data) -> Data:
    """Return a node and its descendants without the fields that commands set."""
    fresh = {key: data[key] for key in data if key not in _BY_COMMAND | {"status"}}
    for key in {*CHILDREN} & fresh.keys():
        if isinstance(fresh[key], list):
            fresh[key] = [_to_begin(x) if isinstance(x, dict) else x for x in fresh[key]]
    return fresh


class AdoptEdit(Command, frozen=True):
    """Adopt an edit, where `base` is the document before the edit.

    Raise `RefusedError` with all the reasons if no part of the edit can be adopted.
    """

    edit: int
    observed: EditObserved
    base: Data
    by: str

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        observed, base = self.observed, self.base
        if observed.changes is None:
            raise RefusedError(
                f"the edit of {observed.path} cannot be read: {observed.problem}",
                hint=f"the edited bytes are stored as edits/{observed.kept} in the log's "
                "folder",
                command="adopt",
            )
        try:
            theirs = apply(deepcopy(base), observed.changes)
        except (LookupError, TypeError, ValueError):
            theirs = None
        if not isinstance(theirs, dict):
            raise RefusedError(
                f"the recorded changes of {observed.path} do not match the edited version",
                command="adopt",
            )
        adopting = _Adopting(
            sprint, f"adopted from an edit of {observed.path}", self.by, at
        )
        found = changes_of(base, theirs, sprint.document)
        adopting.left += found.left
        adopting.take_fields(found, observed.path)
        for change in found.new:
            adopting.take_node(change)
        adopting.take_statuses(found)
        if not adopting.events and not adopting.left:
            return []
        if not adopting.events:
            raise RefusedError(
                f"no change of the edit of {observed.path} can be adopted: "
                + "; ".join(adopting.left),
                hint="run `sprintlog show event N` to see it, or `sprintlog import "
                "progress FILE` to import a document",
                command="adopt",
            )
        done, left = tuple(adopting.done), tuple(adopting.left)
        adopted = EditAdopted(observed.path, self.edit, observed.digest, done, left)
        return [*adopting.events, adopted]


class _Adopting:
    """The adoption of an edit: its events so far, and the state after them."""

    def __init__(self, sprint: Sprint, reason: str, by: str, at: str) -> None:
        self.events: list[Event] = []
        self.done: list[str] = []
        self.left: list[str] = []
        self._state = unpack(pack(sprint))
        self._reason, self._by, self._at = reason, by, at

    def take_fields(self, found: EditChanges, path: str) -> None:
        """Import, as a patch, the fields that no command sets."""
        ours = self._state.document
        wanted = deepcopy(ours)
        for change in found.fields:
            if (problem := _problem_of(change)) is not None:
                self.left.append(f"{change.path}: {problem}")
                continue
            set_field(wanted, change)
            self.done.append(change.path)
        if diff(ours, wanted):
            operations = create.patch_to(self._state, wanted)
            self._happen([SprintImported(f"edit of {path}", patch=operations)])

    def take_node(self, change: EditChange) -> None:
        """Inject a new node."""
        try:
            shape.check_shape(change.value, level=change.level)
            gate.check_gates([change.value], "nodes", level=change.level)
        except RefusedError as error:
            self.left.append(f"{change.path}: {error.message}")
            return
        position = InjectionPosition(*change.position)
        self._try(change.path, [injection_of(change.level, [change.value], position)])

    def take_statuses(self, found: EditChanges) -> None:
        """Change each status by running the commands that set it; stop the sprint last."""
        whole = [c for c in found.statuses if not c.address]
        for change in [c for c in whole if c.value == words.IN_PROGRESS]:
            self._try(change.path, self._sprint_steps(change))
        for change in [c for c in found.statuses if c.address]:
            self._try(change.path, self._phase_steps(change))
        for change in [c for c in whole if c.value != words.IN_PROGRESS]:
            self._try(change.path, self._sprint_steps(change))
        for change in [c for c in whole if c.value == words.IN_PROGRESS]:
            # A leaf of the same edit may have stopped or completed the sprint again.
            while change.path in self.done and self._state.plan.status != change.value:
                self.done.remove(change.path)
                self._try(change.path, self._sprint_steps(change))

    def _phase_steps(self, change: EditChange) -> list[Command]:
        phase, why = change.address, self._reason
        error = change.node.get("error") or why
        commands: dict[str, Command] = {
            "start": leaves.StartPhase(phase),
            "complete": leaves.CompletePhase(phase, change.node.get("summary")),
            "skip": leaves.SkipPhase(phase, why),
            "block": leaves.BlockPhase(error, phase),
            "fail": leaves.FailPhase(error, phase=phase),
            "retry": leaves.RetryPhase(phase, why),
            "reopen": leaves.ReopenPhase(phase, why),
        }
        node = self._state.plan.tree.find(phase)
        way = shortest_way(PHASE_FROM, PHASE_TO, node.status if node else "", change.value)
        return [commands[command] for command in way or ()]

    def _sprint_steps(self, change: EditChange) -> list[Command]:
        why = self._reason
        commands: dict[str, Command] = {
            "start": lifecycle.StartSprint(),
            "resume": lifecycle.ResumeSprint(self._by, why),
            "pause": lifecycle.PauseSprint(why),
            "block": lifecycle.BlockSprint(why),
            "interrupt": lifecycle.InterruptSprint(why),
            "complete": lifecycle.CompleteSprint(),
            "reopen": lifecycle.ReopenSprint(why),
        }
        way = shortest_way(SPRINT_FROM, SPRINT_TO, self._state.plan.status, change.value)
        return [commands[command] for command in way or ()]

    def _try(self, path: str, steps: Sequence[Command]) -> None:
        """Run all steps or none; record the reason if a step is refused."""
        if not steps:
            self.left.append(f"{path}: no command leads there")
            return
        before, events = pack(self._state), len(self.events)
        try:
            for step in steps:
                self._happen(step.decide(self._state, self._at))
        except RefusedError as error:
            self._state = unpack(before)
            del self.events[events:]
            self.left.append(f"{path}: {error.message}")
            return
        self.done.append(path)

    def _happen(self, events: list[Event]) -> None:
        fold_ahead(self._state, events, self._at)
        self.events += events


def _problem_of(change: EditChange) -> str | None:
    """Return why a field cannot have its new value, or None."""
    *parents, field = change.key.split("\0")
    # A removed field is checked like a missing field.
    data: Data = {} if change.is_gone else {field: change.value}
    for parent in parents:
        data = {parent: data}
    try:
        shape.check_shape(data, level=change.level)
        if field == "gate" and not change.is_gone and change.value is not None:
            gate.check_gate(change.value, field)
    except RefusedError as error:
        return error.message
    return None
