"""The timeline: a sprint's events in order, each with what it changed in PROGRESS.yaml."""

from collections.abc import Iterator
from functools import partial
from itertools import tee
from typing import Any, NamedTuple

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.service.streams.history import walk
from sprintlog.engine.service.workspace import ServiceWorkspace
from sprintlog.engine.sprint.document.patch import FieldChange, Operation, changes, diff
from sprintlog.engine.sprint.state.sprint import Sprint

from .causes import reason_of
from .document_versions import ReachedNodes, SharedDocument, excerpt


class ReplayStep(NamedTuple):
    """An event, and the state file before and after it.

    Both documents share what the event left alone: read them, do not change them.
    """

    event: RecordedEvent
    old: dict[str, Any]
    new: dict[str, Any]
    reached: ReachedNodes | None = None
    """The nodes that it may have changed; None for any."""

    @property
    def reason(self) -> str | None:
        """Return what the event says of why, what was reached or what went wrong."""
        return reason_of(self.event)

    def changes(self) -> list[FieldChange]:
        """Return every field that is another than before."""
        return changes(*self._compared())

    def json_patch(self) -> list[Operation]:
        """Return the JSON Patch that leads from one to exactly the other."""
        return diff(*self._compared())

    def _compared(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return both documents without the nodes that are the same."""
        if self.old is self.new:
            return {}, {}
        if self.reached is None:
            return self.old, self.new
        return excerpt(self.old, self.reached), excerpt(self.new, self.reached)


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
    yield from Replay(workspace, sprint_id, first).until(last)


class Replay:
    """A sprint that is replayed from a version on, and further whenever it is asked to."""

    def __init__(self, workspace: ServiceWorkspace, sprint_id: str, first: int) -> None:
        self._workspace = workspace
        repository = workspace.repository
        self._sprint = (
            repository.at_version(sprint_id, first) if first else Sprint(sprint_id)
        )
        self._shared = SharedDocument(self._sprint)

    def until(self, last: int) -> Iterator[ReplayStep]:
        """Yield the events up to a version; all of them are to be taken."""
        repository, shared = self._workspace.repository, self._shared
        name, first = self._sprint.id, self._sprint.version
        rollbacks = [one for one in repository.rollbacks(name, last) if one[0] > first]
        stream = self._workspace.log.read_stream(
            sprint_stream(name), after=first, until=last
        )
        events, again = tee(stream)
        told = ((one.version, one.at, CODEC.decode(one)) for one in again)
        steps = walk(self._sprint, told, rollbacks, partial(repository.at_version, name))
        for recorded, step in zip(events, steps, strict=True):
            before, self._sprint = shared.document, step.sprint
            reached = shared.follow(step.sprint, step.event)
            yield ReplayStep(recorded, before, shared.document, reached)
