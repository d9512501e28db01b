"""The `sprintlog race apply` command: hand over the files of an attempt."""

import os
from pathlib import Path
from typing import Any

import click

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.races.events import AttemptApplied
from sprintlog.engine.races.state import Race
from sprintlog.engine.service.driver.races import choose_race, record
from sprintlog.engine.service.work_tree import snapshot
from sprintlog.engine.service.work_tree.extracts import as_patch, into_branch
from sprintlog.engine.service.work_tree.merges import MergeBase, merge_of
from sprintlog.engine.sprint.state.knowledge import HeldSnapshot
from sprintlog.projections.views import back as views
from sprintlog.projections.views.back import WentBack

from .. import context, output, typed
from ..back.agreement import Agreement, with_asking, with_force
from ..back.paths import left_lines
from ..back.restore import merge_here
from ..back.way_back import Step, end_as_restored, show
from ..record import Recording, recording


@typed.command("apply")
@typed.argument("race_id", metavar="[RACE]", required=False)
@typed.number_option("--attempt", least=1, help="The attempt. [the winner]")
@typed.option("--branch", metavar="NAME", help="Create a git branch with the files.")
@typed.file_option("--patch", help="Write the changes to a new file for `git apply`.")
@with_force
@with_asking
@context.with_recording
def command(
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
            answer = _into_git(run, sprint_id, held, commit, branch, patch, wanted)
            end, is_new = None, True
        else:
            order, _ = merge_of(run.workspace, sprint_id, str(iteration))
            base = MergeBase(commit=commit, only_committed=True)
            step = Step("race-apply", {"race": race.id, "attempt": number}, order=order)
            end = merge_here(run, step._replace(base=base), wanted)
            answer = end.answer
            is_new = end.outcome is not None and bool(end.outcome.events)
        if not wanted.dry_run and answer.done:
            how = "branch" if branch else "patch" if patch else "tree"
            place = branch or str(patch or run.workspace.location.root)
            applied = AttemptApplied(number, iteration, how, place)
            if is_new or applied not in race.attempt(number).applied:
                record(run.workspace, race, applied, actor=run.options.actor)
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


def _into_git(
    run: Recording,
    sprint_id: str,
    held: HeldSnapshot,
    commit: str,
    branch: str | None,
    patch: Path | None,
    wanted: Agreement,
) -> WentBack:
    """Create a branch or a patch, unless this is a dry run, and print it."""
    workspace, made = run.workspace, None
    store, sprint = snapshot.store_of(workspace), workspace.sprint(sprint_id)
    if branch:
        made, plan = into_branch(
            *(workspace, store, held, branch), parent=commit, is_dry=wanted.dry_run
        )
    else:
        assert patch is not None
        content, plan = as_patch(workspace, store, held, commit)
        if os.path.lexists(patch):
            raise RefusedError(f"{patch} already exists", file=str(patch))
        if not wanted.dry_run:
            with open(patch, "xb") as file:
                file.write(content)
    files = views.changed_files(plan, branch=branch, commit=made)
    answer = views.would_go_back("race-apply", sprint, files=files, done=not wanted.dry_run)
    if wanted.dry_run:
        show(run, answer)
    else:
        where = f"{branch} {made}" if branch else str(patch)
        said = [*left_lines(files.left), f"{sprint_id}@{held.iteration}: {where}"]
        output.print_answer(answer, said, as_json=run.options.as_json)
    return answer
