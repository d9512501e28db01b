"""Recording what the files of other loops say, and telling what became of them."""

from collections.abc import Sequence
from pathlib import Path

from sprintlog.engine.errors import RefusedError
from sprintlog.projections.workspace import Workspace

from ..intake.others.aiwg import FoundAiwg
from ..intake.others.found import FoundLoop
from ..record import Options, Recording, refresh
from .loop_facts import take_facts
from .taken import tell


def take_loop(
    workspace: Workspace, path: Path, loop: FoundLoop, options: Options, *, kind: str
) -> None:
    """Record a loop that was read."""
    sprint_id = options.sprint_id or loop.name
    run = Recording(f"import {kind}", options, workspace)
    recorded = take_facts(run, sprint_id, loop, kind=kind)
    tell(
        workspace,
        path,
        kind=kind,
        sprint_id=sprint_id,
        found=loop.found,
        recorded=recorded,
        unread=loop.unread,
        as_json=options.as_json,
    )
    refresh(workspace, sprint_id)


def take_aiwg(
    workspace: Workspace, path: Path, found: Sequence[FoundAiwg], options: Options
) -> None:
    """Record the loops of a folder, none of them where one cannot be.

    Raise `RefusedError` for several that are to be one sprint, and for files of our own.
    """
    if options.sprint_id is not None and len(found) > 1:
        raise RefusedError(
            f"{path}: {len(found)} loops cannot be the one sprint {options.sprint_id}",
            hint="leave --sprint out, or give the file of one loop",
            allowed=[one.id for one in found],
        )
    for one in found:
        if one.is_measured and (own := _written_by(workspace, one.id)):
            raise RefusedError(
                f"{path}: the measurements of {one.id} are those of sprint {own} here",
                hint="they are recorded already",
                sprint=own,
            )
    for one in found:
        take_loop(workspace, path, one.loop, options, kind="aiwg")


def _written_by(workspace: Workspace, loop_id: str) -> str | None:
    """Return the sprint that writes the files of a loop, if one here does."""
    for sprint_id in workspace.sprints():
        baseline = workspace.sprint(sprint_id).knowledge.tracker.baseline
        if loop_id == ((baseline and baseline.loop_id) or sprint_id):
            return sprint_id
    return None
