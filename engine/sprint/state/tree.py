"""The index of a plan's document: nodes by address, leaves in order, derived parents.

The document remains authoritative and is changed in place. The index is built from the
document on first use and adds no information, except for the leaf at which the pointer is
held. A node without an id or a status is inert: it retains its position but is otherwise
ignored.
"""

from bisect import bisect_left
from typing import Any

from . import words
from .node import FlatPhases, Root, flat_phases, needs_gate, note_error, note_times
from .node import Node as Node
from .node import derived_status as derived_status
from .node import drop as drop
from .node import escape as escape
from .node import gate_is_open as gate_is_open
from .node import gate_status as gate_status
from .node import put as put
from .node import set_elapsed as set_elapsed
from .node import takes_part as takes_part
from .node import waits_for_gate as waits_for_gate

Data = dict[str, Any]
CHILDREN = ("phases", "steps", "phases")
"""The key of the children at each level: sprint, top-level phase, and step."""


class Tree:
    """All nodes of a document by address, and its leaves in order.

    If there are many plain phases, their nodes are created on first access.
    """

    def __init__(
        self,
        document: Data,
        *,
        held: str | None = None,
        tally: dict[str, int] | None = None,
    ) -> None:
        self._root = Root(document, self.make_all)
        self.made: dict[str, Node] = {}
        """The nodes created so far, by address."""
        self._by_index: dict[str, Node] | None = None
        """The nodes by index, which are seldom needed."""
        self.inert: set[str] = set()
        self._leaves: list[Node] = []
        self.empty: list[tuple[Node, int]] = []
        """The for-each phases without items, each with the number of leaves before the
        phase."""
        self.phases = dict.fromkeys(words.PHASE_STATUSES, 0)
        """The number of top-level phases in each status."""
        self.steps = dict.fromkeys(words.PHASE_STATUSES, 0)
        """The number of steps in each status."""
        self._levels = (self.phases, self.steps, dict.fromkeys(words.PHASE_STATUSES, 0))
        self.is_plain = True
        """Whether no node is inert and every node is addressed by its id."""
        self.cursor = 0
        """The index before which no leaf is open."""
        self._flat = flat_phases(document, known=tally)
        """The phases, until all of their nodes have been created."""
        self.asked: set[int] | None = None
        """The phases whose nodes were requested since `watch` was called."""
        if self._flat is None:
            self._gather(document, self._root, "", ())
        else:
            self.phases.update(self._flat.tally)
        if self._flat or not [x for x in self._root.children if x.level != 1]:
            # Both tallies are then the same object, so each change is counted only once.
            self._root.tally = self.phases
        self.alone: dict[str, Node] = {}
        """The independent leaves by address, while no leaf is held. A change to such a leaf
        affects only the tally of its peers (see `is_alone`)."""
        self.changed: list[Node] = []
        """The independent leaves that a fold has changed but not counted yet."""
        self._ended: set[Node] = set()
        """The counted leaves whose duration may not have been computed yet."""
        self.held = self.find(held) if held else None
        """The leaf that keeps the pointer although an open leaf was inserted before it."""

    @property
    def root(self) -> Node:
        """Return the node that represents the sprint."""
        return self._root

    @property
    def nodes(self) -> dict[str, Node]:
        """Return the nodes by address."""
        self.make_all()
        return self.made

    @property
    def leaves(self) -> list[Node]:
        """Return the leaves in document order."""
        self.make_all()
        return self._leaves

    def make_all(self) -> None:
        """Create a node for every plain phase that does not have one yet."""
        if (flat := self._flat) is None:
            return
        self._leaves = [self._plain(flat, index) for index in range(len(flat.phases))]
        self.made = dict(zip(flat.ids(), self._leaves, strict=True))
        self._root.children = [*self._leaves]
        self._flat = self.asked = None

    def watch(self) -> set[int] | None:
        """Start recording the phases whose nodes are requested; return the record.

        Changing a phase requires its node, so all other phases are unchanged as long as
        `asked` is the same record. Return None if all nodes exist.
        """
        self.asked = None if self._flat is None else set()
        return self.asked

    def _plain(self, flat: FlatPhases, index: int) -> Node:
        """Return the node of a plain phase, creating it on first access."""
        if self.asked is not None:
            self.asked.add(index)
        data = flat.phases[index]
        address = data["id"]
        if (node := self.made.get(address)) is None:
            node = self.made[address] = Node(data, address, (index,), self._root)
            node.peers, node.leaf = self.phases, index
        return node

    def _leaf(self, index: int) -> Node:
        flat = self._flat
        return self._leaves[index] if flat is None else self._plain(flat, index)

    def find(self, address: str) -> Node | None:
        """Return the node at an address, or None; inert nodes are not found."""
        flat = self._flat
        if flat is not None and (place := flat.place_of(address)) is not None:
            return self._plain(flat, place)
        if (node := self.made.get(address)) is not None:
            return node
        if "#" not in address:
            return None
        if self._by_index is None:
            self._by_index = {_by_index(*entry): entry[1] for entry in self.nodes.items()}
        return self._by_index.get(address)

    def open_leaf(self) -> Node | None:
        """Return the first leaf that is not finished, or None.

        A phase with an open gate is held at its last leaf. Leaves inserted before the
        current leaf wait until it is finished.
        """
        if self.held is not None and self._stays_at(self.held.leaf):
            return self._leaf(self.held.leaf)
        if self.changed:
            self._count()
        count = self.leaf_count
        while self.cursor < count and not self._stays_at(self.cursor):
            self.cursor += 1
        return self._leaf(self.cursor) if self.cursor < count else None

    @property
    def leaf_count(self) -> int:
        """Return the number of leaves."""
        return len(self._leaves if self._flat is None else self._flat.phases)

    def node_of(self, data: Data) -> Node | None:
        """Return the node for a part of the document, or None."""
        found = (node for node in reversed(self.nodes.values()) if node.data is data)
        return next(found, None)

    def graft(self, owner: Node, index: int, new: list[Data]) -> None:
        """Index nodes that were inserted among the children of a node in a plain tree.

        The result equals a newly built index, except for the order of `nodes`. Of the
        existing nodes, only the following siblings are changed.
        """
        self.make_all()
        prefix, place = f"{owner.address}/" if owner.address else "", (*owner.place, index)
        first = bisect_left(self._leaves, place, key=lambda leaf: leaf.place)
        behind, self._leaves[first:] = self._leaves[first:], []
        empty, self.empty = [x for x in self.empty if x[0] is not owner], []
        later, self._by_index = owner.children[index:], None
        for child in reversed(later):
            child.move(len(place) - 1, len(new))
        for offset, data in enumerate(new):
            self._gather_one(data, owner, prefix, (*owner.place, index + offset))
        # The new children were added after their later siblings.
        owner.children[index:] = [*owner.children[index + len(later) :], *later]
        grown = len(self._leaves) - first
        for number, leaf in enumerate(behind, len(self._leaves)):
            leaf.leaf = number
        self._leaves += behind
        # An index in an address may now refer to another node.
        self.alone.clear()
        self.empty += [
            (node, before + grown if node.place > place else before)
            for node, before in empty
        ]
        self.cursor = min(self.cursor, first)

    def hold(self, leaf: Node) -> None:
        """Keep the pointer on a leaf even if other leaves were inserted before it.

        A leaf that is only waiting for its gate loses the pointer, because the gate also
        checks the new work.
        """
        self.held = None
        first = self.open_leaf()
        held = leaf if self._stays_at(leaf.leaf) else self._work_beside(leaf)
        self.held = held if held is not first else None
        self.alone.clear()

    def finish_fold(self) -> None:
        """Complete the work that a fold deferred for independent leaves."""
        if self.changed:
            self._count()
        while self._ended:
            set_elapsed(self._ended.pop().data)

    def _count(self) -> None:
        """Update the tallies for the leaves that a fold changed."""
        for node in self.changed:
            if (counted := node.counted) is not None:
                node.peers[counted] -= 1
                node.peers[node.status] += 1
                node.counted = None
            self.cursor = min(self.cursor, node.leaf)
            self._ended.add(node)
            if self.asked is not None:
                self.asked.add(node.leaf)
        self.changed.clear()

    def is_alone(self, node: Node) -> bool:
        """Return whether a change to a leaf affects only the tally of its siblings."""
        is_top = node.parent is self._root and self._root.tally is self.phases
        has_children = "steps" in node.data or "phases" in node.data
        return self.held is None and is_top and node.leaf >= 0 and not has_children

    def _work_beside(self, leaf: Node) -> Node | None:
        """Return the first open leaf that the nearest open gate above a leaf awaits."""
        for node in leaf.above():
            if gate_is_open(node.data):
                found = (x for x in node.leaves() if self._stays_at(x.leaf))
                if (first := next(found, None)) is not None:
                    return first
        return None

    def set_status(self, node: Node, status: str, at: str) -> None:
        """Set a node's status, and derive the statuses of its ancestors."""
        if (held := self.held) is not None and node.leaf >= 0:
            was_taken_up = node.leaf < held.leaf and status not in words.FINISHED
            if was_taken_up or not self._stays_at(held.leaf):
                self.held = None
        data, parent = node.data, node.parent
        old, data["status"] = data["status"], status
        if node.counted is not None:
            old, node.counted = node.counted, status
        if old != status and -1 < node.leaf < self.cursor:
            self.cursor = node.leaf
        # An imported parent may contradict its children although its own child did not
        # change, so the way up always goes to the root.
        while parent is not None:
            if old != status:
                tally, peers = parent.tally, node.peers
                tally[old] -= 1
                tally[status] += 1
                if peers is not tally:
                    peers[old] -= 1
                    peers[status] += 1
            if parent.parent is None:
                return
            note_error(parent)
            node, old, status = parent, parent.data["status"], derived_status(parent)
            if old != status:
                node.data["status"] = status
                note_times(node.data, status, at)
            parent = node.parent

    def derive_gate(self, node: Node, at: str) -> None:
        """Update the pointer and the statuses after a change to a node's gate."""
        last = node
        while last.children:
            last = last.children[-1]
        if gate_is_open(node.data) and last.leaf >= 0:
            self.cursor = min(self.cursor, last.leaf)
        # The status of parents in a document may contradict their children.
        for parent in (*reversed([*node.walk()]), node):
            if parent.children:
                note_error(parent)
            if parent.children and (status := derived_status(parent)) != parent.status:
                self.set_status(parent, status, at)
                note_times(parent.data, status, at)
        if node.is_empty and node.leaf >= 0:
            self._derive_empty_gate(node, at)
        if self.held is not None and not self._stays_at(self.held.leaf):
            self.held = None

    def _derive_empty_gate(self, node: Node, at: str) -> None:
        """Derive the status of a phase without steps from its gate."""
        word = gate_status(node.data)
        if node.status == words.PENDING and word != words.PENDING:
            self.set_status(node, words.IN_PROGRESS, at)
            note_times(node.data, words.IN_PROGRESS, at)
        if node.status == words.IN_PROGRESS and word == words.PASSED:
            self.set_status(node, words.COMPLETED, at)
            note_times(node.data, words.COMPLETED, at)

    def derive_empty(self) -> None:
        """Complete phases without steps once the pointer has reached them (SPR-058)."""
        leaf = self.open_leaf()
        reached = leaf.leaf if leaf is not None else self.leaf_count
        for node, before in self.empty:
            status = words.COMPLETED if reached >= before else words.PENDING
            if node.status != status:
                self.set_status(node, status, "")

    def _stays_at(self, index: int) -> bool:
        if (flat := self._flat) is not None and flat.is_over(index):
            return False
        leaf = self._leaf(index)
        if leaf.status not in words.FINISHED:
            return True
        # A skipped phase has no results that a gate could check.
        if needs_gate(leaf):
            return True
        behind = self._leaf(index + 1).place if index + 1 < self.leaf_count else ()
        # A gate that is due may keep the pointer at the last leaf of the gate's phase.
        for node in leaf.above():
            if behind[: node.level] == node.place:
                return False
            if waits_for_gate(node):
                return True
        return False

    def _gather(self, data: Data, owner: Node, prefix: str, place: tuple[int, ...]) -> None:
        """Index the children of `data`; `owner` is the nearest node that is not inert."""
        for index, child in enumerate(_children(data, len(place))):
            if isinstance(child, dict):
                self._gather_one(child, owner, prefix, (*place, index))
            else:
                self.is_plain = False

    def _gather_one(
        self, data: Data, owner: Node, prefix: str, place: tuple[int, ...]
    ) -> None:
        nodes, leaves = self.made, self._leaves
        identity, status = data.get("id"), data.get("status")
        address = ""
        if isinstance(identity, str) and identity:
            address = prefix + escape(identity)
        has_id = bool(address)
        if not address or address in nodes:
            self.is_plain = False
            address = f"{prefix}#{place[-1]}"
        if not has_id or status not in words.PHASE_STATUSES:
            self.is_plain = False
            self.inert.update((address, f"{prefix}#{place[-1]}"))
            self._gather(data, owner, f"{address}/", place)
            return
        level = len(place)
        node = nodes[address] = Node(data, address, place, owner)
        peers = node.peers = self._levels[level - 1]
        if not (siblings := owner.children):
            owner.tally = dict.fromkeys(words.PHASE_STATUSES, 0)
        siblings.append(node)
        owner.tally[status] += 1
        if peers is not owner.tally:
            peers[status] += 1
        # The position among the leaves is reserved before the children are collected.
        before = len(leaves)
        if level < len(CHILDREN) and CHILDREN[level] in data:
            if node.is_passed_over:
                self.empty.append((node, before))
                return
            self._gather(data, node, f"{address}/", place)
        if len(leaves) == before:
            node.leaf = before
            leaves.append(node)


def _by_index(address: str, node: Node) -> str:
    """Return a node's address with the node's index in place of its id."""
    return f"{address[: address.rfind('/') + 1]}#{node.place[-1]}"


def _children(data: Data, level: int) -> list[Any]:
    children = data.get(CHILDREN[level]) if level < len(CHILDREN) else None
    return children if isinstance(children, list) else []
