"""The `sprintlog rollback` command: return the plan and the files to an earlier point."""

from pathlib import Path
from typing import Any

import click

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.service.streams.points import target_of
from sprintlog.engine.service.work_tree.restore_plan import RestoreOrder
from sprintlog.engine.service.work_tree.snapshot import find_snapshot
from sprintlog.engine.sprint.iterations.rollback import RollBack
from sprintlog.engine.sprint.iterations.snapshots import has_snapshot
from sprintlog.projections.workspace import Workspace

from .. import context, output, record, typed
from .agreement import Agreement, with_asking, with_force
from .paths import inside
from .way_back import Step, end_as_restored, go_back, hint_at

FILES_OF = ("iter:", "snapshot:")
"""The prefixes of points that may have a snapshot, besides `best`."""


@typed.command("rollback")
@typed.argument("to", metavar="TO", callback=context.AT_POINT)
@typed.argument("paths", nargs=-1, metavar="[PATH]…")
@typed.flag("--plan", "of_plan", help="Roll back only the plan, not the files.")
@typed.flag("--files", "of_files", help="Roll back only the files, not the plan.")
@typed.option("--reason", metavar="TEXT", help="Why.")
@typed.folder_option(
    "--into",
    help="Restore another work tree's files into this one; specify its root, such as `.`.",
)
@with_force
@with_asking
@context.with_recording
def command(
    to: str,
    paths: tuple[str, ...],
    of_plan: bool,
    of_files: bool,
    reason: str | None,
    into: Path | None,
    wanted: Agreement,
    **given: Any,
) -> None:
    """Roll back to TO: restore the plan, and the files saved at that point.

    TO is iter:N (its end), best, snapshot:ID, version:N, position:N, start, a time
    or '2h ago'. Files are saved for iterations; snapshot:ID contains only files. With
    PATHs, only these files are restored, and the plan does not change.

    Nothing is lost: discarded events stay in the log, and the current files are saved in a
    snapshot first. `sprintlog undo` reverts a rollback. To leave the work tree unchanged,
    use `sprintlog restore`, which copies files elsewhere, or `sprintlog fork`, which
    creates a new sprint.

    Examples: sprintlog rollback iter:3 --reason 'went bad'

    sprintlog rollback best --files --dry-run
    """
    of_files = of_files or bool(paths) or to.startswith("snapshot:")
    if of_plan and of_files:
        raise click.UsageError("--plan cannot be combined with --files or PATH")
    with record.recording("rollback", given) as run:
        if into is not None and into.resolve() != run.workspace.location.root.resolve():
            raise InvalidInputError(
                f"{into} is not the root of this work tree",
                hint=f"specify {run.workspace.location.root}, or run the command there",
                field="--into",
            )
        reason = run.options.masked({"reason": reason})["reason"]
        step = step_back(run, to, paths, reason, of_plan=of_plan, of_files=of_files)
        step = step._replace(of_any_tree=into is not None)
        done = go_back(run, step, wanted)
        if done.outcome is not None and done.outcome.events and step.order is None:
            sprint, number = done.outcome.state, done.outcome.state.plan.iteration
            more = (
                f"use `sprintlog rollback iter:{number} --files` to restore the files too"
            )
            hint_at(run, more if has_snapshot(sprint, number) else None)
        end_as_restored(done)


def step_back(
    run: record.Recording,
    to: str,
    paths: tuple[str, ...],
    reason: str | None,
    *,
    of_plan: bool,
    of_files: bool,
) -> Step:
    """Return the step that rolls the plan, the saved files, or both back to a point."""
    workspace, sprint_id = run.workspace, run.sprint_id
    command = None
    if not of_files:
        command = RollBack(workspace.version_at(sprint_id, to), reason)
    with_files = of_files or (not of_plan and has_files(workspace, sprint_id, to))
    arguments: dict[str, Any] = {"to": to, "reason": reason}
    plan = f"the plan is at version {command.to}" if command is not None else None
    if not with_files:
        return Step("rollback", arguments, command, there=plan)
    arguments |= {"files": True, "paths": [*paths]} if of_files else {"files": True}
    held = find_snapshot(workspace, workspace.sprint(sprint_id), to)
    order = RestoreOrder(held.snapshot, held.iteration, inside(workspace, paths))
    files = f"{'these' if paths else 'the'} files are those of " + (
        to if to.startswith("snapshot:") else f"iteration {held.iteration}"
    )
    there = files if plan is None else f"{plan}, and {files}"
    return Step("rollback", arguments, command, order, there=there)


def has_files(workspace: Workspace, sprint_id: str, to: str) -> bool:
    """Return whether a point has a snapshot; warn if an iteration has no snapshot."""
    sprint = workspace.sprint(sprint_id)
    if not sprint.knowledge.snapshots or not (to == "best" or to.startswith(FILES_OF)):
        return False
    form, _, name = to.partition(":")
    number = target_of(workspace.log, sprint) if form == "best" else int(name)
    if has_snapshot(sprint, number):
        return True
    output.warn(f"iteration {number} has no snapshot: the files remain unchanged")
    return False
