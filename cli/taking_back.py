"""What `undo` and `redo` share: files that went along with a rollback go along again."""

from typing import Any

import click

from sprintlog.engine.sprint.held import Restore
from sprintlog.engine.sprint.snapshots import files_to_redo, files_to_undo, files_with
from sprintlog.projections.workspace import Workspace

from .recording import Options, Rule, record, settle
from .wiring import Function, open_workspace


def with_files(function: Function) -> Function:
    """Add the options about files that went along."""
    leave = click.option(
        "--no-files", is_flag=True, help="Leave files that came with it as they are."
    )
    agree = click.option("--yes", is_flag=True, help="With files: do what was shown.")
    return leave(agree(function))


def take_back(
    command: str,
    rule: Rule,
    reason: str | None,
    given: dict[str, Any],
    *,
    no_files: bool,
    is_agreed: bool,
) -> None:
    """Take a rollback back, and the files that came with it unless they are to stay.

    Where files alone came back after it, they are what is taken back.
    """
    if no_files or not _with_files(command, rule, reason, given, is_agreed=is_agreed):
        record(command, given, rule, {"reason": reason})


def _with_files(
    command: str, rule: Rule, reason: str | None, given: dict[str, Any], *, is_agreed: bool
) -> bool:
    """Take back what brought files along; tell whether it did."""
    options = Options(given)
    with open_workspace() as workspace:
        sprint_id = workspace.choose(options.sprint_id)
        sprint = workspace.sprint(sprint_id)
        if not sprint.record.restored and not sprint.record.restoring:
            return False
        settle(workspace, sprint_id)
        sprint, worktree = workspace.sprint(sprint_id), workspace.location.worktree
        wish = options.masked({"reason": reason})
        latest = files_to_redo if command == "redo" else files_to_undo
        if (alone := latest(sprint, worktree=worktree)) is not None:
            _files_alone(workspace, alone, options, command, wish, is_agreed=is_agreed)
            return True
        restore = files_with(sprint, rule(sprint, **wish), worktree=worktree)
        if restore is None:
            return False
        # Imported here: most rollbacks are of the state alone.
        from sprintlog.projections.restore_plans import Wish

        from .bringing_back import bring_back

        bring_back(
            workspace,
            sprint_id,
            Wish(restore.fact.before),
            options,
            command=command,
            arguments=wish,
            is_agreed=is_agreed,
            roll_back=lambda sprint: rule(sprint, **wish),
        )
    return True


def _files_alone(
    workspace: Workspace,
    restore: Restore,
    options: Options,
    command: str,
    arguments: dict[str, Any],
    *,
    is_agreed: bool,
) -> None:
    """Take a restore back that had nothing to do with the state."""
    from sprintlog.projections.restore_plans import Wish

    from .bringing_back import bring_back

    bring_back(
        workspace,
        workspace.choose(options.sprint_id),
        Wish(restore.fact.before, undoes=restore.version),
        options,
        command=command,
        arguments=arguments,
        is_agreed=is_agreed,
    )
