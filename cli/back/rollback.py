"""`sprintlog rollback`: go back to the state of an earlier point."""

from typing import Any

from sprintlog.engine.service.streams.points import target_of
from sprintlog.engine.sprint.iterations.rollback import RollBack
from sprintlog.engine.sprint.iterations.snapshots import has_snapshot
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import AT_POINT, with_recording
from ..output import warn
from ..record import Options, recording


@typed.command(
    "rollback", epilog="Example: sprintlog rollback --to iter:3 --reason 'went bad'"
)
@typed.option(
    "--to",
    required=True,
    metavar="POINT",
    callback=AT_POINT,
    help="version:N, position:N, iter:N (its end), best, start, a time, or '2h ago'.",
)
@typed.option("--reason", metavar="TEXT", help="Why.")
@typed.option(
    "--files/--no-files",
    "with_files",
    default=None,
    help="Bring the iteration's files back too. [for best, where there is a snapshot]",
)
@typed.option("--yes", is_flag=True, help="With files: do what was shown.")
@with_recording
def command(
    to: str, reason: str | None, with_files: bool | None, yes: bool, **given: Any
) -> None:
    """Go back to the state of an earlier point; nothing is deleted.

    What happened since no longer counts, but stays in the log, and numbers given out
    are not given again. `sprintlog undo` takes it back, the files too. With files what
    would be done is shown first; what stands there is kept in a snapshot before.
    """
    options = Options(given)
    order = options.masked({"reason": reason})
    with recording("rollback", options) as run:
        workspace, sprint_id = run.workspace, run.sprint_id
        command = RollBack(workspace.version_at(sprint_id, to), order["reason"])
        if with_files is None:
            with_files = to == "best" and _can_bring_files(workspace, sprint_id)
        if with_files:
            # Imported here: most rollbacks are of the state alone.
            from sprintlog.engine.service.work_tree.restore_plan import RestoreOrder
            from sprintlog.engine.service.work_tree.snapshot import find_snapshot

            from .files import bring_back

            held = find_snapshot(workspace, workspace.sprint(sprint_id), to)
            back = RestoreOrder(held.snapshot, held.iteration)
            arguments = {"to": to, "files": True, **order}
            bring_back(run, back, arguments, is_agreed=yes, roll_back=command)
            return
        run.answer(run.handle_with(command, {"to": to, **order}))


def _can_bring_files(workspace: Workspace, sprint_id: str) -> bool:
    """Tell whether the files of the best can come too; say so where only they cannot."""
    sprint = workspace.sprint(sprint_id)
    target = target_of(workspace.log, sprint)
    is_kept = has_snapshot(sprint, target)
    if sprint.knowledge.snapshots and not is_kept:
        warn(f"iteration {target} has no snapshot: the files stay as they are")
    return is_kept
