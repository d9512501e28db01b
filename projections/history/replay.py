"""The events of a sprint in order, each with the document before and after it.

Each event type declares its reach. Only the parts within its reach are compared; both
documents share everything else.
"""

from collections.abc import Iterator
from functools import partial
from itertools import tee
from operator import is_
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event, Reach
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.service.streams.history import walk
from sprintlog.engine.service.workspace import ServiceWorkspace
from sprintlog.engine.sprint.state import patch
from sprintlog.engine.sprint.state.document_fields import MISSING
from sprintlog.engine.sprint.state.queue import QUEUE, with_queue
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.tree import CHILDREN, Node, Tree

from .causes import reason_of

Data = dict[str, Any]
Place = tuple[int, ...]

RECORDS = frozenset({"dynamic-steps", "hook-tasks", QUEUE})
"""The top-level lists that change only by events that declare them."""


class ReachedNode(NamedTuple):
    """A node that an event may have changed, or an ancestor of such a node."""

    name: str
    below: "ReachedNodes"


ReachedNodes = dict[int, ReachedNode]
"""The nodes by their index among their siblings."""


class SharedDocument:
    """A copy of a sprint's document that is not affected by later events."""

    def __init__(self, sprint: Sprint) -> None:
        self.document: Data = {}
        self.changed: list[tuple[str, Any, Any]] = []
        """The values that the last event changed: name, old value and new value."""
        self._names: dict[Place, str] = {}
        self.replace(sprint)

    def replace(self, sprint: Sprint) -> None:
        """Copy a sprint's complete document."""
        self.document = _copied(sprint.document)
        self._names = {}

    def follow(self, sprint: Sprint, event: Event) -> ReachedNodes | None:
        """Copy what an event may change; return the affected nodes, or None for all."""
        self.changed = []
        if event.reach is Reach.NOTHING:
            return {}
        if event.reach is Reach.WHOLE:
            self.replace(sprint)
            return None
        nodes: ReachedNodes = {}
        for place in sorted({node.place for node in _reached(sprint.plan.tree, event)}):
            self._add(nodes, place)
        # Only copied if the event may have changed it, because the queue grows with the
        # log.
        queue: Any = sprint.queue if event.records == QUEUE else self.document.get(QUEUE)
        now = with_queue(sprint.plan.derived_document(), queue)
        kept = RECORDS - {event.records}
        self.document = self._renewed(self.document, now, nodes, kept=kept)
        return nodes

    def _add(self, nodes: ReachedNodes, place: Place) -> None:
        for level, index in enumerate(place, start=1):
            if index not in nodes:
                nodes[index] = ReachedNode(self._name(place[:level]), {})
            nodes = nodes[index].below

    def _name(self, place: Place) -> str:
        """Return a node's name, and cache the names of its siblings."""
        if place not in self._names:
            *above, _ = place
            holder, name = self.document, ""
            for level, index in enumerate(above):
                holder = holder[CHILDREN[level]][index]
                name = self._name(place[: level + 1])
            key = CHILDREN[len(above)]
            names = patch.named_items(patch.under_key(name, key), holder[key])
            for index, (found, _) in enumerate(names):
                self._names[(*above, index)] = found
        return self._names[place]

    def _renewed(
        self,
        old: Data,
        now: Data,
        nodes: ReachedNodes,
        *,
        name: str = "",
        level: int = 0,
        kept: frozenset[str] = frozenset(),
    ) -> Data:
        """Return the new state of a node, sharing unchanged values."""
        below = CHILDREN[level] if level < len(CHILDREN) else None
        new: Data = {}
        for key, value in now.items():
            was = old.get(key, MISSING)
            if key == below and isinstance(value, list) and isinstance(was, list):
                new[key] = items = list(was) if nodes else was
                for index, (place, inside) in nodes.items():
                    items[index] = self._renewed(
                        was[index], value[index], inside, name=place, level=level + 1
                    )
            elif was is value or (key in kept and was is not MISSING):
                new[key] = was
            else:
                new[key] = self._shared(was, value, name, key)
        return new

    def _shared(self, was: Any, value: Any, name: str, key: str) -> Any:
        """Return a value, or the old object if the value is unchanged."""
        kind = type(value)
        if kind is dict and type(was) is dict and [*was] == [*value]:
            inside, name = {}, patch.under_key(name, key)
            for under, one in value.items():
                old = was[under]
                inside[under] = old if old is one else self._shared(old, one, name, under)
            return was if all(map(is_, inside.values(), was.values())) else inside
        if (kind is str and was == value) or patch.same(was, value):
            return was
        new = value if kind is str else _copied(value)
        self.changed.append((patch.under_key(name, key), was, new))
        return new


def excerpt(document: Data, nodes: ReachedNodes, *, level: int = 0) -> Data:
    """Return a document that contains only the nodes that an event may have changed."""
    below = CHILDREN[level] if level < len(CHILDREN) else None
    return {
        key: _some(value, nodes, level + 1)
        if key == below and isinstance(value, list)
        else value
        for key, value in document.items()
    }


def _some(items: list[Any], nodes: ReachedNodes, level: int) -> patch.SomeItems:
    return patch.SomeItems(
        {
            index: (node.name, excerpt(items[index], node.below, level=level))
            for index, node in nodes.items()
        }
    )


def _reached(tree: Tree, event: Event) -> Iterator[Node]:
    """Yield the nodes that an event of limited reach may have changed."""
    # When the pointer advances, it completes the empty nodes that it passes.
    yield from (node for node, _ in tree.empty)
    if event.reach in (Reach.NODE, Reach.BRANCH):
        node = tree.find(getattr(event, event.subject.address))
        # An observed event may name a node that does not exist.
        if node is not None:
            yield node
            yield from node.above()
            if event.reach is Reach.BRANCH:
                yield from node.walk()


def _copied(value: Any) -> Any:
    """Return a copy of a value that later events cannot modify."""
    if value is None or isinstance(value, str | int | float):
        return value
    return msgspec.msgpack.decode(msgspec.msgpack.encode(value))


class ReplayStep(NamedTuple):
    """An event, and the state file before and after it.

    The two documents share unchanged values, so they must not be modified.
    """

    event: RecordedEvent
    old: dict[str, Any]
    new: dict[str, Any]
    reached: ReachedNodes | None = None
    """The nodes that the event may have changed; None for all nodes."""

    @property
    def reason(self) -> str | None:
        """Return the reason, result or error that the event records."""
        return reason_of(self.event)

    def changes(self) -> list[patch.FieldChange]:
        """Return every changed field."""
        return patch.changes(*self._compared())

    def json_patch(self) -> list[patch.Operation]:
        """Return a JSON Patch that turns the old document into the new one."""
        return patch.diff(*self._compared())

    def _compared(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return both documents without unchanged nodes."""
        if self.old is self.new:
            return {}, {}
        if self.reached is None:
            return self.old, self.new
        return excerpt(self.old, self.reached), excerpt(self.new, self.reached)


def replay(
    workspace: ServiceWorkspace,
    sprint_id: str,
    *,
    since: str | None = None,
    until: str | None = None,
) -> Iterator[ReplayStep]:
    """Yield a sprint's events in order, each with its changes.

    The events are those after `since` up to `until`. Applying their changes in order turns
    the state at the first point into the state at the second.
    """
    last = workspace.sprint(sprint_id, at=until).version
    first = 0 if since is None else workspace.version_at(sprint_id, since)
    if first > last:
        raise InvalidInputError(
            f"version {first} of sprint {sprint_id} comes after version {last}",
            hint="specify the earlier point first",
        )
    repository = workspace.repository
    sprint = repository.at_version(sprint_id, first) if first else Sprint(sprint_id)
    shared = SharedDocument(sprint)
    rollbacks = [x for x in repository.rollbacks(sprint_id, last) if x[0] > first]
    stream = sprint_stream(sprint_id)
    events, again = tee(workspace.log.read_stream(stream, after=first, until=last))
    told = ((one.version, one.at, CODEC.decode(one)) for one in again)
    steps = walk(sprint, told, rollbacks, partial(repository.at_version, sprint_id))
    for recorded, step in zip(events, steps, strict=True):
        before = shared.document
        reached = shared.follow(step.sprint, step.event)
        yield ReplayStep(recorded, before, shared.document, reached)
