"""The `sprintlog restore` command: copy an iteration's files to a folder or a branch."""

import os
from pathlib import Path
from typing import Any

import click

from sprintlog.engine.service.work_tree import own_paths, restore_plan, snapshot
from sprintlog.engine.service.work_tree.restore import into_branch, into_folder
from sprintlog.engine.sprint.state.knowledge import HeldSnapshot
from sprintlog.projections.views import back as views
from sprintlog.projections.views.back import ChangedFiles

from .. import context, output, typed
from ..record import Recording, recording
from .agreement import Agreement, with_asking
from .paths import inside, into_output, left_lines
from .way_back import Step, go_back, show


@typed.command("restore")
@typed.argument("of", metavar="OF")
@typed.argument("paths", nargs=-1, metavar="[PATH]…")
@typed.option(
    "--into", metavar="FOLDER", help="Copy to a new folder; with --apply, to any."
)
@typed.option("--branch", metavar="NAME", help="Create a git branch with the files.")
@typed.flag(
    "--apply",
    "is_applied",
    help="Copy the files changed since before iteration 1, or PATHs, as the loop's "
    f"result to a folder in the work tree: --into, or {own_paths.OUTPUT}/.",
)
@with_asking
@context.with_recording
def command(
    of: str,
    paths: tuple[str, ...],
    into: str | None,
    branch: str | None,
    is_applied: bool,
    wanted: Agreement,
    **given: Any,
) -> None:
    """Copy saved files to another place; OF is iter:N, best or snapshot:ID.

    --into and --branch copy the files to a new folder or git branch; the plan and the work
    tree do not change. --apply copies the loop's result to a folder of the work tree: the
    changes are shown first, and `sprintlog undo` reverts them. To restore files in place,
    use `rollback --files`.

    Examples: sprintlog restore iter:3 src --into ../best-src

    sprintlog restore best --apply
    """
    if branch and (into or is_applied or paths):
        raise click.UsageError("--branch cannot be combined with --into, --apply or PATH")
    if not (into or branch or is_applied):
        raise click.UsageError(
            f"missing destination: specify --into FOLDER, --branch NAME or "
            f"--apply; use `sprintlog rollback {of} --files` to restore the files here"
        )
    with recording("extract", given) as run:
        workspace, sprint_id = run.workspace, run.sprint_id
        held = snapshot.find_snapshot(workspace, workspace.sprint(sprint_id), of)
        meant = inside(workspace, paths)
        if is_applied:
            order = restore_plan.RestoreOrder(held.snapshot, held.iteration, meant)
            order = into_output(workspace, sprint_id, order, into)
            arguments = {"of": of, "paths": list(paths), "into": order.into}
            go_back(run, Step("extract", arguments, order=order), wanted)
        else:
            target = Path(os.path.normpath(context.here() / (into or "")))
            store, is_dry = snapshot.store_of(workspace), wanted.dry_run
            order = restore_plan.RestoreOrder(held.snapshot, held.iteration)
            if branch:
                commit, made = into_branch(workspace, store, held, branch, is_dry=is_dry)
                files = views.changed_files(made, order=order, branch=branch, commit=commit)
            else:
                made = into_folder(
                    *(workspace, store, held.snapshot, target, meant), is_dry=is_dry
                )
                order = order._replace(into=str(target))
                files = views.changed_files(made, order=order)
            where = f"{branch} {files.commit or ''}".rstrip() if branch else str(target)
            _tell(run, held, files, where, wanted)


def _tell(
    run: Recording, held: HeldSnapshot, files: ChangedFiles, where: str, wanted: Agreement
) -> None:
    sprint = run.workspace.sprint(run.sprint_id)
    answer = views.would_go_back("extract", sprint, files=files, done=not wanted.dry_run)
    if wanted.dry_run:
        show(run, answer)
    elif run.options.as_json:
        output.print_json(answer)
    else:
        said = f"{output.counted(len(files.written), 'file')} of iteration {held.iteration}"
        output.print_text(*left_lines(files.left), f"{said}: {where}")
