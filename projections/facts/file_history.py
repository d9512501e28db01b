"""The state file at every version, with the version that set each line.

Each version stores its changes: the removed lines and the added lines. Applying the changes
in order produces the file's text at each version.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from sprintlog.engine.log.event import Event
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import RolledBack
from sprintlog.engine.sprint.state.patch import named_items
from sprintlog.engine.sprint.state.sprint import Sprint

from ..history.blame_lines import blame_lines, item_fields, line_fields
from ..history.replay import Replay
from ..state_files.yaml.writer import dump_entry, dump_item
from ..text.phrases import milliseconds
from ..workspace import Workspace

VERSIONS_MAX = 600
"""The number of newest versions that can be viewed."""
LINES_MAX = 4_000_000
"""The maximum number of versions times lines; large plans have fewer visible versions."""
PHASES = "phases"
Maker = Callable[[], list[tuple[str, str]]]
"""Makes the lines of a part: the field and the text of each line."""


class FileLine(NamedTuple):
    """A line of the file at a version."""

    field: str
    text: str
    changed: int
    """The version that last changed the value on the line."""
    set: int
    """The effective version that set the value; it differs after a rollback."""


class Splice(NamedTuple):
    """Lines removed at an index, and the lines that replace them."""

    at: int
    gone: int
    came: list[FileLine]


class FileVersion(NamedTuple):
    """A version of the file: its event and its changes."""

    version: int
    at: str
    type: str
    actor: str
    splices: list[Splice]

    @property
    def milliseconds(self) -> int | None:
        """Return the version's time in milliseconds since 1970; None if it is invalid."""
        return milliseconds(self.at)


class FileHistory(NamedTuple):
    """The file at consecutive versions."""

    first: int
    """The version of the file in `lines`; 0 if there is none."""
    lines: list[FileLine]
    versions: list[FileVersion]

    def lines_at(self, version: int) -> list[FileLine]:
        """Return the file's lines at a version."""
        found = list(self.lines)
        for one in self.versions[: version - self.first]:
            for at, gone, came in one.splices:
                found[at : at + gone] = came
        return found

    def newest(self, count: int) -> "FileHistory":
        """Return a history that contains only the newest versions."""
        first = self.first + max(len(self.versions) - count, 0)
        if first == self.first:
            return self
        return FileHistory(first, self.lines_at(first), self.versions[first - self.first :])


class FollowedFile:
    """A sprint's state file, followed from version to version."""

    def __init__(self) -> None:
        self._file = _File()
        self._history: FileHistory | None = None
        self._replay: Replay | None = None

    def follow(self, workspace: Workspace, sprint: Sprint) -> FileHistory:
        """Extend the file's history to a sprint's version, and return the history."""
        first, until = _first_of(sprint), sprint.version
        history = self._history
        replay = self._replay
        if history is None or replay is None or not first <= _last_of(history) <= until:
            history = self._begun(workspace, sprint, first)
            replay = self._replay = Replay(workspace, sprint.id, first)
        for step in replay.until(until):
            event, back = step.event, None
            if event.type == RolledBack.type:
                back = _setters(history, CODEC.decode(event), event.version)
            splices = self._file.follow(event.version, step.new, back)
            history.versions.append(
                FileVersion(event.version, event.at, event.type, event.actor, splices)
            )
        self._history = history.newest(until - first)
        return self._history

    def _begun(self, workspace: Workspace, sprint: Sprint, first: int) -> FileHistory:
        self._file = _File()
        if not first:
            return FileHistory(0, [], [])
        there = workspace.repository.at_version(sprint.id, first)
        lines = [_blamed(line) for line in blame_lines(workspace, there)]
        self._file.begin(there.document, lines)
        return FileHistory(first, lines, [])


def _first_of(sprint: Sprint) -> int:
    """Return the version after which the history of a sprint's file starts."""
    count = sum(1 for _ in line_fields(sprint.document))
    return max(sprint.version - max(min(VERSIONS_MAX, LINES_MAX // max(count, 1)), 1), 0)


def _last_of(history: FileHistory) -> int:
    return history.first + len(history.versions)


def _setters(history: FileHistory, event: Event, version: int) -> dict[str, int]:
    """Return, for each field, the version that had set it at the rollback's target.

    The result is empty if the target precedes the history.
    """
    assert isinstance(event, RolledBack)
    if not history.first <= event.to < version:
        return {}
    return {line.field: line.set for line in history.lines_at(event.to)}


def _blamed(line: Any) -> FileLine:
    origin = line.brought_back
    set_at = line.event.version if origin is None else origin.version
    return FileLine(line.field, line.text, line.event.version, set_at)


class _Part(NamedTuple):
    """A top-level field or a phase: its value and its lines."""

    value: Any
    lines: list[FileLine]


_NO_PART = _Part(object(), [])


class _File:
    """A document's lines, split into parts so that unchanged parts can be reused."""

    def __init__(self) -> None:
        self._parts: dict[str, _Part] = {}

    def begin(self, document: dict[str, Any], lines: Sequence[FileLine]) -> None:
        """Store a document's lines, which are already known."""
        known = iter(lines)
        for name, value, made in _parts_of(document):
            self._parts[name] = _Part(value, [next(known) for _ in made()])

    def follow(
        self, version: int, document: dict[str, Any], back: dict[str, int] | None
    ) -> list[Splice]:
        """Update the lines to a new version of the document, and return the changes.

        For a rollback, `back` maps fields to the versions that set them. Each splice's
        index refers to the lines after all previous splices.
        """
        parts: dict[str, _Part] = {}
        before = self._parts
        for name, value, made in _parts_of(document):
            part = before.get(name, _NO_PART)
            if part.value is not value or back is not None:
                part = _Part(value, _renewed(part.lines, made(), version, back))
            parts[name] = part
        self._parts = parts
        is_moved = [n for n in before if n in parts] != [n for n in parts if n in before]
        if is_moved:
            return _splices(_lines_of(before), _lines_of(parts), 0)
        splices, at = list[Splice](), 0
        for name in _merged([*before], [*parts]):
            old, new = (both.get(name, _NO_PART).lines for both in (before, parts))
            if old is not new:
                splices += _splices(old, new, at)
            at += len(new)
        return splices


def _lines_of(parts: dict[str, _Part]) -> list[FileLine]:
    return [line for part in parts.values() for line in part.lines]


def _merged(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield each name from the two lists once, in an order consistent with both lists."""
    waiting = iter(old)
    known, there = {*old}, {*new}
    pending = next(waiting, None)
    for name in new:
        while pending is not None and pending not in there:
            yield pending
            pending = next(waiting, None)
        if name in known and pending is not None:
            pending = next(waiting, None)
        yield name
    while pending is not None:
        yield pending
        pending = next(waiting, None)


def _parts_of(document: dict[str, Any]) -> Iterator[tuple[str, Any, Maker]]:
    """Yield the parts of a document: name, value, and a function that creates the lines."""
    for key, value in document.items():
        if key == PHASES and value and isinstance(value, list):
            yield key, PHASES, lambda: [(PHASES, f"{PHASES}:")]
            for place, item in named_items(key, value):
                yield place, item, partial(_item, place, item)
        else:
            yield key, value, partial(_entry, key, value)
    if not document:
        yield "", None, lambda: [("", "{}")]


def _entry(key: str, value: Any) -> list[tuple[str, str]]:
    return [
        *zip(line_fields({key: value}), dump_entry(key, value).split("\n"), strict=False)
    ]


def _item(place: str, item: Any) -> list[tuple[str, str]]:
    return [*zip(item_fields(place, item), dump_item(item).split("\n"), strict=False)]


def _renewed(
    old: list[FileLine],
    made: list[tuple[str, str]],
    version: int,
    back: dict[str, int] | None,
) -> list[FileLine]:
    """Return the lines of a part; unchanged fields keep their line objects."""
    known: dict[str, list[FileLine]] = {}
    for line in old:
        known.setdefault(line.field, []).append(line)
    texts: dict[str, list[str]] = {}
    for field, text in made:
        texts.setdefault(field, []).append(text)
    places: dict[str, int] = {}
    found = []
    for field, text in made:
        stood = known.get(field, [])
        index = places[field] = places.get(field, -1) + 1
        if [line.text for line in stood] == texts[field]:
            line = stood[index]
        else:
            line = FileLine(field, text, version, version)
        if back is not None and (set_at := back.get(field, line.set)) != line.set:
            line = line._replace(set=set_at)
        found.append(line)
    return found


def _splices(old: Sequence[FileLine], new: Sequence[FileLine], at: int) -> list[Splice]:
    """Return the splices that turn the old lines into the new ones, from top to bottom."""
    if len(old) == len(new):
        found: list[Splice] = []
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            if before is after or before == after:
                continue
            if found and found[-1].at + found[-1].gone == at + index:
                last = found.pop()
                found.append(Splice(last.at, last.gone + 1, [*last.came, after]))
            else:
                found.append(Splice(at + index, 1, [after]))
        return found
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    most = min(len(old), len(new)) - head
    while tail < most and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    came = list(new[head : len(new) - tail])
    return [Splice(at + head, len(old) - tail - head, came)]
