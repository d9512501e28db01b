"""The timeline: a sprint's events in order, each with what it changed in PROGRESS.yaml."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from sprintlog.engine.sprint.facts import RolledBack
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.patch import diff
from sprintlog.engine.sprint.state import Sprint

from .catalogue import CODEC, sprint_stream
from .workspace import Workspace


def steps(workspace: Workspace, name: str, last: int) -> Iterator[dict[str, Any]]:
    """Yield each event up to a version with the changes it made."""
    state = Sprint(name)
    before: dict[str, Any] = {}
    for event in workspace.log.read_stream(sprint_stream(name), until=last):
        fact = CODEC.decode(event)
        if event.type == RolledBack.type:
            state = workspace.reader.at_version(name, event.version)
        else:
            fold(state, [(event.version, event.at, fact)])
        after = deepcopy(state.document)
        yield {
            "version": event.version,
            "position": event.position,
            "at": event.at,
            "actor": event.actor,
            "type": event.type,
            "changes": diff(before, after),
        }
        before = after
