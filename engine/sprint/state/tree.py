"""The index over a plan's document: nodes by address, leaves in order, derived parents.

The document stays the truth and is changed in place; the index is built from it when
it is first needed and holds nothing that the document does not say, but where the
pointer is held. A node without id or status is inert: it keeps its place but takes no
part (DESIGN.md section 7).
"""

from bisect import bisect_left
from typing import Any

from .node import Node as Node
from .node import gate_is_open as gate_is_open
from .node import gate_status as gate_status
from .times import elapsed
from .words import (
    BLOCKED,
    COMPLETED,
    FAILED,
    FINISHED,
    IN_PROGRESS,
    PASSED,
    PENDING,
    PHASE_STATUSES,
    SKIPPED,
)

Data = dict[str, Any]
CHILDREN = ("phases", "steps", "phases")
"""The key that holds the children at each level: sprint, top phase, step."""


def escape(segment: str) -> str:
    """Return an id as an address writes it: `~` as `~0`, `/` as `~1`, a first `#` as `~2`.

    So no id can be taken for an address by index.
    """
    if "~" in segment or "/" in segment:
        segment = segment.replace("~", "~0").replace("/", "~1")
    return f"~2{segment[1:]}" if segment.startswith("#") else segment


class Tree:
    """All nodes of a document by address, and its leaves in order."""

    def __init__(self, document: Data, *, held: str | None = None) -> None:
        self.root = Node(document, "", (), None)
        self.nodes: dict[str, Node] = {}
        """Each by its address."""
        self._by_index: dict[str, Node] | None = None
        """Each by its index, which is seldom asked for."""
        self.inert: set[str] = set()
        self.leaves: list[Node] = []
        self.empty: list[tuple[Node, int]] = []
        """For-each phases that are passed over, with the number of leaves before each."""
        self.phases = dict.fromkeys(PHASE_STATUSES, 0)
        """How many top phases have each status."""
        self.steps = dict.fromkeys(PHASE_STATUSES, 0)
        """How many steps have each status."""
        self._levels = (self.phases, self.steps, dict.fromkeys(PHASE_STATUSES, 0))
        self.is_plain = True
        """Whether every node takes part and is addressed by its id."""
        self._cursor = 0
        self._gather(document, self.root, "", ())
        if all(phase.level == 1 for phase in self.root.children):
            # Then both count the same, and every change of a phase is counted once.
            self.root.tally = self.phases
        self.held = self.nodes.get(held) if held else None
        """The leaf that the pointer stays on although an open one came in before it."""

    def find(self, address: str) -> Node | None:
        """Return the node that takes part under this address, if there is one."""
        node = self.nodes.get(address)
        if node is not None or "#" not in address:
            return node
        if self._by_index is None:
            self._by_index = {_by_index(*entry): entry[1] for entry in self.nodes.items()}
        return self._by_index.get(address)

    def open_leaf(self) -> Node | None:
        """Return the first leaf that is not finished; None when all are.

        A phase whose gate is open is held at its last leaf. What came in before the leaf
        that was worked on then waits until that one is finished.
        """
        if self.held is not None and self._stays_at(self.held.leaf):
            return self.held
        leaves = self.leaves
        while self._cursor < len(leaves) and not self._stays_at(self._cursor):
            self._cursor += 1
        return leaves[self._cursor] if self._cursor < len(leaves) else None

    def node_of(self, data: Data) -> Node | None:
        """Return the node that stands for a piece of the document, a new one first."""
        found = (node for node in reversed(self.nodes.values()) if node.data is data)
        return next(found, None)

    def graft(self, owner: Node, index: int, new: list[Data]) -> None:
        """Index what was put among the children of a node of a plain tree.

        The index is then what it would be if it were built anew, but for the order of
        `nodes`; only what stands behind is touched.
        """
        prefix, place = f"{owner.address}/" if owner.address else "", (*owner.place, index)
        first = bisect_left(self.leaves, place, key=lambda leaf: leaf.place)
        behind, self.leaves[first:] = self.leaves[first:], []
        empty, self.empty = [x for x in self.empty if x[0] is not owner], []
        later, self._by_index = owner.children[index:], None
        for child in reversed(later):
            child.move(len(place) - 1, len(new))
        for offset, data in enumerate(new):
            self._gather_one(data, owner, prefix, (*owner.place, index + offset))
        # They were gathered behind the others.
        owner.children[index:] = [*owner.children[index + len(later) :], *later]
        grown = len(self.leaves) - first
        for number, leaf in enumerate(behind, len(self.leaves)):
            leaf.leaf = number
        self.leaves += behind
        self.empty += [
            (node, before + grown if node.place > place else before)
            for node, before in empty
        ]
        self._cursor = min(self._cursor, first)

    def hold(self, leaf: Node) -> None:
        """Keep the pointer on a leaf, whatever came in before it.

        One that only waited for a gate gives way to more work that the gate is to check.
        """
        self.held = None
        first = self.open_leaf()
        held = leaf if self._stays_at(leaf.leaf) else self._work_beside(leaf)
        self.held = held if held is not first else None

    def _work_beside(self, leaf: Node) -> Node | None:
        """Return the first open leaf that the nearest gate above a leaf waits for."""
        for node in leaf.above():
            if gate_is_open(node.data):
                found = (x for x in node.leaves() if self._stays_at(x.leaf))
                if (first := next(found, None)) is not None:
                    return first
        return None

    def set_status(self, node: Node, status: str, at: str) -> None:
        """Give a node a status and derive its parents' from their children."""
        if (held := self.held) is not None and node.leaf >= 0:
            was_taken_up = node.leaf < held.leaf and status not in FINISHED
            if was_taken_up or not self._stays_at(held.leaf):
                self.held = None
        data, parent = node.data, node.parent
        old = data["status"]
        if old != status:
            data["status"] = status
            if -1 < node.leaf < self._cursor:
                self._cursor = node.leaf
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
            _note_error(parent)
            node, old, status = parent, parent.data["status"], derived_status(parent)
            if old != status:
                node.data["status"] = status
                _note_times(node.data, status, at)
            parent = node.parent

    def derive_gate(self, node: Node, at: str) -> None:
        """Bring the pointer and the statuses in step with a node's gate that changed."""
        last = node
        while last.children:
            last = last.children[-1]
        if gate_is_open(node.data) and last.leaf >= 0:
            self._cursor = min(self._cursor, last.leaf)
        # What a document says of parents may contradict their children.
        for parent in (*reversed([*node.walk()]), node):
            if parent.children:
                _note_error(parent)
            if parent.children and (status := derived_status(parent)) != parent.status:
                self.set_status(parent, status, at)
                _note_times(parent.data, status, at)
        if node.is_empty and node.leaf >= 0:
            self._derive_empty_gate(node, at)
        if self.held is not None and not self._stays_at(self.held.leaf):
            self.held = None

    def _derive_empty_gate(self, node: Node, at: str) -> None:
        """Let its gate do with a phase without steps as with one that has some."""
        word = gate_status(node.data)
        if node.status == PENDING and word != PENDING:
            self.set_status(node, IN_PROGRESS, at)
            _note_times(node.data, IN_PROGRESS, at)
        if node.status == IN_PROGRESS and word == PASSED:
            self.set_status(node, COMPLETED, at)
            _note_times(node.data, COMPLETED, at)

    def derive_empty(self) -> None:
        """Complete what is passed over once the pointer has reached it (P31)."""
        leaf = self.open_leaf()
        reached = leaf.leaf if leaf is not None else len(self.leaves)
        for node, before in self.empty:
            status = COMPLETED if reached >= before else PENDING
            if node.status != status:
                self.set_status(node, status, "")

    def _stays_at(self, index: int) -> bool:
        leaf = self.leaves[index]
        if leaf.status not in FINISHED:
            return True
        # What was skipped needs no gate: there is nothing that it could check.
        if _needs_gate(leaf):
            return True
        behind = self.leaves[index + 1].place if index + 1 < len(self.leaves) else ()
        # Each parent whose last leaf this is may hold it for a gate that is due.
        for node in leaf.above():
            if behind[: node.level] == node.place:
                return False
            if waits_for_gate(node):
                return True
        return False

    def _gather(self, data: Data, owner: Node, prefix: str, place: tuple[int, ...]) -> None:
        """Index the children of `data`; `owner` is the nearest node that takes part."""
        for index, child in enumerate(_children(data, len(place))):
            if isinstance(child, dict):
                self._gather_one(child, owner, prefix, (*place, index))
            else:
                self.is_plain = False

    def _gather_one(
        self, data: Data, owner: Node, prefix: str, place: tuple[int, ...]
    ) -> None:
        nodes, leaves = self.nodes, self.leaves
        identity, status = data.get("id"), data.get("status")
        address = ""
        if isinstance(identity, str) and identity:
            address = prefix + escape(identity)
        has_id = bool(address)
        if not address or address in nodes:
            self.is_plain = False
            address = f"{prefix}#{place[-1]}"
        if not has_id or status not in PHASE_STATUSES:
            self.is_plain = False
            self.inert.update((address, f"{prefix}#{place[-1]}"))
            self._gather(data, owner, f"{address}/", place)
            return
        level = len(place)
        node = nodes[address] = Node(data, address, place, owner)
        peers = node.peers = self._levels[level - 1]
        if not owner.children:
            owner.tally = dict.fromkeys(PHASE_STATUSES, 0)
        owner.children.append(node)
        owner.tally[status] += 1
        if peers is not owner.tally:
            peers[status] += 1
        # The place among the leaves is kept free before the children are gathered.
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
    """Return a node's address with its index instead of its id."""
    return f"{address[: address.rfind('/') + 1]}#{node.place[-1]}"


def _children(data: Data, level: int) -> list[Any]:
    children = data.get(CHILDREN[level]) if level < len(CHILDREN) else None
    return children if isinstance(children, list) else []


def takes_part(data: Data) -> bool:
    """Tell whether a node has both an id and a status word of the specification."""
    identity = data.get("id")
    return (
        isinstance(identity, str)
        and identity != ""
        and data.get("status") in PHASE_STATUSES
    )


def derived_status(node: Node) -> str:
    """Return a parent's status from its children's (DESIGN.md section 7)."""
    tally, total = node.tally, len(node.children)
    if tally[BLOCKED]:
        return BLOCKED
    if tally[FAILED]:
        return FAILED
    if tally[COMPLETED] + tally[SKIPPED] == total:
        if tally[SKIPPED] == total:
            return SKIPPED
        if not gate_is_open(node.data):
            return COMPLETED
        return BLOCKED if gate_status(node.data) == BLOCKED else IN_PROGRESS
    return PENDING if tally[PENDING] == total else IN_PROGRESS


def waits_for_gate(node: Node) -> bool:
    """Tell whether only its gate keeps a parent from its end.

    That goes by its leaves: a document may say something else of what is between.
    """
    if not gate_is_open(node.data):
        return False
    done = node.tally[COMPLETED]
    if done + node.tally[SKIPPED] == len(node.children):
        return done > 0
    words = {leaf.status for leaf in node.leaves()}
    gates = any(waits_for_gate(x) if x.children else _needs_gate(x) for x in node.walk())
    return words <= FINISHED and COMPLETED in words and not gates


def _needs_gate(leaf: Node) -> bool:
    return leaf.status == COMPLETED and gate_is_open(leaf.data)


def put(data: Data, key: str, value: Any) -> None:
    """Set a key; a new one goes before a list of children that stands last."""
    put_all(data, {key: value})


def put_all(data: Data, fields: Data) -> None:
    """Set keys as `put` does, one after another."""
    if "phases" not in data and "steps" not in data:
        data.update(fields)
        return
    for key, value in fields.items():
        last = next(reversed(data))
        if key not in data and last in ("steps", "phases"):
            children = data.pop(last)
            data[key] = value
            data[last] = children
        else:
            data[key] = value


def drop(data: Data, *keys: str) -> None:
    """Take keys away that are there."""
    for key in keys:
        if key in data:
            del data[key]


def _note_error(parent: Node) -> None:
    """Keep a parent's error that of its first failed or blocked child, or of its gate."""
    data, source = parent.data, None
    if parent.tally[FAILED] or parent.tally[BLOCKED]:
        source = next(x.data for x in parent.children if x.status in (FAILED, BLOCKED))
    elif gate_status(data) == BLOCKED:
        source = data["gate-tracking"]
    if source is None:
        data.pop("error", None)
    elif (error := source.get("error")) is not None:
        put(data, "error", error)


def _note_times(data: Data, status: str, at: str) -> None:
    """Keep a parent's times in step with its derived status."""
    if status == PENDING:
        data.pop("started-at", None)
    if status == IN_PROGRESS and not data.get("started-at"):
        put(data, "started-at", at)
    if status == COMPLETED:
        put(data, "completed-at", at)
        if (duration := elapsed(data.get("started-at"), at)) is not None:
            put(data, "elapsed", duration)
    else:
        for key in ("completed-at", "elapsed", "summary"):
            data.pop(key, None)
