"""Blame for state files: who set each field or line, for each file that `diff` compares."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.journal.document import JournalDocument, fold_document
from sprintlog.engine.journal.parts import ClosedObject
from sprintlog.engine.judging.tracker import TAKE
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event, Kind, Reach
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.service.streams.evaluation import evaluate
from sprintlog.engine.service.workspace import JOURNAL, ServiceWorkspace
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.state.patch import MISSING, Path, find, parse_path
from sprintlog.engine.sprint.state.transitions import check_exists

from ..state_files import progress_json
from ..state_files.progress_json import as_json
from ..state_files.tracker import tracker_data
from ..state_files.yaml.writer import dump
from .blame import Blame, blamed, event_at, token, told_by


class Standing(NamedTuple):
    """The contents of a state file at a point in the log."""

    subject: str
    """The owner of the file: a sprint id or the journal."""
    version: int
    """The version of the stream from which the file is derived."""
    document: dict[str, Any]


class StateFile(NamedTuple):
    """A file derived from the log."""

    path: str
    """The name of the file on disk."""
    read: Callable[[ServiceWorkspace, str | None, str | None], Standing]
    """A function from a workspace, an owner and a point to the contents."""
    text: Callable[[dict[str, Any]], str]
    """A function from the contents to the text."""


def _progress(
    workspace: ServiceWorkspace, sprint_id: str | None, at: str | None
) -> Standing:
    sprint = workspace.sprint(workspace.choose(sprint_id), at=at)
    check_exists(sprint)
    return Standing(sprint.id, sprint.version, sprint.document)


def _best(workspace: ServiceWorkspace, sprint_id: str | None, at: str | None) -> Standing:
    sprint = workspace.sprint(workspace.choose(sprint_id), at=at)
    check_exists(sprint)
    return Standing(
        sprint.id, sprint.version, tracker_data(evaluate(workspace.log, sprint))
    )


def _journal(
    workspace: ServiceWorkspace, sprint_id: str | None, at: str | None
) -> Standing:
    journal = workspace.document(at=at)
    return Standing(journal.id, journal.version, journal_data(journal))


def journal_data(journal: JournalDocument) -> dict[str, Any]:
    """Return the contents of progress.json as plain data."""
    data: dict[str, Any] = _plain(progress_json.as_data(journal))
    return data


STATE_FILES: dict[str, StateFile] = {
    "progress": StateFile("PROGRESS.yaml", _progress, dump),
    "best": StateFile("best iteration", _best, dump),
    "journal": StateFile("progress.json", _journal, lambda x: as_json(x).decode()),
}


def _says_of_iterations(event: type[Event]) -> bool:
    """Return whether events of this type may concern an iteration."""
    is_beside = (
        event.reach in (Reach.NODE, Reach.BRANCH) or event.subject.word == f.REQUEST.word
    )
    is_about = event.kind is not Kind.KNOWLEDGE and not (event.is_quiet or is_beside)
    return event in TAKE or is_about


def blame_journal(
    workspace: ServiceWorkspace, fields: Sequence[str], *, at: str | None = None
) -> Iterator[Blame]:
    """Yield the blame for each given field of progress.json.

    Raise `InvalidInputError` for an invalid field name, and `NotFoundError` for a field
    that never existed.
    """
    paths = [parse_path(field) for field in fields]
    until = workspace.document(at=at).version
    document = JournalDocument()
    values: dict[Path, Any] = dict.fromkeys(paths, MISSING)
    changed: dict[Path, tuple[RecordedEvent, Any]] = {}
    for event in workspace.log.read_stream(JOURNAL, until=until):
        fold_document(document, [(event.version, event.at, CODEC.decode(event))])
        for path, before in values.items():
            if (value := _held(document, path)) != before:
                values[path], changed[path] = value, (event, before)
    whole = journal_data(document)
    for field, path in zip(fields, paths, strict=True):
        if path not in changed:
            raise _never_there("progress.json", field, whole)
        event, before = changed[path]
        yield blamed(workspace, field, (find(whole, path), _value_of(before)), event)


def blame_best(
    workspace: ServiceWorkspace,
    sprint_id: str,
    fields: Sequence[str],
    *,
    at: str | None = None,
) -> Iterator[Blame]:
    """Yield the blame for each given field of the best iteration.

    Raise `InvalidInputError` for an invalid field name, and `NotFoundError` for a field
    that never existed.
    """
    sprint = workspace.sprint(sprint_id, at=at)
    check_exists(sprint)
    events = workspace.log.read_stream(sprint_stream(sprint_id), until=sprint.version)
    telling = {event.type for event in f.EVENTS if _says_of_iterations(event)}
    versions = [0, *(event.version for event in events if event.type in telling)]

    @cache
    def known(version: int) -> dict[str, Any]:
        if not version:
            return {}
        state = workspace.repository.at_version(sprint_id, version)
        return tracker_data(evaluate(workspace.log, state))

    def last_change(path: Path, until: int) -> tuple[int, int]:
        """Return the last version to change the field, and the preceding one, or zeros."""
        there = reversed([version for version in versions if version <= until])
        return next((x for x in pairwise(there) if not same(path, *x)), (0, 0))

    def same(path: Path, one: int, other: int) -> bool:
        return bool(token(find(known(one), path)) == token(find(known(other), path)))

    for field in fields:
        path = parse_path(field)
        changed, before = last_change(path, sprint.version)
        if not changed:
            raise _never_there("the best iteration", field, known(sprint.version))
        recorded = event_at(workspace, sprint_id, changed)
        event, origin = CODEC.decode(recorded), None
        if isinstance(event, f.RolledBack) and same(path, event.to, changed):
            back, _ = last_change(path, event.to)
            origin = event_at(workspace, sprint_id, back) if back else None
        values = find(known(changed), path), find(known(before), path)
        yield blamed(workspace, field, values, recorded, brought_back=origin)


def _held(document: JournalDocument, path: Path) -> Any:
    """Return the token of a journal field, or a copy of a list field."""
    key = str(path[0])
    held = getattr(document, key) if key in JournalDocument.__struct_fields__ else None
    if isinstance(held, list) and len(path) == 1:
        # Copied, because the list keeps growing and the token must not change.
        return [*held] or MISSING
    if isinstance(held, list):
        item = _item(document, *path[:2])
        if item is None:
            return MISSING
        return token(find(_plain(progress_json.written(item)), path[2:]))
    data = {**document.extra, "version": document.schema}
    data["created_at"] = document.created_at
    data["project_name"] = document.project_name or MISSING
    return token(find(data, path))


def _value_of(kept: Any) -> Any:
    """Return the value of a token, or a list in the file's format."""
    if isinstance(kept, list):
        return _plain([progress_json.written(item) for item in kept])
    return told_by(kept)


def _plain(data: Any) -> Any:
    """Return the data as plain JSON values, as in the file."""
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


def _never_there(file: str, field: str, whole: Any) -> NotFoundError:
    return NotFoundError(
        f"{file} does not have a field {field[:80]} and never had one",
        hint=f"its top-level fields are {', '.join(whole)}" if whole else None,
        field=field,
    )
