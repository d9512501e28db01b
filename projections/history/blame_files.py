"""Who set a field of progress.json, or of what is known of the best iteration.

By the same definition as for PROGRESS.yaml: the last version at which the value differs
from the one before.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.iterations.tracker import TAKE
from sprintlog.engine.journal.document import JournalDocument, fold_document
from sprintlog.engine.journal.state.shapes import ClosedObject
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event, Kind, Reach
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.service.streams.judged import evaluate
from sprintlog.engine.service.workspace import JOURNAL, ServiceWorkspace
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.document.field_path import MISSING, Path, find, parse_path
from sprintlog.engine.sprint.state.transitions import check_exists

from ..iterations.tracker import tracker_data
from ..state_files import progress_json
from .blame import Blame, blamed, event_at
from .probe import token, told_by


def _says_of_iterations(event: type[Event]) -> bool:
    """Tell whether an event may say something of an iteration."""
    is_beside = (
        event.reach in (Reach.NODE, Reach.BRANCH) or event.subject.word == f.REQUEST.word
    )
    is_about = event.kind is not Kind.KNOWLEDGE and not (event.is_quiet or is_beside)
    return event in TAKE or is_about


def blame_journal(
    workspace: ServiceWorkspace, fields: Sequence[str], *, at: str | None = None
) -> Iterator[Blame]:
    """Yield who set each of some fields of progress.json.

    Raise `InvalidInputError` for what names no field, `NotFoundError` for a field that
    was never there, and where there is no journal.
    """
    paths = [parse_path(field) for field in fields]
    until = workspace.document(at=at).version
    document = JournalDocument()
    probes = [_Probe(path) for path in paths]
    changed: list[tuple[RecordedEvent, Any] | None] = [None] * len(probes)
    for event in workspace.log.read_stream(JOURNAL, until=until):
        fold_document(document, [(event.version, event.at, CODEC.decode(event))])
        for index, probe in enumerate(probes):
            before = probe.last
            if probe.changes(document):
                changed[index] = event, before
    whole = _plain(progress_json.as_data(document))
    for field, path, found in zip(fields, paths, changed, strict=True):
        if found is None:
            raise _never_there("progress.json", field, whole)
        event, before = found
        values = find(whole, path), _value_of(before)
        yield blamed(workspace, field, values, event)


def blame_best(
    workspace: ServiceWorkspace,
    sprint_id: str,
    fields: Sequence[str],
    *,
    at: str | None = None,
) -> Iterator[Blame]:
    """Yield who set each of some fields of what is known of the best iteration.

    Raise `InvalidInputError` for what names no field, `NotFoundError` for a field that
    was never there.
    """
    paths = [parse_path(field) for field in fields]
    sprint = workspace.sprint(sprint_id, at=at)
    check_exists(sprint)
    versions = _telling(workspace, sprint_id, sprint.version)
    told = _Told(workspace, sprint_id)
    for field, path in zip(fields, paths, strict=True):
        before, changed = _last_change(told, versions, path)
        if not changed:
            raise _never_there("the best iteration", field, told.whole(sprint.version))
        recorded = event_at(workspace, sprint_id, changed)
        origin = None
        event = CODEC.decode(recorded)
        if isinstance(event, f.RolledBack) and told.same(path, event.to, changed):
            there = [version for version in versions if version <= event.to]
            if back := _last_change(told, there, path)[1]:
                origin = event_at(workspace, sprint_id, back)
        values = told.value(path, changed), told.value(path, before)
        yield blamed(workspace, field, values, recorded, brought_back=origin)


class _Told:
    """What is known of the best iteration at some versions of a sprint."""

    def __init__(self, workspace: ServiceWorkspace, sprint_id: str) -> None:
        self._workspace = workspace
        self._sprint_id = sprint_id
        self._documents: dict[int, dict[str, Any]] = {0: {}}

    def value(self, path: Path, version: int) -> Any:
        """Return a field at a version; 0 stands for before the first."""
        return find(self.whole(version), path)

    def whole(self, version: int) -> dict[str, Any]:
        """Return all that is known at a version."""
        if version not in self._documents:
            sprint = self._workspace.repository.at_version(self._sprint_id, version)
            self._documents[version] = tracker_data(evaluate(self._workspace.log, sprint))
        return self._documents[version]

    def same(self, path: Path, one: int, other: int) -> bool:
        """Tell whether a field is the same at two versions."""
        return bool(token(self.value(path, one)) == token(self.value(path, other)))


class _Probe:
    """One field of a journal, followed through its history."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._item: ClosedObject | None = None
        self.last: Any = MISSING
        """The token of the field, or the list that it is, when it was asked for last."""
        self._read: Callable[[JournalDocument], Any] = self._of_item
        if len(path) < 2 or path[0] not in ("entries", "learnings", "patterns"):
            self._read = (
                self._of_list
                if path[0] in JournalDocument.__struct_fields__
                else self._of_top
            )

    def changes(self, document: JournalDocument) -> bool:
        """Tell whether the field is another than it was when this was asked last."""
        value = self._read(document)
        if value == self.last:
            return False
        self.last = value
        return True

    def _of_item(self, document: JournalDocument) -> Any:
        item = _item(document, *self._path[:2])
        if item is self._item and item is not None:
            return self.last
        self._item = item
        if item is None:
            return MISSING
        return token(find(_plain(progress_json.written(item)), self._path[2:]))

    def _of_list(self, document: JournalDocument) -> Any:
        held = getattr(document, str(self._path[0]))
        # A list goes on growing: what was compared last must not grow with it.
        return (list(held) or MISSING) if isinstance(held, list) else self._of_top(document)

    def _of_top(self, document: JournalDocument) -> Any:
        data = {**document.extra, "version": document.schema}
        data["created_at"] = document.created_at
        data["project_name"] = document.project_name or MISSING
        return token(find(data, self._path))


def _value_of(kept: Any) -> Any:
    """Return the value of a token, or a list as the file has it."""
    if isinstance(kept, list):
        return _plain([progress_json.written(item) for item in kept])
    return told_by(kept)


def _plain(data: Any) -> Any:
    """Return data as the file has it, where lists are lists."""
    return msgspec.json.decode(msgspec.json.encode(data))


def _item(document: JournalDocument, key: Any, step: Any) -> ClosedObject | None:
    items: Sequence[ClosedObject] = getattr(document, key)
    if isinstance(step, int):
        return items[step] if step < len(items) else None
    if key == "entries":
        return document.entry(step)
    if key == "learnings":
        return document.learning(step)
    return next((pattern for pattern in document.patterns if pattern.id == step), None)


def _telling(workspace: ServiceWorkspace, sprint_id: str, until: int) -> list[int]:
    """Return the versions that can say something of an iteration."""
    events = workspace.log.read_stream(sprint_stream(sprint_id), until=until)
    telling = {event.type for event in f.EVENTS if _says_of_iterations(event)}
    return [recorded.version for recorded in events if recorded.type in telling]


def _last_change(told: _Told, versions: Sequence[int], path: Path) -> tuple[int, int]:
    """Return the last version at which a field differs, and first the one before.

    Both are 0 where there is none.
    """
    for before, version in reversed(list(zip([0, *versions], versions, strict=False))):
        if not told.same(path, before, version):
            return before, version
    return 0, 0


def _never_there(file: str, field: str, whole: Any) -> NotFoundError:
    return NotFoundError(
        f"{file} has no field {field[:80]}, and never had",
        hint=f"at its top it has {', '.join(whole)}" if whole else None,
        field=field,
    )
