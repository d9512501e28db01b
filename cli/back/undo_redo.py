"""What `undo` and `redo` share: files that went along with a rollback go along again."""

from collections.abc import Callable
from typing import Any

import click

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint.iterations.snapshots import (
    files_to_redo,
    files_to_undo,
    files_with,
)
from sprintlog.engine.sprint.state.held import Restore
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.workspace import Workspace

from ..context import Function, open_workspace
from ..descriptions import described
from ..output import counted, warn
from ..record import Options, Rule, act, answer_and_refresh, settle

SHOWN_MAX = 3
"""So many of the events that no longer count are named."""


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
        take_state_back(command, rule, {"reason": reason}, given)


def take_state_back(
    command: str,
    rule: Callable[..., list[Event]],
    arguments: dict[str, Any],
    given: dict[str, Any],
    *,
    reads_log: bool = False,
) -> None:
    """Take a rollback or a decision back, and say which later work went with it.

    `rule` is called with the log as well when it `reads_log`.
    """
    options = Options(given)
    wish = options.masked(arguments)
    with open_workspace() as workspace:
        sprint_id = workspace.choose(options.sprint_id)
        log = {"log": workspace.log} if reads_log else {}
        outcome = act(
            workspace,
            sprint_id,
            command,
            lambda sprint, at: rule(sprint, **wish, **log),
            options,
            wish,
        )
        answer_and_refresh(workspace, outcome, as_json=options.as_json)
        if outcome.events and not outcome.duplicate:
            _tell_gone(workspace, outcome.sprint, command)


def _tell_gone(workspace: Workspace, sprint: Sprint, command: str) -> None:
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
    if command == "redo":
        # It can itself not be taken back, but gone back from.
        way = f"`sprintlog rollback --to version:{before}`"
    warn(
        f"{counted(len(gone), 'later event')} no longer {count}: {said}{more}; "
        f"{way} takes this back"
    )


def _with_files(
    command: str, rule: Rule, reason: str | None, given: dict[str, Any], *, is_agreed: bool
) -> bool:
    """Take back what brought files along; tell whether it did."""
    options = Options(given)
    with open_workspace() as workspace:
        sprint_id = workspace.choose(options.sprint_id)
        sprint = workspace.sprint(sprint_id)
        if not sprint.knowledge.restored and not sprint.knowledge.restoring:
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
        from sprintlog.engine.service.work_tree.restore_plan import Wish

        from .files import bring_back

        bring_back(
            workspace,
            sprint_id,
            Wish(restore.event.before),
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
    from sprintlog.engine.service.work_tree.restore_plan import Wish

    from .files import bring_back

    bring_back(
        workspace,
        workspace.choose(options.sprint_id),
        Wish(restore.event.before, undoes=restore.version),
        options,
        command=command,
        arguments=arguments,
        is_agreed=is_agreed,
    )
