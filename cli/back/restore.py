"""The `sprintlog restore` command: copy an iteration's files to a folder or a branch."""

import os
from pathlib import Path
from shlex import quote
from typing import Any

import click

from sprintlog.engine.adapters.snapshots.plan import PlacementPlan
from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.service.work_tree import own_paths, restore_plan, snapshot
from sprintlog.engine.service.work_tree.handover import copied, merge_of
from sprintlog.engine.sprint.state.knowledge import HeldSnapshot
from sprintlog.projections.views import back as views

from .. import context, output, typed
from ..record import Recording, recording
from .agreement import Agreement, with_asking, with_force
from .paths import inside, into_output, left_lines
from .way_back import Done, Step, end_as_restored, go_back, hint_at, show


@typed.command("restore")
@typed.argument("of", metavar="OF|PATH")
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
@typed.option(
    "--from",
    "source",
    metavar="SPRINT@N",
    help="Merge PATHs of iteration N, or `best`, of SPRINT into the current files.",
)
@with_force
@with_asking
@context.with_recording
def command(
    of: str,
    paths: tuple[str, ...],
    into: str | None,
    branch: str | None,
    is_applied: bool,
    source: str | None,
    wanted: Agreement,
    **given: Any,
) -> None:
    """Copy saved files to another place; OF is iter:N, best or snapshot:ID.

    --into and --branch copy the files to a new folder or git branch; the plan and the work
    tree do not change. --apply copies the loop's result to a folder of the work tree: the
    changes are shown first, and `sprintlog undo` reverts them. To restore files in place,
    use `rollback --files`.

    With --from, the arguments are PATHs: what the other sprint changed in them since its
    start, in any work tree, is merged into the files here, as git merges. The changes are
    shown first, and `sprintlog undo` reverts them. With conflicts, the exit status is 1.

    Examples: sprintlog restore iter:3 src --into ../best-src

    sprintlog restore best --apply

    sprintlog restore src/login.py --from fix-2@best
    """
    if source is not None:
        if into or branch or is_applied:
            raise click.UsageError(
                "--from cannot be combined with --into, --branch or --apply"
            )
        _merge(source, (of, *paths), wanted, given)
        return
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
            to: dict[str, Any] = {"name": branch} if branch else {"folder": target}
            copy = copied(workspace, held, meant, is_dry=wanted.dry_run, **to)
            order = restore_plan.RestoreOrder(
                *(held.snapshot, held.iteration), into="" if branch else str(target)
            )
            tell_copied(run, held, copy, wanted, order=order, branch=branch)


def _merge(
    source: str, paths: tuple[str, ...], wanted: Agreement, given: dict[str, Any]
) -> None:
    name, at, point = source.rpartition("@")
    if not at:
        raise click.BadParameter(f"{source}: expected SPRINT@N or SPRINT@best", None, None)
    with recording("extract", given) as run:
        order, base = merge_of(run.workspace, run.workspace.choose(name), point)
        order = order._replace(paths=inside(run.workspace, paths))
        arguments = {"from": source, "paths": list(paths)}
        step = Step("extract", arguments, order=order, base=base)
        end_as_restored(merge_here(run, step, wanted))


def merge_here(run: Recording, step: Step, wanted: Agreement) -> Done:
    """Merge another sprint's files into this work tree, and print how to undo it.

    In a work tree without a sprint, the other sprint records the restore.
    """
    assert step.order is not None
    undo, source = "sprintlog undo", step.order.source
    try:
        named = run.options.sprint_id or (run.workspace.choose(None) and None)
    except NotFoundError:
        named = source
    if named is not None:
        undo += f" --sprint {quote(named)}"
        run = Recording(run.name, run.options.with_values(sprint_id=named), run.workspace)
    there = f"the files have the changes of {source}"
    done = go_back(run, step._replace(undo=undo, there=there), wanted)
    if done.outcome is not None and done.outcome.events:
        hint_at(run, f"to undo this, run `{undo}`")
    return done


def tell_copied(
    run: Recording,
    held: HeldSnapshot,
    copy: tuple[str | None, PlacementPlan],
    wanted: Agreement,
    *,
    order: restore_plan.RestoreOrder | None = None,
    branch: str | None = None,
    patch: Path | None = None,
) -> None:
    """Print the files that were copied, or would be in a dry run, and their place."""
    commit, plan = copy
    files = views.changed_files(plan, order=order, branch=branch, commit=commit)
    sprint = run.workspace.sprint(run.sprint_id)
    answer = views.would_go_back(run.name, sprint, files=files, done=not wanted.dry_run)
    if wanted.dry_run:
        show(run, answer)
    elif run.options.as_json:
        output.print_json(answer)
    else:
        where = f"{branch} {commit}" if branch else patch or (order and order.into)
        said = f"{output.counted(len(files.written), 'file')} of iteration {held.iteration}"
        output.print_text(*left_lines(files.left), f"{said}: {where}")
