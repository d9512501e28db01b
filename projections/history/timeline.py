"""The timeline: a sprint's events in order, each with what it changed in PROGRESS.yaml."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.service.workspace import ServiceWorkspace
from sprintlog.engine.sprint.document.patch import Operation, diff
from sprintlog.engine.sprint.events import RolledBack
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.state.sprint import Sprint

from .causes import reason_of
from .differences import FieldChange, changes


class ReplayStep(NamedTuple):
    """An event, and the state file before and after it."""

    event: RecordedEvent
    old: dict[str, Any]
    new: dict[str, Any]

    @property
    def reason(self) -> str | None:
        """Return what the event says of why, what was reached or what went wrong."""
        return reason_of(self.event)

    def changes(self) -> list[FieldChange]:
        """Return every field that is another than before."""
        return changes(self.old, self.new)

    def json_patch(self) -> list[Operation]:
        """Return the JSON Patch that leads from one to exactly the other."""
        return diff(self.old, self.new)


def replay(
    workspace: ServiceWorkspace,
    sprint_id: str,
    *,
    since: str | None = None,
    until: str | None = None,
) -> Iterator[ReplayStep]:
    """Yield the events of a sprint, in order, with what each of them changed.

    What came after one point and no later than another: their changes, one after
    another, lead from the state at the first to that at the second.
    """
    last = workspace.sprint(sprint_id, at=until).version
    first = 0 if since is None else workspace.version_at(sprint_id, since)
    if first > last:
        raise InvalidInputError(
            f"version {first} of sprint {sprint_id} comes after version {last}",
            hint="give the earlier point first",
        )
    repository, stream = workspace.repository, sprint_stream(sprint_id)
    sprint = repository.at_version(sprint_id, first) if first else Sprint(sprint_id)
    before = _copied(sprint.document)
    for event in workspace.log.read_stream(stream, after=first, until=last):
        if event.type == RolledBack.type:
            sprint = repository.at_version(sprint_id, event.version)
        else:
            fold(sprint, [(event.version, event.at, CODEC.decode(event))])
        after = _copied(sprint.document)
        yield ReplayStep(event, before, after)
        before = after


def _copied(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document that no later event changes."""
    copied: dict[str, Any] = msgspec.msgpack.decode(msgspec.msgpack.encode(document))
    return copied
