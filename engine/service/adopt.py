"""Selection of the edit to adopt, and the edited document."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from ..errors import NotFoundError, RefusedError
from ..log.envelope import RecordedEvent
from ..log.event import Event
from ..log.port import Log
from ..sprint.events import EditAdopted, EditObserved
from ..sprint.plan.adoption import AdoptEdit
from ..sprint.state.sprint import Sprint
from .place.location import PROGRESS
from .port import Service, Skippable
from .streams.catalogue import CODEC, sprint_stream

BY = "import:edit"
"""The actor recorded for automatic adoptions."""


def said_of(recorded_events: Sequence[RecordedEvent]) -> str:
    """Return a description of the adoption that the given events record."""
    events = [CODEC.decode(recorded) for recorded in recorded_events]
    left = [
        said for event in events if isinstance(event, EditAdopted) for said in event.left
    ]
    return f"it was adopted, but not {'; '.join(left)}" if left else "it was adopted"


def edit_of(
    log: Log, stream: str, version: int | None, *, of: str, hint: str, file: str = ""
) -> tuple[int, EditObserved]:
    """Return an observed edit and its version, by default the latest unadopted edit.

    `of` names the edited object in messages, and `file` is the end of its path. Raise
    `NotFoundError` if there is no such edit.
    """
    edits: dict[int, EditObserved] = {}
    for recorded in log.read_stream(stream):
        if recorded.type not in (EditObserved.type, EditAdopted.type):
            continue
        event = CODEC.decode(recorded)
        if isinstance(event, EditObserved) and event.path.endswith(file):
            edits[recorded.version] = event
        elif isinstance(event, EditAdopted) and version is None:
            edits.pop(event.edit, None)
    chosen = version if version is not None else max(edits, default=0)
    if chosen in edits:
        return chosen, edits[chosen]
    which = "that is not adopted" if version is None else f"at version {version}"
    raise NotFoundError(f"{of} has no observed edit {which}", hint=hint, stream=stream)


def observed_edit(
    workspace: Service, name: str, version: int | None
) -> tuple[int, EditObserved, dict[str, Any]]:
    """Return an observed edit, its version, and the document on which the edit was based.

    Without a version, return the latest edit that has not been adopted yet; raise
    `NotFoundError` if there is none.
    """
    # Edits of a loop's files are not adopted: these files only contain figures.
    chosen, edit = edit_of(
        workspace.log,
        sprint_stream(name),
        version,
        of=f"sprint {name}",
        hint="run `sprintlog log --type edit-observed` to list the observed edits",
        file=PROGRESS,
    )
    if not edit.since:
        raise RefusedError(
            f"it is not known which version of {edit.path} was edited",
            hint=f"the edited bytes are stored as edits/{edit.kept} in the log's folder",
            command="adopt",
        )
    base = workspace.repository.at_version(name, edit.since).document
    return chosen, edit, deepcopy(base)


def adopt_latest(workspace: Service, sprint_id: str) -> str:
    """Adopt the latest observed edit of a sprint's file; return the result as text."""
    try:
        edit, event, base = observed_edit(workspace, sprint_id, None)

        def decide(sprint: Sprint, at: str) -> list[Event]:
            return AdoptEdit(edit=edit, observed=event, base=base, by=BY).decide(sprint, at)

        skipped: set[Skippable] = {"refuse_edits"}
        events = workspace.handle_with(sprint_id, decide, actor=BY, without=skipped).events
    except RefusedError as error:
        return f"it was not adopted: {error.message}"
    return said_of(events)
