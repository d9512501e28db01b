"""The `sprintlog race apply` and `race clean` commands: the files of attempts."""

from pathlib import Path
from typing import Any

import click

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.races import Race
from sprintlog.engine.service.driver import races
from sprintlog.engine.service.driver.races import choose_race
from sprintlog.engine.service.work_tree import snapshot
from sprintlog.engine.service.work_tree.handover import MergeBase, copied, merge_of
from sprintlog.projections.views.back import CleanedRace, RemovedTree

from .. import context, output, typed
from ..back.agreement import LEAVE, Agreement, agree, asks, with_asking, with_force
from ..back.restore import merge_here, tell_copied
from ..back.way_back import Step, end_as_restored
from ..record import Recording, check_actor, recording
from .race import repository_of


@typed.command("apply")
@typed.argument("race_id", metavar="[RACE]", required=False)
@typed.number_option("--attempt", least=1, help="The attempt. [the winner]")
@typed.option("--branch", metavar="NAME", help="Create a git branch with the files.")
@typed.file_option("--patch", help="Write the changes to a new file for `git apply`.")
@with_force
@with_asking
@context.with_recording
def apply(
    race_id: str | None,
    attempt: int | None,
    branch: str | None,
    patch: Path | None,
    wanted: Agreement,
    **given: Any,
) -> None:
    """Merge the winner's changes into this work tree, or pass them on to git.

    RACE is the latest race by default. What the attempt changed since the race's commit is
    merged into the current files, as git merges; the changes are shown first, and
    `sprintlog undo` reverts them. Files with uncommitted changes are never changed. With
    conflicts, the exit status is 1. --branch and --patch leave the work tree unchanged.

    Examples: sprintlog race apply

    sprintlog race apply fix --attempt 2 --branch second
    """
    if branch and patch:
        raise click.UsageError("--branch cannot be combined with --patch")
    with recording("race-apply", given) as run:
        race = choose_race(run.workspace.log, race_id)
        number, iteration = _chosen(race, attempt)
        sprint_id, commit = race.sprint_of(number), race.defined.commit
        held = snapshot.find_snapshot(
            run.workspace, run.workspace.sprint(sprint_id), str(iteration)
        )
        if branch or patch:
            options = run.options.with_values(sprint_id=sprint_id)
            there = Recording(run.name, options, run.workspace)
            where: dict[str, Any] = {"patch": patch, "parent": commit}
            copy = copied(
                *(run.workspace, held), name=branch, is_dry=wanted.dry_run, **where
            )
            tell_copied(there, held, copy, wanted, branch=branch, patch=patch)
            end, is_new = None, True
        else:
            order, _ = merge_of(run.workspace, sprint_id, str(iteration))
            base = MergeBase(commit=commit, only_committed=True)
            step = Step("race-apply", {"race": race.id, "attempt": number}, order=order)
            end = merge_here(run, step._replace(base=base), wanted)
            is_new = end.outcome is not None and bool(end.outcome.events)
        if not wanted.dry_run:
            how = "branch" if branch else "patch" if patch else "tree"
            place = branch or str(patch or run.workspace.location.root)
            applied, actor = (number, iteration, how, place), run.options.actor
            races.record_applied(run.workspace, race, *applied, is_new=is_new, actor=actor)
        if end is not None:
            end_as_restored(end)


def _chosen(race: Race, number: int | None) -> tuple[int, int]:
    """Return an attempt, by default the winner, and the iteration that represents it."""
    decided = race.decided
    if number is None:
        if decided is None or decided.winner is None:
            why = "has not ended" if decided is None else "has no winner"
            raise RefusedError(
                f"race {race.id} {why}",
                hint="run `sprintlog race show` to see the attempts, and choose one with "
                "--attempt N",
                race=race.id,
            )
        number = decided.winner
    ended = race.attempt(number).ended
    iteration = ended.iteration if ended is not None else None
    if decided is not None and decided.winner == number:
        iteration = decided.iteration
    if iteration is None:
        raise RefusedError(
            f"attempt {number} of race {race.id} "
            + ("has not ended" if ended is None else "has no iteration with a snapshot"),
            race=race.id,
        )
    return number, iteration


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
def clean(
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
        own, folder = repository_of(workspace)
        found = races.trees_to_remove(race, own, folder)
        for tree in () if discards_omitted else found:
            races.saved(workspace, tree, discards_omitted, actor=None)
        planned = [f"{'remove' if x.exists else 'prune'}  {x.path}" for x in found]
        if found and not (wanted.yes or wanted.dry_run):
            output.print_text(*(() if as_json else planned))
            agree(is_asked=asks(as_json=as_json), remark=", after saving their files")
        made, said = [], []
        for tree in found:
            snapshot, path = None, str(tree.path)
            if not wanted.dry_run:
                snapshot = races.remove_tree(
                    *(workspace, own, race, tree),
                    discards_omitted=discards_omitted,
                    actor=actor,
                )
            removed = tree.attempt.number, path, tree.sprint, snapshot, tree.exists
            made.append(RemovedTree(*removed))
            why = "the worktree had been deleted"
            if tree.exists:
                why = snapshot or "without a snapshot"
            said.append(f"{'removed' if tree.exists else 'pruned'}  {path}: {why}")
        answer = CleanedRace("race-clean", race.id, not wanted.dry_run, made)
        if wanted.dry_run or not found:
            said = [*planned, LEAVE] if found else ["nothing to do"]
        output.print_answer(answer, said, as_json=as_json)
        for one in made if not as_json else ():
            if one.snapshot is not None:
                output.hint(
                    f"to restore it, run `sprintlog restore snapshot:{one.snapshot[:12]} "
                    f"--sprint {one.sprint} --into FOLDER`"
                )
