"""`sprintlog restore`: an iteration's files, in a new folder, a branch or in place."""

import os
from pathlib import Path
from typing import Any

import click

from sprintlog.engine.adapters.snapshots.entries import LeftOut
from sprintlog.engine.errors import RefusedError
from sprintlog.engine.service.work_tree.own_paths import OUTPUT
from sprintlog.engine.service.work_tree.restore import into_branch, into_folder
from sprintlog.engine.service.work_tree.restore_plan import RestoreOrder
from sprintlog.engine.service.work_tree.snapshot import find_snapshot, store_of
from sprintlog.engine.sprint.state.knowledge import HeldSnapshot
from sprintlog.projections.views.files import FilesCopied, left_out
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..back.files import bring_back, inside, into_output, left_lines, put_back
from ..context import here, with_recording
from ..output import counted, print_answer
from ..record import Options, recording


@typed.command("restore", epilog="Example: sprintlog restore iter:3 src --into ../best-src")
@click.argument("point", required=False)
@click.argument("paths", nargs=-1, metavar="[PATH]…")
@typed.option(
    "--into", metavar="FOLDER", help="A new folder. [beside the work tree, named for it]"
)
@typed.option("--branch", metavar="NAME", help="Make a new git branch of the files.")
@typed.option("--in-place", is_flag=True, help="Make the work tree as it was then.")
@typed.option(
    "--apply",
    "is_applied",
    is_flag=True,
    help="Copy what changed since before iteration 1, or PATHs, into a folder of the "
    f"work tree: --into, or {OUTPUT}/.",
)
@typed.option(
    "--give-up",
    "gives_up",
    is_flag=True,
    help="Put everything back that a restore which was cut short has touched.",
)
@typed.option("--yes", is_flag=True, help="Do what was shown; needed in the work tree.")
@with_recording
def command(
    point: str | None,
    paths: tuple[str, ...],
    into: str | None,
    branch: str | None,
    in_place: bool,
    is_applied: bool,
    gives_up: bool,
    yes: bool,
    **given: Any,
) -> None:
    """Bring the files of a snapshot back: POINT is iter:N, best or snapshot:ID.

    Without more it makes a new folder and changes nothing else. In the work tree it shows
    what would be done, and does it with --yes; what stands there is kept in a snapshot
    before. A restore that is killed is finished by the next command that records; where
    that cannot be, --give-up makes everything as it was before.
    """
    ways = [name for name, on in (("--branch", branch), ("--in-place", in_place)) if on]
    ways += ["--apply"] if is_applied else []
    ways += ["--give-up"] if gives_up else []
    if len(ways) > 1 or (into and ways not in ([], ["--apply"])):
        raise click.UsageError(
            f"{' and '.join([*ways, *(['--into'] if into else [])])}: give one of them"
        )
    if (point is None) != gives_up:
        wrong = "--give-up takes no POINT" if gives_up else "Missing argument 'POINT'."
        raise click.UsageError(wrong)
    options = Options(given)
    with recording("restore", options) as run:
        workspace, sprint_id = run.workspace, run.sprint_id
        if point is None:
            put_back(run)
            return
        held = find_snapshot(workspace, workspace.sprint(sprint_id), point)
        meant = inside(workspace, paths)
        if in_place or is_applied:
            order = RestoreOrder(held.snapshot, held.iteration, meant)
            if is_applied:
                order = into_output(workspace, sprint_id, order, into)
            arguments = {"point": point, "paths": list(paths), "into": order.into}
            bring_back(run, order, arguments, is_agreed=yes)
        elif branch:
            _branch(workspace, held, meant, branch, as_json=options.as_json)
        else:
            target = _target(workspace, held, into)
            store = store_of(workspace)
            files, left = into_folder(workspace, store, held.snapshot, target, meant)
            _tell(held, files, left, {"folder": str(target)}, as_json=options.as_json)


def _target(workspace: Workspace, held: HeldSnapshot, into: str | None) -> Path:
    if into is not None:
        return Path(os.path.normpath(here() / into))
    root = workspace.location.root
    return root.with_name(f"{root.name}-iter-{held.iteration}-{held.snapshot[:7]}")


def _branch(
    workspace: Workspace,
    held: HeldSnapshot,
    paths: tuple[str, ...],
    name: str,
    *,
    as_json: bool,
) -> None:
    if paths:
        raise RefusedError(
            "a branch holds all files of a snapshot", hint="leave the paths out"
        )
    store = store_of(workspace)
    commit, files, left = into_branch(workspace, store, held, name)
    _tell(held, files, left, {"branch": name, "commit": commit}, as_json=as_json)


def _tell(
    held: HeldSnapshot,
    files: int,
    left: list[LeftOut],
    where: dict[str, str],
    *,
    as_json: bool,
) -> None:
    gone, number = left_out(left), held.iteration
    answer = FilesCopied(True, held.snapshot, number, files, gone, **where)
    said = f"{counted(files, 'file')} of iteration {number}: {' '.join(where.values())}"
    print_answer(answer, [*left_lines(gone), said], as_json=as_json)
