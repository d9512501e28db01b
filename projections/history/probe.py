"""One field of a document, read after each event."""

from typing import Any

import msgspec

from sprintlog.engine.log.event import Event, Reach
from sprintlog.engine.sprint.state.figures import FIGURES, figure
from sprintlog.engine.sprint.state.patch import MISSING, Path, find, index_of
from sprintlog.engine.sprint.state.queue import QUEUE
from sprintlog.engine.sprint.state.sprint import Plan, Sprint
from sprintlog.engine.sprint.state.tree import CHILDREN

from .replay import RECORDS

_COUNTERS = frozenset(FIGURES) - {"elapsed"}
_encode = msgspec.msgpack.encode


def token(value: Any) -> Any:
    """Return a token that is equal only for equal values and never changes."""
    if value is MISSING or type(value) is str:
        return value
    # The bytes distinguish 1, 1.0 and True, and the order of keys.
    return _encode(value)


def told_by(kept: Any) -> Any:
    """Return the value that a token is of."""
    return msgspec.msgpack.decode(kept) if type(kept) is bytes else kept


def line_token(value: Any) -> Any:
    """Return the token of the line of a value."""
    return type(value) if value and isinstance(value, dict | list) else token(value)


class Probe:
    """One field, followed through a history.

    What events cannot reach is not read again, and the node that a field belongs to is
    looked up again only after those that can move it.
    """

    def __init__(self, path: Path, *, is_line: bool = False) -> None:
        """Follow a field; with `is_line` of a collection only that it is there."""
        self.path = path
        self._is_line = is_line
        self._key = str(path[0])
        self._inside = path[1:]
        is_figure = self._key == "stats" and len(path) == 2
        self._figure = str(path[1]) if is_figure else None
        self._is_below = self._key in ("phases", "current") or self._figure in _COUNTERS
        self._touched = False
        self._node: Any = None
        self._rest: Path = ()
        self._address: str | None = None
        """That of the node, if it alone decides which events can change the field."""
        self._value: Any = MISSING
        self.before: Any = MISSING
        """The token of the value before the last change."""

    def concerns(self, event: Event) -> bool:
        """Return whether an event can change the field, as of the last look at it."""
        reach = event.reach
        if reach is Reach.NOTHING or reach is Reach.WHOLE:
            return reach is Reach.WHOLE
        if self._is_kept:
            return self._key == event.records
        if self._address is None:
            return True
        if reach is Reach.TOP:
            return False
        # An event on a node can also change the nodes above it, or those below.
        about = f"{getattr(event, event.subject.address)}/"
        is_below = reach is Reach.BRANCH and self._address.startswith(about)
        return is_below or about.startswith(self._address)

    def changes(self, sprint: Sprint, reach: Reach, *, records: str = "") -> bool:
        """Return whether an event with this reach changed the field.

        `records` is the list at the top that the event adds to. The first question, about
        `Reach.WHOLE`, compares with the state before any event.
        """
        if reach is Reach.NOTHING:
            return False
        plan = sprint.plan
        if reach is Reach.WHOLE or plan.touched is not self._touched:
            self._node, self._touched, self._address = None, plan.touched, None
        elif reach is Reach.TOP and self._is_below and not plan.tree.empty:
            return False
        if self._is_kept and self._key != records and reach is not Reach.WHOLE:
            return False
        value = self._read(sprint)
        if type(value) is not str:
            value = self._token(value)
        if value == self._value:
            return False
        self.before, self._value = self._value, value
        return True

    @property
    def _is_kept(self) -> bool:
        """Return whether only an event that declares it changes the field."""
        return self._key in RECORDS and self._value is not MISSING

    def _token(self, value: Any) -> Any:
        return line_token(value) if self._is_line else token(value)

    def _read(self, sprint: Sprint) -> Any:
        plan = sprint.plan
        if self._figure is not None:
            return _figure_of(plan, self._figure)
        if self._key != "phases" or not plan.touched or plan.tree.empty:
            return find(_part(sprint, self._key), self._inside)
        if self._node is None:
            self._node, self._rest = _nearest(plan.document, self.path)
            address = "/".join(
                map(str, self.path[1 : len(self.path) - len(self._rest) : 2])
            )
            node = plan.tree.find(address)
            is_it = node is not None and node.data is self._node
            self._address = f"{address}/" if is_it else None
        return find(self._node, self._rest)


def _nearest(document: Any, path: Path) -> tuple[Any, Path]:
    """Return the node that a path leads through last, and the path from there."""
    node, rest = document, path
    for key in CHILDREN:
        children = node.get(key)
        if len(rest) < 2 or rest[0] != key or not isinstance(children, list):
            break
        index = rest[1] if isinstance(rest[1], int) else index_of(children, rest[1])
        if not 0 <= index < len(children) or not isinstance(children[index], dict):
            break
        node, rest = children[index], rest[2:]
    return node, rest


def _part(sprint: Sprint, key: str) -> Any:
    """Return one field of a sprint's settled document; `MISSING` if it has none."""
    plan = sprint.plan
    if key == QUEUE:
        # The knowledge keeps the sprint's own requests; the plan has only imported ones.
        return sprint.document.get(key, MISSING)
    if plan.touched:
        plan.derive_empty()
        if key == "current":
            return plan.pointer()
        if key in ("stats", "last-activity"):
            return plan.derived_document().get(key, MISSING)
    return plan.document.get(key, MISSING)


def _figure_of(plan: Plan, name: str) -> Any:
    """Return one figure of a plan's settled document; `MISSING` if it has none."""
    stats = plan.document.get("stats")
    if plan.touched:
        plan.derive_empty()
        return figure(name, stats, plan.tree, plan.last_at)
    return stats.get(name, MISSING) if isinstance(stats, dict) else MISSING
