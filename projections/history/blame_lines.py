"""Every line of a state file with the event that set it, as printed by `why --all`.

A line belongs to the value that it shows. The line above a mapping or list is attributed to
the event that added the mapping or list. The stream is folded once from the start; after
each event, only the fields within the event's reach are compared.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event, Reach
from sprintlog.engine.service.streams.repository import Repository
from sprintlog.engine.service.workspace import ServiceWorkspace
from sprintlog.engine.sprint.state import patch as field_paths
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.transitions import check_exists

from ..state_files.sprint_file import render
from ..state_files.yaml.writer import dump_entry, dump_items
from .blame import Setting, changes_in, event_at, line_token, search
from .replay import SharedDocument

_KEY_CHARS_MAX = 256
"""A longer key may be written on a separate line."""
_INDEX = re.compile(r"\[\d+\]", re.ASCII)


class Line(NamedTuple):
    """A line of a state file, and the event that set its value."""

    number: int
    text: str
    field: str
    event: RecordedEvent
    brought_back: RecordedEvent | None
    """The effective event that the value comes from, if it is another event."""


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
    """Return when each field's line in the document last changed, as of a version."""
    stretch = repository.whole(sprint_id, until)
    imports = repository.imports(sprint_id, until)
    watch, each = _LineWatch(sprint_id), _LineWatch(sprint_id)
    changed, set_at = changes_in(repository, stretch, imports, watch, each)
    found = {name: Setting(changed.get(name, 0), set_at.get(name, 0)) for name in fields}
    # While the item had an id, a path with its index referred to another item.
    others = [name for name in fields if _was_otherwise(name, watch.named)]
    paths = [field_paths.parse_path(name) for name in others]
    again = (
        search(repository, sprint_id, paths, until=until, as_lines=True) if paths else []
    )
    return {**found, **dict(zip(others, again, strict=True))}


def _was_otherwise(name: str, named: set[str]) -> bool:
    """Return whether an index in a field name once referred to an item with an id."""
    ends = (found.end() for found in _INDEX.finditer(name))
    return any(end < len(name) and name[:end] in named for end in ends)


def line_fields(document: dict[str, Any]) -> Iterator[str]:
    """Yield the field that each line of a document's YAML shows."""
    yield from _lines_of_mapping("", document) if document else ("",)


def _lines_of_mapping(prefix: str, data: dict[str, Any]) -> Iterator[str]:
    for key, value in data.items():
        name = field_paths.under_key(prefix, key)
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
    for place, item in field_paths.named_items(name, value):
        yield from item_fields(place, item)


def item_fields(place: str, item: Any) -> Iterator[str]:
    """Yield the field that each line of a list item shows."""
    if item and isinstance(item, dict | list):
        # The item's first line also belongs to the first nested field.
        yield from _lines_below(place, item)
    elif isinstance(item, str) and "\n" in item:
        yield from [place] * dump_items([item]).count(b"\n")
    else:
        yield place


class _LineWatch:
    """Watches every field of a document."""

    def __init__(self, sprint_id: str) -> None:
        self.named: set[str] = set()
        """All index-based paths whose items ever had an id."""
        self._shared = SharedDocument(Sprint(sprint_id))

    def concerns(self, event: Event) -> bool:
        """Return whether an event can change any field."""
        return event.reach is not Reach.NOTHING

    def changes(self, sprint: Sprint, event: Event | None = None) -> Iterator[str]:
        """Yield the fields whose lines changed."""
        old = self._shared.document
        if event is None:
            self._shared.replace(sprint)
        elif self._shared.follow(sprint, event) is not None:
            for place, was, value in self._shared.changed:
                if isinstance(value, dict | list):
                    yield from self._changes(place, was, value)
                else:
                    yield place
            return
        yield from self._changes("", old, self._shared.document)

    def _changes(self, name: str, old: Any, new: Any) -> Iterator[str]:
        """Yield the fields in a value whose lines changed."""
        if line_token(old) != line_token(new):
            yield name
        if not isinstance(new, dict | list):
            return
        before = self._inside(name, old) if type(old) is type(new) else {}
        is_mapping = isinstance(new, dict)
        for key, value in self._inside(name, new).items():
            was = before.get(key, field_paths.MISSING)
            if was is not value and not (was == value and type(value) is type(was) is str):
                place = field_paths.under_key(name, key) if is_mapping else key
                yield from self._changes(place, was, value)

    def _inside(self, name: str, value: Any) -> dict[str, Any]:
        """Return a value's direct children by key, or a list's items by name."""
        if isinstance(value, dict):
            return value
        if not isinstance(value, list):
            return {}
        places = [place for place, _ in field_paths.named_items(name, value)]
        by_index = (f"{name}[{index}]" for index in range(len(value)))
        self.named |= {at for at, x in zip(by_index, places, strict=True) if at != x}
        return dict(zip(places, value, strict=True))
