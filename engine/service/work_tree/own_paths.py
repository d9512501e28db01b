"""What of a work tree is sprintlog's own: no agent's work, and never brought back or shown.

State files follow from the log, so no snapshot holds them. What hooks said is named by
PROGRESS.yaml, whatever was rolled back since, and nobody could write it again.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath

from ...adapters.replace import unfinished
from ...journal.events import PLACE
from ...sprint.events import HookTaskSpawned
from ...sprint.goal.hook_tasks import tasks_of
from ...sprint.goal.settings import hooks_of
from ...sprint.state.sprint import Sprint
from ..place.location import HIDDEN
from ..place.state_places import CHECKSUM_SUFFIX, LOOPS
from ..port import Service

OUTPUT = ".aiwg/output"
"""Where the result of a loop is put, below the work tree's root."""


def kept_out(workspace: Service) -> frozenset[str]:
    """Return the files and folders that no snapshot holds, in any work tree of the log."""
    own = {HIDDEN, LOOPS, *_written(workspace.journal().place or PLACE)}
    for name in workspace.sprints():
        sprint = workspace.sprint(name)
        if sprint.plan.place is not None:
            path = sprint.plan.place.path
            own |= {*_written(path), *_written(path + CHECKSUM_SUFFIX)}
            own |= {*transcripts(workspace, sprint)}
    return frozenset(own)


def own_paths(workspace: Service) -> frozenset[str]:
    """Return all that is no agent's work: a copy of the result, too."""
    return kept_out(workspace) | {OUTPUT}


def _written(path: str) -> Iterator[str]:
    """Yield a file that is written by being exchanged, and what may be left of that."""
    place = PurePosixPath(path)
    yield from (path, *(str(place.with_name(p.name)) for p in unfinished(place)))


def transcripts(workspace: Service, sprint: Sprint) -> Iterator[str]:
    """Yield where hooks' output was kept; it lies in the sprint's folder."""
    document, place = sprint.plan.document, sprint.plan.place
    if place is None:
        return
    folder = PurePosixPath(place.path).parent
    named = [task.get("transcript") for task in tasks_of(document).values()]
    # Only hooks are worth reading all of the events for.
    if named or hooks_of(document):
        spawned = workspace.repository.events(sprint.id, HookTaskSpawned)
        named += [event.transcript for event in spawned]
    yield from (str(folder / name) for name in named if isinstance(name, str) and name)
