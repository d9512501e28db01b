"""What `undo` and `redo` share: files that went along with a rollback go along again."""

from typing import Any

from msgspec.structs import asdict

from sprintlog.engine.sprint.iterations.rollback import Redo, UndoDecision, UndoRollback
from sprintlog.engine.sprint.iterations.snapshots import (
    files_to_redo,
    files_to_undo,
    files_with,
)
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.views.events import described
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import Function
from ..output import counted, warn
from ..record import Options, Recording, arguments_of, recording

SHOWN_MAX = 3
"""So many of the events that no longer count are named."""


def with_files(function: Function) -> Function:
    """Add the options about files that went along."""
    leave = typed.option(
        "--no-files", is_flag=True, help="Leave files that came with it as they are."
    )
    agree = typed.option("--yes", is_flag=True, help="With files: do what was shown.")
    return leave(agree(function))


def take_back(
    name: str,
    command: UndoRollback | Redo | UndoDecision,
    given: dict[str, Any],
    *,
    no_files: bool,
    is_agreed: bool = False,
) -> None:
    """Take a rollback back, and the files that came with it unless they are to stay.

    Where files alone came back after it, they are what is taken back. With a decision no
    files came; which later work goes with it is said.
    """
    options = Options(given)
    command = options.masked_command(command)
    with recording(name, options) as run:
        if (
            not no_files
            and not isinstance(command, UndoDecision)
            and _take_files_back(run, command, is_agreed=is_agreed)
        ):
            return
        outcome = run.handle_with(command, arguments_of(command, ("reason",)))
        run.answer(outcome)
        if outcome.events and not outcome.duplicate:
            _tell_gone(run.workspace, outcome.sprint, name)


def _tell_gone(workspace: Workspace, sprint: Sprint, name: str) -> None:
    """Say which work since what was taken back no longer counts either."""
    # Imported here: where files alone are taken back no work goes with them.
    from sprintlog.projections.history.undone import work_gone

    if not (gone := work_gone(workspace.log, sprint)):
        return
    said = ", ".join(described(event) for event in gone[:SHOWN_MAX])
    more = " …" if len(gone) > SHOWN_MAX else ""
    count = "counts" if len(gone) == 1 else "count"
    before = sprint.knowledge.rollbacks[-1][0] - 1
    way = "`sprintlog redo`"
    if name == "redo":
        # It can itself not be taken back, but gone back from.
        way = f"`sprintlog rollback --to version:{before}`"
    warn(
        f"{counted(len(gone), 'later event')} no longer {count}: {said}{more}; "
        f"{way} takes this back"
    )


def _take_files_back(
    run: Recording, command: UndoRollback | Redo, *, is_agreed: bool
) -> bool:
    """Take back what brought files along; tell whether it did."""
    workspace, sprint_id = run.workspace, run.sprint_id
    sprint = workspace.sprint(sprint_id)
    if not sprint.knowledge.restored and not sprint.knowledge.restoring:
        return False
    run.finish_restores()
    # Imported here: most rollbacks are of the state alone.
    from sprintlog.engine.service.work_tree.restore_plan import RestoreOrder

    from .files import bring_back

    sprint, worktree = workspace.sprint(sprint_id), workspace.location.worktree
    latest = files_to_redo if isinstance(command, Redo) else files_to_undo
    if (alone := latest(sprint, worktree=worktree)) is not None:
        # It had nothing to do with the state.
        arguments, roll_back = RestoreOrder(alone.event.before, undoes=alone.version), None
    else:
        events = workspace.preview(command, sprint_id=sprint_id, at=run.options.at)
        restore = files_with(sprint, events, worktree=worktree)
        if restore is None:
            return False
        arguments, roll_back = RestoreOrder(restore.event.before), command
    bring_back(run, arguments, asdict(command), is_agreed=is_agreed, roll_back=roll_back)
    return True
