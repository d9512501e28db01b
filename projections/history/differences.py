"""Differences between two points (by field, as JSON Patch or by line), and previews."""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from difflib import unified_diff
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.journal.document import fold_document
from sprintlog.engine.log.event import Event, Versioned
from sprintlog.engine.service.workspace import ServiceWorkspace
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.state.patch import FieldChange, Operation, changes, diff
from sprintlog.engine.sprint.state.sprint import pack, unpack

from .blame_files import STATE_FILES, Standing, StateFile, journal_data

_ALWAYS = {"last-activity", "stats.elapsed"}
"""Fields that nearly every event sets and that are therefore omitted."""


def preview(
    workspace: ServiceWorkspace, sprint_id: str, events: Sequence[Event], *, at: str
) -> list[FieldChange]:
    """Return the changes that events would make to PROGRESS.yaml; record nothing."""
    sprint = workspace.sprint(sprint_id)
    after = fold(unpack(pack(sprint)), _numbered(events, sprint.version, at))
    found = changes(sprint.document, after.document)
    return [change for change in found if change.field not in _ALWAYS]


def preview_journal(
    workspace: ServiceWorkspace, events: Sequence[Event], *, at: str
) -> list[FieldChange]:
    """Return the changes that events would make to progress.json; record nothing."""
    journal = workspace.document()
    after = fold_document(deepcopy(journal), _numbered(events, journal.version, at))
    return changes(journal_data(journal), journal_data(after))


def _numbered(events: Sequence[Event], version: int, at: str) -> Iterable[Versioned]:
    # Folding modifies the events.
    news = enumerate(deepcopy(list(events)), version + 1)
    return ((number, at, event) for number, event in news)


_CONTEXT_CHARS = 12


class Difference(NamedTuple):
    """A state file at two points in the log."""

    file: StateFile
    old: Standing
    new: Standing

    def changes(self) -> list[FieldChange]:
        """Return every field that differs, in document order."""
        return changes(self.old.document, self.new.document)

    def json_patch(self) -> list[Operation]:
        """Return a JSON Patch that turns the old document into the new one."""
        return diff(self.old.document, self.new.document)

    def unified(self) -> str:
        """Return the unified diff of the file's text, or "" if nothing differs."""
        old, new = (
            self.file.text(standing.document).splitlines(keepends=True)
            for standing in (self.old, self.new)
        )
        return "".join(unified_diff(old, new, self._named(self.old), self._named(self.new)))

    def _named(self, standing: Standing) -> str:
        return f"{self.file.path}\t{standing.subject} version {standing.version}"


def difference(
    workspace: ServiceWorkspace,
    old: str,
    new: str | None = None,
    *,
    sprint_id: str | None = None,
    file: str = "progress",
) -> Difference:
    """Return a state file as of two points in the log; `new` defaults to the present.

    A point has one of the formats in `points.FORMS`. The prefix `SPRINT@` selects a point
    of that sprint; `SPRINT@` alone means the sprint's current state.
    """
    chosen = STATE_FILES.get(file)
    if chosen is None:
        raise NotFoundError(
            f"there is no state file {file[:60]!r}; available: {', '.join(STATE_FILES)}"
        )
    first, at = _split(old, sprint_id)
    second, until = _split(new or "", sprint_id)
    return Difference(
        chosen, chosen.read(workspace, first, at), chosen.read(workspace, second, until)
    )


def _split(point: str, sprint_id: str | None) -> tuple[str | None, str | None]:
    """Split a point such as `SPRINT@POINT` into the sprint and the point."""
    named, at, rest = point.rpartition("@")
    return (named if at else sprint_id), rest or None


def told(change: FieldChange, *, chars_max: int = 72) -> str:
    """Return a change as one readable line; long values are truncated."""
    texts = [shown(value) for value in (change.old, change.new)]
    # Without this, only the common beginning of two long texts would be visible.
    pairs = enumerate(zip(*texts, strict=False))
    apart = next((at for at, (one, other) in pairs if one != other), min(map(len, texts)))
    if max(map(len, texts)) > chars_max and apart > _CONTEXT_CHARS:
        texts = [f"…{text[apart - _CONTEXT_CHARS :]}" for text in texts]
    old, new = (cut(text, chars_max) for text in texts)
    match change.what:
        case "added":
            return f"{change.field}: + {new}"
        case "removed":
            return f"{change.field}: - {old}"
        case "moved":
            return f"{change.field}: reordered"
        case _:
            return f"{change.field}: {old} → {new}"


def cut(text: str, chars_max: int = 72) -> str:
    """Return the text, truncated with an ellipsis if it exceeds a maximum length."""
    return text if len(text) <= chars_max else f"{text[: chars_max - 1]}…"


def shown(value: Any) -> str:
    """Return a value on one line; text is unquoted unless it would be ambiguous."""
    if isinstance(value, str) and value and not _is_json(value):
        return value
    return msgspec.json.encode(value).decode()


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True
