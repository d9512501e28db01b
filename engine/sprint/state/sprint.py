"""The state of a sprint: its plan, which rollbacks affect, and its knowledge.

The plan is stored in the structure of its document, with the document's key order and
unknown keys. A fold owns the state that it changes; all other code only reads the state.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from ...log.event import Event
from ...state_format import PartsDecoder, sealed, shape_of, unsealed
from ..events import IterationEnded, IterationStarted, Place
from . import document_fields, node, times, words
from . import plan_records as records
from .knowledge import Knowledge as Knowledge
from .knowledge import Spent as Spent
from .queue import Decided, queue_of, with_queue
from .tree import Data, Node, Tree

MEANING = 11
"""A number to increment when saved fields change their meaning; a test checks this."""


class Plan:
    """The result of the effective execution events: a document and further records."""

    __slots__ = (
        *(
            "_held",
            "_tally",
            "decisions",
            "document",
            "imported_at",
            "index",
            "last",
            "last_at",
        ),
        *("place", "renewed", "retried", "touched", "turns", "waiting"),
    )

    def __init__(self) -> None:
        self.document: Data = {}
        self.place: Place | None = None
        self.last = records.LastEvents()
        self.last_at: str | None = None
        """The time of the last effective event."""
        self.touched = False
        """Whether any of our own events followed the last imported document."""
        self.turns = records.LoopCounters()
        self.imported_at = 0
        """The version of the imported document that the plan started with."""
        self.decisions: dict[str, Decided] = {}
        """The last decision on each request since that document was imported."""
        self.retried: dict[str, int] = {}
        """The number of retries of each leaf when a person last intervened, by address."""
        self.renewed: dict[str, bool] = {}
        """The gates that have not been checked since a person intervened, by address."""
        self.waiting: records.LimitWait | None = None
        """The latest wait for a limit, until the waiting work continues."""
        self.index: Tree | None = None
        self._held: str | None = None
        self._tally: dict[str, int] | None = None
        """The saved tally of plain phases, until the index is built."""

    @property
    def tree(self) -> Tree:
        """Return the index over the document."""
        if self.index is None:
            self.index = Tree(self.document, held=self._held, tally=self._tally)
            self._tally = None
        return self.index

    def restore_tally(self, tally: dict[str, int]) -> None:
        """Restore the saved number of phases in each status, if all phases are plain."""
        self._tally = tally or None

    @property
    def held(self) -> str | None:
        """Return the address of the leaf at which the pointer is held, or None."""
        if self.index is None:
            return self._held
        return self.index.held.address if self.index.held is not None else None

    @held.setter
    def held(self, address: str | None) -> None:
        if self.index is not None:
            self.index.finish_fold()
        self._held, self.index, self._tally = address, None, None

    @property
    def status(self) -> str:
        """Return the sprint's status."""
        status = self.document.get("status")
        return status if status in words.SPRINT_STATUSES else words.NOT_STARTED

    @property
    def is_ralph(self) -> bool:
        """Return whether the sprint is in Ralph mode, in which a goal ends the sprint."""
        return self.document.get("mode") == "ralph"

    @property
    def is_at_goal(self) -> bool:
        """Return whether the goal itself is being worked on, because no phase is open."""
        return self.is_ralph and self.tree.open_leaf() is None

    @property
    def iteration(self) -> int:
        """Return the number of the latest iteration, or 0."""
        return document_fields.count_of(self.given_stats, "current-iteration")

    @property
    def completed_at(self) -> str | None:
        """Return when the sprint was completed according to the document, or None."""
        at = self.given_stats.get("completed-at")
        return at if isinstance(at, str) else None

    @property
    def given_stats(self) -> Data:
        """Return the figures in the document; empty if there are none."""
        return document_fields.mapping_of(self.document, "stats")

    @property
    def stats(self) -> Data:
        """Return the figures in the document, creating them if necessary."""
        stats = self.document.get("stats")
        if not isinstance(stats, dict):
            stats = self.document["stats"] = {}
        return stats

    def replace(self, document: Data) -> None:
        """Replace the document; its derived fields are not changed."""
        self.document = document
        self.retried, self.renewed, self.waiting = {}, {}, None
        self.touched = False
        self.held = None

    def grow(
        self, owner: Node, siblings: list[Any], index: int, nodes: list[Data], at: str
    ) -> None:
        """Insert nodes among a node's children; the pointer stays on the same work.

        The statuses of the parents are then derived from their children.
        """
        tree = self.tree
        tree.make_all()
        working = tree.open_leaf() if self.status != words.NOT_STARTED else None
        siblings[index:index] = nodes
        is_grafted = tree.is_plain and owner.leaf < 0
        if is_grafted:
            tree.graft(owner, index, nodes)
        if not is_grafted or not tree.is_plain:
            self.held = None
            tree = self.tree
            # An index in an address may now refer to another node.
            self.last.forget_indices()
            self.retried = records.without_indices(self.retried)
            self.renewed = records.without_indices(self.renewed)
            if self.waiting is not None and records.is_by_index(self.waiting.phase):
                self.waiting = None
            working = tree.node_of(working.data) if working is not None else None
            # A former leaf may now have children.
            working = next(working.leaves(), None) if working is not None else None
        tree.held = None
        if (came := tree.node_of(nodes[0])) is not None:
            tree.set_status(came, came.status, at)
        if working is not None:
            tree.hold(working)

    def set_status(self, status: str) -> None:
        """Set the sprint's status."""
        self.document["status"] = status

    def finish_fold(self) -> None:
        """Complete the deferred work of a fold."""
        if self.index is not None:
            self.index.finish_fold()

    def derived_document(self) -> Data:
        """Return the document as readers see it, with the derived pointer and figures.

        The derived fields are functions of the state alone and are not stored, so calling
        this method has no effect. A document that was not changed since its import is
        returned as is.
        """
        if not self.touched:
            return self.document
        self.derive_empty()
        stats = figures(self.document.get("stats"), self.tree, self.last_at)
        view = {**self.document, "current": self.pointer(), "stats": stats}
        if self.last_at is not None and stats.get("started-at"):
            view["last-activity"] = self.last_at
        return view

    def derive_empty(self) -> None:
        """Complete phases without steps that the pointer has passed (SPR-058)."""
        tree = self.tree
        if tree.empty and self.status != words.NOT_STARTED:
            tree.derive_empty()

    def pointed(self) -> Node | None:
        """Return the leaf at the pointer, or None if the plan has no leaf."""
        tree = self.tree
        return tree.open_leaf() or (tree.leaves[-1] if tree.leaf_count else None)

    def pointer(self) -> Data:
        """Return the pointer's position as indices."""
        leaf = self.pointed()
        place: tuple[int | None, ...] = leaf.place if leaf else (0,)
        phase, step, sub_phase = (*place, None, None)[:3]
        return {"phase": phase, "step": step, "sub-phase": sub_phase}


FIGURES = ("total-phases", "completed-phases", "total-steps", "completed-steps", "elapsed")
"""The figures derived from a plan, in the order in which they appear in a document."""


def figures(given: Any, tree: Tree, last_at: str | None) -> Data:
    """Return `stats` with a document's figures and the figures derived from the plan."""
    found: Data = dict(given) if isinstance(given, dict) else {}
    found["total-phases"] = sum(tree.phases.values())
    found["completed-phases"] = tree.phases[words.COMPLETED]
    if (steps := sum(tree.steps.values())) or "total-steps" in found:
        found["total-steps"], found["completed-steps"] = steps, tree.steps[words.COMPLETED]
    ended = found.get("completed-at") or last_at
    if (duration := times.elapsed(found.get("started-at"), ended)) is not None:
        found["elapsed"] = duration
    return found


Evolve = Callable[[Plan, Any, str], None]
"""A function that applies an event to a plan, given the event's time."""
Evolves = dict[type[Event], Evolve]
Change = Callable[[Node, Any, Plan, str], str]
"""A function that applies an event to a leaf of a plan, and returns the status to count."""
Learn = Callable[[Knowledge, Any, int], None]
"""A function that applies an event to the knowledge, given the event's version."""
Learns = dict[type[Event], Learn]


def evolve_nothing(plan: Plan, event: Any, at: str) -> None:
    """Change nothing; the fold records the time of every event."""


def settled(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document with the pointer and the figures derived from its plan."""
    plan = Plan()
    plan.replace(document)
    plan.touched = True
    return plan.derived_document()


class Sprint:
    """A sprint at a version of its stream."""

    __slots__ = ("id", "knowledge", "plan", "version")

    def __init__(self, sprint_id: str) -> None:
        self.id = sprint_id
        self.version = 0
        self.plan = Plan()
        self.knowledge = Knowledge()

    @property
    def exists(self) -> bool:
        """Return whether a plan was ever recorded."""
        return bool(self.plan.document)

    @property
    def document(self) -> Data:
        """Return the contents of PROGRESS.yaml, including derived fields."""
        document = self.plan.derived_document()
        if not self.knowledge.requests and not self.plan.decisions:
            # The document's own queue, if it has one.
            return document
        return with_queue(document, self.queue)

    @property
    def queue(self) -> list[Any]:
        """Return the operator queue as PROGRESS.yaml shows it."""
        plan = self.plan
        requests = self.knowledge.requests
        return queue_of(plan.document, plan.decisions, requests, since=plan.imported_at)

    @property
    def is_running(self) -> bool:
        """Return whether the sprint is in progress."""
        return self.plan.status == words.IN_PROGRESS


class _Saved(msgspec.Struct, array_like=True):
    """A state in the form that a checkpoint stores."""

    id: str
    version: int
    document: dict[str, Any]
    place: Place | None
    last: dict[str, dict[str, records.Stored]]
    last_at: str | None
    touched: bool
    held: str | None
    imported_at: int
    decisions: dict[str, Decided]
    knowledge: msgspec.Raw
    """An encoded `Knowledge`, most of which usually has default values."""
    turns: records.LoopCounters
    retried: dict[str, int]
    renewed: dict[str, bool]
    waiting: records.LimitWait | None
    tally: dict[str, int]
    """The number of phases in each status; empty unless there are many plain phases."""


STATE_FORMAT = 24845942944089
"""The format of saved states; states in other formats are ignored.

This is the value of `format_due`: computing it takes longer than reading a state.
"""


def format_due() -> int:
    """Return the number of the current format, computed from all saved structs."""
    return shape_of(_Saved, Knowledge, meaning=MEANING)


_OF_PLAN = {*_Saved.__struct_fields__} - {"id", "version", "knowledge", "last", "tally"}

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Saved)
_knowledge = PartsDecoder(Knowledge)


def pack(sprint: Sprint) -> bytes:
    """Return the state as bytes that `unpack` can read."""
    plan = sprint.plan
    flat = node.flat_phases(plan.document)
    state = _Saved(
        id=sprint.id,
        version=sprint.version,
        knowledge=msgspec.Raw(_encoder.encode(sprint.knowledge)),
        last=plan.last.stored(),
        tally=flat.tally if flat else {},
        **{name: getattr(plan, name) for name in _OF_PLAN},
    )
    return sealed(_encoder.encode(state))


def unpack(saved: bytes | memoryview) -> Sprint:
    """Return the state saved by `pack`; raise `msgspec.DecodeError` for any other bytes."""
    state = _decoder.decode(unsealed(saved))
    sprint = Sprint(state.id)
    sprint.version = state.version
    sprint.knowledge = _knowledge.decode(state.knowledge)
    for name in _OF_PLAN:
        setattr(sprint.plan, name, getattr(state, name))
    sprint.plan.last = records.read(state.last)
    sprint.plan.restore_tally(state.tally)
    return sprint


def open_iteration(plan: Plan) -> int | None:
    """Return the number of the current iteration, or None between two iterations."""
    last = plan.last.iteration
    if isinstance(last, IterationStarted):
        # A wrapped iteration with a higher number may have started since.
        return last.number
    return None if isinstance(last, IterationEnded) else plan.iteration or None
