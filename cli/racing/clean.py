"""The `sprintlog race clean` command: remove the worktrees of an ended race."""

from functools import partial

from sprintlog.engine.races.events import AttemptRemoved
from sprintlog.engine.service.driver import attempt_trees
from sprintlog.engine.service.driver.races import choose_race, read_race, record
from sprintlog.projections.views.back import CleanedRace, RemovedTree
from sprintlog.projections.workspace import Workspace

from .. import context, output, typed
from ..back.agreement import LEAVE, Agreement, agree, asks, with_asking
from ..record import check_actor
from .race import repository_of


@typed.command("clean")
@typed.argument("race_id", metavar="[RACE]", required=False)
@typed.flag(
    "--discard-omitted",
    "discards_omitted",
    help="Also remove files that no snapshot contains.",
)
@with_asking
@context.with_actor
@context.with_json
def command(
    race_id: str | None,
    discards_omitted: bool,
    wanted: Agreement,
    actor: str,
    as_json: bool,
) -> None:
    """Remove the worktrees of an ended race, after a snapshot of each.

    RACE is the latest race by default. The snapshots stay in the log; the output states how
    to restore them. Nothing is removed if a worktree is in use, or if it contains files
    that its snapshot omits, such as ignored files.

    Example: sprintlog race clean --dry-run
    """
    check_actor(actor)
    with context.open_workspace() as workspace:
        race = choose_race(workspace.log, race_id)
        found = attempt_trees.trees_to_remove(workspace, race, repository_of(workspace)[1])
        for tree in () if discards_omitted else found:
            left = attempt_trees.check_removal(workspace, tree)
            attempt_trees.check_nothing_omitted(tree, left)
        planned = [*map(_planned, found), LEAVE] if found else ["nothing to do"]
        if found and not (wanted.yes or wanted.dry_run):
            output.print_text(*(() if as_json else planned[:-1]))
            agree(is_asked=asks(as_json=as_json), remark=", after saving their files")
        made = []
        for tree in found:
            snapshot = None
            if not wanted.dry_run:
                snapshot = attempt_trees.remove_tree(
                    workspace,
                    tree,
                    partial(_record, workspace, race.id, actor),
                    discards_omitted=discards_omitted,
                    actor=actor,
                )
            number, path = tree.attempt.number, str(tree.whole)
            made.append(RemovedTree(number, path, tree.sprint, snapshot, tree.exists))
        answer = CleanedRace("race-clean", race.id, not wanted.dry_run, made)
        is_told = bool(found) and not wanted.dry_run
        said = map(_said, made) if is_told else planned
        output.print_answer(answer, said, as_json=as_json)
        for one in made if not as_json else ():
            if one.snapshot is not None:
                output.hint(
                    f"to restore it, run `sprintlog restore snapshot:{one.snapshot[:12]} "
                    f"--sprint {one.sprint} --into FOLDER`"
                )


def _record(workspace: Workspace, race_id: str, actor: str, event: AttemptRemoved) -> None:
    record(workspace, read_race(workspace.log, race_id), event, actor=actor)


def _planned(tree: attempt_trees.AttemptTree) -> str:
    return f"{'remove' if tree.exists else 'prune'}  {tree.whole}"


def _said(one: RemovedTree) -> str:
    if not one.existed:
        return f"pruned  {one.path}: the worktree had been deleted"
    return f"removed  {one.path}: {one.snapshot or 'without a snapshot'}"
