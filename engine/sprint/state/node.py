"""The nodes of a plan's index, and the fields that parents derive from their children.

A parent's status, error and times follow from the nodes below it. For a long list of plain
phases, no nodes are created in advance: most commands concern a single phase, and a process
ends after one command.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from operator import contains, itemgetter
from typing import Any

from . import words
from .times import elapsed

NO_CHILDREN = dict.fromkeys(words.PHASE_STATUSES, 0)
"""The tally of a leaf; it is never modified."""
Data = dict[str, Any]


class Node:
    """A phase, step or sub-phase of the index, or the root above them."""

    __slots__ = (
        "address",
        "children",
        "counted",
        "data",
        "leaf",
        "level",
        "parent",
        "peers",
        "place",
        "tally",
    )

    def __init__(
        self,
        data: dict[str, Any],
        address: str,
        place: tuple[int, ...],
        parent: "Node | None",
    ) -> None:
        self.data = data
        self.address = address
        self.place = place
        """The indices from the root: phase, step, sub-phase."""
        self.level = len(place)
        self.parent = parent
        self.children: list[Node] = []
        self.tally = NO_CHILDREN
        """The number of children in each status."""
        self.peers = NO_CHILDREN
        """The number of nodes at the same level in each status."""
        self.counted: str | None = None
        """The status under which the node is counted, if a fold has changed it since."""
        self.leaf = -1
        """The position among the leaves; -1 for a parent."""

    @property
    def status(self) -> str:
        """Return the node's status."""
        return self.data["status"]  # type: ignore[no-any-return]

    @property
    def is_empty(self) -> bool:
        """Return whether this is a for-each phase without steps (SPR-058)."""
        return (
            self.level == 1 and self.data.get("steps") == [] and "prompt" not in self.data
        )

    @property
    def is_passed_over(self) -> bool:
        """Return whether the node is empty and has neither a gate nor a breakpoint."""
        holds = gate_status(self.data) is not None or self.data.get("break") is True
        return self.is_empty and not holds

    def move(self, level: int, by: int) -> None:
        """Shift the index at a level in this node and in all its descendants."""
        self.place = (*self.place[:level], self.place[level] + by, *self.place[level + 1 :])
        for child in self.children:
            child.move(level, by)

    def walk(self) -> Iterator["Node"]:
        """Yield all descendants in document order."""
        for child in self.children:
            yield child
            yield from child.walk()

    def leaves(self) -> Iterator["Node"]:
        """Yield the leaves at or below this node in document order."""
        if self.leaf >= 0:
            yield self
        for child in self.children:
            yield from child.leaves()

    def above(self) -> Iterator["Node"]:
        """Yield the ancestors except the root, starting with the parent."""
        node = self.parent
        while node is not None and node.parent is not None:
            yield node
            node = node.parent


class Root(Node):
    """The root, whose children are created on first access."""

    __slots__ = ("_children", "_make")

    def __init__(self, document: dict[str, Any], make: Callable[[], None]) -> None:
        self._make: Callable[[], None] = lambda: None
        super().__init__(document, "", (), None)
        self._make = make

    @property
    def children(self) -> list[Node]:
        """Return the children, creating them if necessary."""
        self._make()
        return self._children

    @children.setter
    def children(self, children: list[Node]) -> None:
        self._children = children


def gate_status(data: dict[str, Any]) -> str | None:
    """Return the status of a node's gate, or None if it has no gate."""
    if not isinstance(data.get("gate"), dict):
        return None
    tracking = data.get("gate-tracking")
    status = tracking.get("status") if isinstance(tracking, dict) else None
    return status if status in words.GATE_STATUSES else words.PENDING


def gate_is_open(data: dict[str, Any]) -> bool:
    """Return whether a node has a gate that has not passed."""
    return gate_status(data) not in (None, words.PASSED)


def takes_part(data: dict[str, Any]) -> bool:
    """Return whether a node has an id and one of the statuses in the specification."""
    identity = data.get("id")
    return (
        isinstance(identity, str)
        and identity != ""
        and data.get("status") in words.PHASE_STATUSES
    )


def escape(segment: str) -> str:
    """Return an id escaped for an address: `~` as `~0`, `/` as `~1`, a leading `#` as `~2`.

    The escaped id cannot be mistaken for an index in an address.
    """
    if "~" in segment or "/" in segment:
        segment = segment.replace("~", "~0").replace("/", "~1")
    return f"~2{segment[1:]}" if segment.startswith("#") else segment


def derived_status(node: Node) -> str:
    """Return the status that a parent derives from its children (SPR-052, SPR-053)."""
    tally, total = node.tally, len(node.children)
    if tally[words.BLOCKED]:
        return words.BLOCKED
    if tally[words.FAILED]:
        return words.FAILED
    if tally[words.COMPLETED] + tally[words.SKIPPED] == total:
        if tally[words.SKIPPED] == total:
            return words.SKIPPED
        if not gate_is_open(node.data):
            return words.COMPLETED
        return (
            words.BLOCKED if gate_status(node.data) == words.BLOCKED else words.IN_PROGRESS
        )
    return words.PENDING if tally[words.PENDING] == total else words.IN_PROGRESS


def waits_for_gate(node: Node) -> bool:
    """Return whether a parent is finished except for its gate.

    The leaves decide, because a document may contain wrong statuses for the nodes in
    between.
    """
    if not gate_is_open(node.data):
        return False
    done = node.tally[words.COMPLETED]
    if done + node.tally[words.SKIPPED] == len(node.children):
        return done > 0
    statuses = {leaf.status for leaf in node.leaves()}
    gates = any(waits_for_gate(x) if x.children else needs_gate(x) for x in node.walk())
    return statuses <= words.FINISHED and words.COMPLETED in statuses and not gates


def needs_gate(leaf: Node) -> bool:
    """Return whether a completed leaf waits for its own gate."""
    return leaf.status == words.COMPLETED and gate_is_open(leaf.data)


def put(data: Data, key: str, value: Any) -> None:
    """Set a key, keeping the list of children last."""
    last = next(reversed(data), None)
    data[key] = value
    if last in ("steps", "phases"):
        data[last] = data.pop(last)


def drop(data: Data, *keys: str) -> None:
    """Remove the keys that exist."""
    for key in keys:
        if key in data:
            del data[key]


def note_error(parent: Node) -> None:
    """Set a parent's error to that of its first failed or blocked child, or of its gate."""
    data, source = parent.data, None
    if parent.tally[words.FAILED] or parent.tally[words.BLOCKED]:
        source = next(
            x.data for x in parent.children if x.status in (words.FAILED, words.BLOCKED)
        )
    elif gate_status(data) == words.BLOCKED:
        source = data["gate-tracking"]
    if source is None:
        data.pop("error", None)
    elif (error := source.get("error")) is not None:
        put(data, "error", error)


def set_elapsed(data: Data) -> None:
    """Replace the start and end times in a leaf's `elapsed` with their difference.

    Computing the difference takes longer than applying the rest of the event, and most
    leaves of a long stream end several times, so a fold computes the difference only for
    the last end.
    """
    if type(span := data.get("elapsed")) is tuple:
        if (duration := elapsed(*span)) is None:
            del data["elapsed"]
        else:
            data["elapsed"] = duration


def note_times(data: Data, status: str, at: str) -> None:
    """Update a parent's times according to its derived status."""
    if status == words.PENDING:
        data.pop("started-at", None)
    if status == words.IN_PROGRESS and not data.get("started-at"):
        put(data, "started-at", at)
    if status == words.COMPLETED:
        put(data, "completed-at", at)
        if (duration := elapsed(data.get("started-at"), at)) is not None:
            put(data, "elapsed", duration)
    else:
        for key in ("completed-at", "elapsed", "summary"):
            data.pop(key, None)


FLAT_FROM = 64
"""The minimum number of phases for which nodes are created on demand."""
_NOT_IN_PLAIN_IDS = "~/#"
_LOOKS = 3


class FlatPhases:
    """Phases that are all plain leaves, and whose addresses equal their ids."""

    __slots__ = ("_asked", "_places", "phases", "tally")

    def __init__(self, phases: list[dict[str, Any]], tally: dict[str, int]) -> None:
        self.phases = phases
        self.tally = tally
        """The number of phases in each status."""
        self._places: dict[str, int] | None = None
        self._asked = 0

    def ids(self) -> list[str]:
        """Return the ids of the phases."""
        return [*map(itemgetter("id"), self.phases)]

    def place_of(self, address: str) -> int | None:
        """Return the index of the phase with an id, or None."""
        if self._places is None:
            # Short-lived processes ask only once or twice: a linear search is then faster.
            self._asked += 1
            ids = self.ids()
            if self._asked <= _LOOKS:
                return ids.index(address) if address in ids else None
            self._places = dict(zip(ids, range(len(ids)), strict=True))
        return self._places.get(address)

    def is_over(self, index: int) -> bool:
        """Return whether a phase is finished and has no gate."""
        phase = self.phases[index]
        return phase["status"] in words.FINISHED and "gate" not in phase


def flat_phases(
    document: Mapping[str, Any], *, known: dict[str, int] | None = None
) -> FlatPhases | None:
    """Return a document's phases if there are many and all of them are plain, or None.

    If `known` contains the tally of the phases, the phases are not inspected.
    """
    phases = document.get("phases")
    if known is not None and type(phases) is list:
        return FlatPhases(phases, known)
    if type(phases) is not list or len(phases) < FLAT_FROM:
        return None
    if {*map(type, phases)} != {dict} or any(map(contains, phases, repeat("steps"))):
        return None
    try:
        ids, statuses = ([*map(itemgetter(key), phases)] for key in ("id", "status"))
    except KeyError:
        return None
    if {*map(type, ids), *map(type, statuses)} != {str}:
        return None
    counted = Counter(statuses)
    tally = {word: counted[word] for word in words.PHASE_STATUSES}
    text = "\n".join(ids)
    is_plain = (
        len({*ids}) == sum(tally.values()) == len(ids)
        and "" not in ids
        and not any(mark in text for mark in _NOT_IN_PLAIN_IDS)
    )
    return FlatPhases(phases, tally) if is_plain else None
