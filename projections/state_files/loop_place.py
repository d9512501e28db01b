"""The folder of a loop's state files, and the sprint that owns it."""

import os
import re
from typing import TYPE_CHECKING

from msgspec import structs

from sprintlog.engine.service.place.location import LOOPS
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.sprint.iterations.measurement import LOOP_ID
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.words import COMPLETED

from .files import FilesService
from .refresh import Refreshed

if TYPE_CHECKING:
    from .loop_files import LoopFile


def loop_folder(workspace: FilesService, sprint: Sprint) -> str | None:
    """Return the folder in which a loop's files are kept up to date, or None.

    The loop must have been given a name or the folder must exist, and the work tree must
    contain the sprint's state file.
    """
    tracker, place = sprint.knowledge.tracker, sprint.plan.place
    if place is None or not workspace.tree.has(sprint.knowledge.own_tree):
        return None
    if tracker.is_empty:
        return None
    given = _given(sprint)
    folder = f"{LOOPS}/{given or sprint.id}"
    if given is None and not (
        re.fullmatch(LOOP_ID, sprint.id) and os.path.isdir(workspace.location.root / folder)
    ):
        return None
    return folder if owner(workspace, given or sprint.id) == sprint.id else None


def files_of_loop(workspace: FilesService, sprint: Sprint) -> "list[LoopFile]":
    """Return the loop's files that are kept up to date; empty if the loop has no folder."""
    from .loop_files import state_files_of

    has_folder = loop_folder(workspace, sprint) is not None
    return state_files_of(workspace, sprint) if has_folder else []


def with_loop(workspace: FilesService, sprint: Sprint, refreshed: Refreshed) -> Refreshed:
    """Update the files of a sprint's loop, and add their problems to the given result."""
    if (folder := loop_folder(workspace, sprint)) is None:
        return refreshed
    # Imported here: recording commands must not import exact numbers.
    from .loop_files import refresh_loop

    found = [refreshed, *refresh_loop(workspace, sprint, folder)]
    told = "; ".join(one.problem for one in found if one.problem)
    return structs.replace(refreshed, problem=told or None)


def owner(workspace: FilesService, loop_id: str) -> str | None:
    """Return the sprint that owns a loop; unfinished sprints take precedence.

    A fork has the same loop as its origin, and does not change the loop's files.
    """
    found = [
        sprint
        for name in workspace.sprints()
        if (_given(sprint := workspace.sprint(name)) or name) == loop_id
    ]
    if len(found) < 2:
        return found[0].id if found else None

    def rank(sprint: Sprint) -> tuple[bool, bool, int]:
        version = sprint.knowledge.tracker.baseline_version
        stream = sprint_stream(sprint.id)
        events = workspace.log.read_stream(stream, after=version - 1, until=version)
        position = next((event.position for event in events if version), 0)
        is_finished = sprint.plan.status == COMPLETED
        # The last finished sprint wrote the files; among unfinished sprints, the first one
        # continues.
        return is_finished, _given(sprint) is None, -position if is_finished else position

    return min(found, key=rank).id


def _given(sprint: Sprint) -> str | None:
    baseline = sprint.knowledge.tracker.baseline
    return baseline.loop_id if baseline is not None else None
