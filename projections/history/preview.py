"""What a state file would say otherwise if some events were recorded."""

from collections.abc import Iterable, Sequence
from copy import deepcopy

from sprintlog.engine.journal.document import fold_document
from sprintlog.engine.log.event import Event, Versioned
from sprintlog.engine.service.workspace import ServiceWorkspace
from sprintlog.engine.sprint.document.field_path import FieldChange, changes
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.state.sprint import pack, unpack

from .files import journal_data

_ALWAYS = {"last-activity", "stats.elapsed"}
"""Fields that nearly every event sets: nobody asks for them."""


def preview(
    workspace: ServiceWorkspace, sprint_id: str, events: Sequence[Event], *, at: str
) -> list[FieldChange]:
    """Return which fields of PROGRESS.yaml events would set; nothing is recorded."""
    sprint = workspace.sprint(sprint_id)
    after = fold(unpack(pack(sprint)), _numbered(events, sprint.version, at))
    found = changes(sprint.document, after.document)
    return [change for change in found if change.field not in _ALWAYS]


def preview_journal(
    workspace: ServiceWorkspace, events: Sequence[Event], *, at: str
) -> list[FieldChange]:
    """Return which fields of progress.json events would set; nothing is recorded."""
    journal = workspace.document()
    new = _numbered(events, journal.version, at)
    after = fold_document(deepcopy(journal), new)
    return changes(journal_data(journal), journal_data(after))


def _numbered(events: Sequence[Event], version: int, at: str) -> Iterable[Versioned]:
    # A fold changes what it takes in.
    news = enumerate(deepcopy(list(events)), version + 1)
    return ((number, at, event) for number, event in news)
