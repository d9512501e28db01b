"""Every line of a state file with the event that set it: `blame` for all fields at once.

A line belongs to the value that it shows; the line above a mapping or a list is there
since that came. One fold from nothing: after each event only what it reaches is compared.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event, Reach
from sprintlog.engine.service.streams.repository import Repository
from sprintlog.engine.service.workspace import ServiceWorkspace
from sprintlog.engine.sprint.document.field_path import (
    MISSING,
    named_items,
    parse_path,
    under_key,
)
from sprintlog.engine.sprint.queue.view import QUEUE
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.transitions import check_exists
from sprintlog.engine.sprint.state.tree import CHILDREN

from ..state_files.sprint_file import render
from ..state_files.yaml.writer import dump_entry, dump_item
from .blame import Setting, event_at, search
from .probe import line_token, token
from .shared import RECORDS, reached, top_after

_KEY_CHARS_MAX = 256
"""A longer key may stand on a line of its own."""
_OFTEN = {"last-activity", "stats.elapsed"}
_INDEX = re.compile(r"\[\d+\]", re.ASCII)


class Line(NamedTuple):
    """One line of a state file, and who set what it shows."""

    number: int
    text: str
    field: str
    event: RecordedEvent
    brought_back: RecordedEvent | None
    """The event in force that the value comes from, where that is another one."""


def blame_lines(workspace: ServiceWorkspace, sprint: Sprint) -> Iterator[Line]:
    """Yield the lines of a sprint's PROGRESS.yaml with the events that set them."""
    check_exists(sprint)
    texts = render(sprint).decode().split("\n")
    fields = list(line_fields(sprint.document))
    repository, last = workspace.repository, sprint.version
    settings = search_all(repository, sprint.id, set(fields), until=last)
    events: dict[int, RecordedEvent] = {}
    for number, (text, field) in enumerate(zip(texts, fields, strict=False), start=1):
        changed, set_at, _ = settings[field]
        for version in (changed, set_at):
            if version and version not in events:
                events[version] = event_at(workspace, sprint.id, version)
        origin = events.get(set_at) if set_at != changed else None
        yield Line(number, text, field, events[changed], origin)


def search_all(
    repository: Repository[Sprint], sprint_id: str, fields: set[str], *, until: int
) -> dict[str, Setting]:
    """Return for every field of the document at a version when its line last changed."""
    watch = _LineWatch()
    repository.follow(watch, repository.whole(sprint_id, until))
    found = {n: Setting(watch.changed.get(n, 0), watch.set.get(n, 0)) for n in fields}
    # What is named by an index had another name as long as an id stood there.
    others = [name for name in fields if _was_otherwise(name, watch.named)]
    others += fields & _OFTEN
    paths = [parse_path(name) for name in others]
    again = (
        search(repository, sprint_id, paths, until=until, as_lines=True) if paths else []
    )
    return {**found, **dict(zip(others, again, strict=True))}


def _was_otherwise(name: str, named: set[str]) -> bool:
    """Tell whether an index in a name once led to something that had an id."""
    ends = (found.end() for found in _INDEX.finditer(name))
    return any(end < len(name) and name[:end] in named for end in ends)


def line_fields(document: dict[str, Any]) -> Iterator[str]:
    """Yield for each line of a document's YAML the field that it shows."""
    yield from _lines_of_mapping("", document) if document else ("",)


def _lines_of_mapping(prefix: str, data: dict[str, Any]) -> Iterator[str]:
    for key, value in data.items():
        name = under_key(prefix, key)
        if value and isinstance(value, dict | list):
            yield name
            yield from _lines_below(name, value)
        elif len(key) > _KEY_CHARS_MAX or (isinstance(value, str) and "\n" in value):
            yield from [name] * dump_entry(key, value).count("\n")
        else:
            yield name


def _lines_below(name: str, value: dict[str, Any] | list[Any]) -> Iterator[str]:
    if isinstance(value, dict):
        yield from _lines_of_mapping(name, value)
        return
    for place, item in named_items(name, value):
        yield from item_fields(place, item)


def item_fields(place: str, item: Any) -> Iterator[str]:
    """Yield for each line of a list's item the field that it shows."""
    if item and isinstance(item, dict | list):
        # Its first line is also that of the item.
        yield from _lines_below(place, item)
    elif isinstance(item, str) and "\n" in item:
        yield from [place] * dump_item(item).count("\n")
    else:
        yield place


class _LineWatch:
    """Notes for every field of a document at which version it was last changed."""

    def __init__(self) -> None:
        self.changed: dict[str, int] = {}
        """In the order of the stream."""
        self.set: dict[str, int] = {}
        """On the way that is in force."""
        self.named: set[str] = set()
        """Every place, by its index, at which something with an id ever stood."""
        self._sprint = Sprint("")
        self._parts: dict[str, dict[str | None, Any]] = {}
        """By the name of a node: what is directly in it, as tokens."""
        self._fields: dict[str, dict[str, Any]] = {}
        """By the name of a collection in a node: the fields below, and what lines show."""
        self._names: dict[int, str] = {}
        """By the identity of a node's data."""
        self._changes: list[str] = []
        self._queue: Any = None

    def begin(self, sprint: Sprint) -> None:
        """Take the document before the first event."""
        self._sprint = sprint
        self._look_everywhere()
        self._changes.clear()

    def seen(self, version: int, event: Event) -> None:
        """Note which fields an event has changed."""
        if event.reach is Reach.NOTHING:
            return
        if event.reach is Reach.WHOLE:
            self._look_everywhere()
        else:
            self._look_along(event)
        for name in self._changes:
            self.changed[name] = self.set[name] = version
        self._changes.clear()

    def keep(self) -> dict[str, int]:
        """Return when each field was set that is in force now."""
        return dict(self.set)

    def went_back(self, version: int, sprint: Sprint, kept: dict[str, int] | None) -> None:
        """Note which fields a rollback has changed; it sets none itself."""
        self._sprint = sprint
        self.set = dict(kept or {})
        self._look_everywhere()
        for name in self._changes:
            self.changed[name] = version
        self._changes.clear()

    def _look_along(self, event: Event) -> None:
        """Compare the top of the document, and the nodes that an event reaches."""
        sprint = self._sprint
        top = top_after(sprint, event, queue=self._queue)
        self._queue = top.get(QUEUE)
        self._compare("", _seldom(top), 0, kept=RECORDS - {event.records})
        for node in reached(sprint.plan.tree, event):
            self._compare(self._names[id(node.data)], node.data, node.level)

    def _look_everywhere(self) -> None:
        """Compare the whole document, and forget the nodes that are gone."""
        self._names = {}
        gone = set(self._parts)
        document = self._sprint.document
        self._queue = document.get(QUEUE)
        waiting: list[tuple[str, Any, int]] = [("", _seldom(document), 0)]
        while waiting:
            name, node, level = waiting.pop()
            gone.discard(name)
            self._compare(name, node, level)
            if isinstance(node, dict):
                self._names[id(node)] = name
                below = _below(level)
                children = node.get(below)
                if isinstance(children, list):
                    inside = self._items(under_key(name, below), children)
                    waiting += [(place, item, level + 1) for place, item in inside]
        for name in gone:
            for key in self._parts.pop(name):
                self._fields.pop(_inside(name, key), None)

    def _compare(
        self, name: str, node: Any, level: int, *, kept: frozenset[str] = frozenset()
    ) -> None:
        """Compare what is directly in a node with what was there, but what is kept."""
        before, after = self._parts.get(name, {}), dict[str | None, Any]()
        # What is no mapping is compared as a whole.
        parts = node if node and isinstance(node, dict) else {None: node}
        below = _below(level)
        for key, value in parts.items():
            if key in kept and key in before:
                after[key] = before[key]
                continue
            # The nodes below are compared by themselves.
            is_children = key == below and isinstance(value, list)
            after[key] = new = line_token(value) if is_children else token(value)
            if before.get(key, MISSING) != new:
                inside = _inside(name, key)
                if is_children or not isinstance(value, dict | list):
                    self._fields.pop(inside, None)
                    self._changes.append(inside)
                else:
                    self._note(inside, value)
        for key in before.keys() - after.keys():
            self._fields.pop(_inside(name, key), None)
        self._parts[name] = after

    def _note(self, name: str, value: Any) -> None:
        """Note the fields below a collection that are others than before."""
        before, after = self._fields.get(name, {}), self._flat(name, value)
        self._changes += [f for f, shown in after.items() if before.get(f) != shown]
        self._fields[name] = after

    def _flat(self, name: str, value: Any) -> dict[str, Any]:
        """Return the fields below a value, each with what its line shows."""
        fields, waiting = {}, [(name, value)]
        while waiting:
            name, value = waiting.pop()
            fields[name] = line_token(value)
            if isinstance(value, dict):
                waiting += [(under_key(name, key), x) for key, x in value.items()]
            elif isinstance(value, list):
                waiting += self._items(name, value)
        return fields

    def _items(self, name: str, items: list[Any]) -> list[tuple[str, Any]]:
        """Return the items of a list by their names."""
        found = list(named_items(name, items))
        by_index = (f"{name}[{index}]" for index in range(len(items)))
        self.named |= {
            at for at, (place, _) in zip(by_index, found, strict=True) if at != place
        }
        return found


def _seldom(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document without what nearly every event sets."""
    view = dict(document)
    view.pop("last-activity", None)
    stats = view.get("stats")
    if isinstance(stats, dict) and len(stats) > 1:
        # Something is left of it, so that its own line stays what it was.
        view["stats"] = {name: x for name, x in stats.items() if name != "elapsed"}
    return view


def _inside(name: str, key: str | None) -> str:
    return name if key is None else under_key(name, key)


def _below(level: int) -> str:
    return CHILDREN[level] if level < len(CHILDREN) else ""
