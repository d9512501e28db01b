"""Heartbeats of a sprint while an agent is working on it."""

import os
from contextlib import suppress
from pathlib import Path

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.port import Wait
from sprintlog.engine.service.place.trust import safe_list
from sprintlog.engine.sprint.phases.lifecycle import RecordHeartbeat
from sprintlog.projections.workspace import Workspace

from .. import settings

WAIT = Wait(seconds=0.3)


def beat(cause: RecordedEvent) -> None:
    """Record a heartbeat for the unfinished sprint, caused by a session's event.

    Nothing is recorded unless there is exactly one unfinished sprint.
    """
    with suppress(SprintlogError), opened() as workspace:
        workspace.handle(
            RecordHeartbeat(),
            sprint_id=workspace.choose(os.environ.get("SPRINTLOG_SPRINT")),
            actor=cause.actor,
            at=cause.at,
            correlation_id=cause.correlation_id,
            causation_id=cause.id,
            observed=True,
        )


def opened() -> Workspace:
    """Open the log of the current folder; problems are not reported."""
    start, folder = settings.log_place(Path.cwd())
    address = settings.log_address()
    workspace = Workspace.open(
        start, folder=folder, address=address, safe=safe_list(), wait=WAIT
    )
    workspace.stands_in, workspace.environment = Path.cwd(), os.environ
    workspace.tell = lambda problem: None
    return workspace
