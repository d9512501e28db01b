"""The state files that can be read as of any point, by their name.

A further file joins with one line in `STATE_FILES`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from sprintlog.engine.service.workspace import ServiceWorkspace
from sprintlog.engine.sprint.state.transitions import check_exists

from ..state_files.yaml.writer import dump

if TYPE_CHECKING:
    from sprintlog.engine.journal.document import JournalDocument


class Standing(NamedTuple):
    """What a state file says at a point."""

    subject: str
    """Whose file it is: a sprint's id, or the journal."""
    version: int
    """The version of the stream that it follows from."""
    document: dict[str, Any]


class StateFile(NamedTuple):
    """A file that follows from the log."""

    path: str
    """How it is called where it is written."""
    read: Callable[[ServiceWorkspace, str | None, str | None], Standing]
    """From a workspace, whose file and a point to what it says there."""
    text: Callable[[dict[str, Any]], str]
    """From what it says to its text."""


def _progress(
    workspace: ServiceWorkspace, sprint_id: str | None, at: str | None
) -> Standing:
    sprint = workspace.sprint(workspace.choose(sprint_id), at=at)
    check_exists(sprint)
    return Standing(sprint.id, sprint.version, sprint.document)


def _best(workspace: ServiceWorkspace, sprint_id: str | None, at: str | None) -> Standing:
    # Imported here: whoever compares sprints needs none of the judging.
    from sprintlog.engine.service.streams.judged import evaluate

    from ..judging.tracker import tracker_data

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


def journal_data(journal: "JournalDocument") -> dict[str, Any]:
    """Return what progress.json says, as plain data."""
    # Imported here: whoever compares sprints needs none of the journal.
    from ..state_files.progress_json import as_data

    data: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(as_data(journal)))
    return data


def _as_json(document: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


STATE_FILES: dict[str, StateFile] = {
    "progress": StateFile("PROGRESS.yaml", _progress, dump),
    "best": StateFile("best iteration", _best, dump),
    "journal": StateFile("progress.json", _journal, _as_json),
}
