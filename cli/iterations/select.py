"""The `sprintlog iteration select` command: select, and optionally apply, a result."""

from typing import Any

import click

from sprintlog.engine.service.streams.evaluation import evaluate
from sprintlog.engine.service.work_tree.restore_plan import RestoreOrder
from sprintlog.engine.service.work_tree.snapshot import find_snapshot
from sprintlog.engine.sprint.iterations.decisions import SelectBest
from sprintlog.projections.views.back import ChangedFiles, would_go_back
from sprintlog.projections.views.iterations import selected

from .. import context, record, typed
from ..back.agreement import Agreement, asks, with_asking
from ..back.paths import into_output
from ..back.way_back import Step, file_lines, perform, planned, show, shown
from ..output import print_json, print_text, progress
from .measurement import tell_written, write_files
from .options import with_writing


@typed.command()
@typed.argument("number", metavar="[N]", type=click.IntRange(0), required=False)
@typed.option("--reason", help="The reason for the choice.")
@typed.flag(
    "--apply",
    "is_applied",
    help="Also copy its files to the results folder, as `restore --apply` does.",
)
@with_writing
@with_asking
@context.with_recording
def select(
    number: int | None,
    reason: str | None,
    is_applied: bool,
    is_written: bool,
    wanted: Agreement,
    **given: Any,
) -> None:
    """Select the best iteration, instead of the last one, as the result of the loop.

    Among the iterations with passing tests and a score of at least 0.70, the command
    selects the one with the highest score (the latest if several share it), or the baseline
    if all of them are regressions. N selects that iteration regardless of its score.
    --apply copies the files changed since the snapshot taken before the first iteration to
    .aiwg/output/; without such a snapshot, it copies all files. `sprintlog undo` removes
    the copies.

    Examples: sprintlog iteration select --apply --write

    sprintlog iteration select 4 --reason 'reads better'
    """
    if reason is not None and number is None:
        raise click.UsageError("--reason requires N, the selected iteration")
    options, command = record.Options(given), SelectBest(number, reason)
    with record.recording("iteration select", options) as run:
        if wanted.dry_run:
            _show(run, command, is_applied=is_applied)
            return
        outcome = run.handle_with(command, record.arguments_of(command))
        judged = evaluate(run.workspace.log, outcome.sprint)
        selection = judged.selected()
        applied = None
        try:
            if is_applied and selection is not None:
                applied = _apply(run, selection.selected.number, is_agreed=wanted.yes)
        finally:
            # The selection is recorded even if copying its files fails.
            if options.as_json:
                print_json(selected(record.answer_of(outcome), judged, applied))
            elif selection is not None:
                print_text(selection.message, *(file_lines(applied) if applied else ()))
                for sentence in selection.rationale:
                    progress(f"why: {sentence}")
            run.refresh()
        if is_written:
            written = write_files(run.workspace, run.sprint_id)
            if not options.as_json:
                tell_written(written)


def _show(run: record.Recording, command: SelectBest, *, is_applied: bool) -> None:
    """Show which iteration would be selected, and which of its files would be copied."""
    workspace = run.workspace
    sprint = workspace.sprint(run.sprint_id)
    workspace.preview(command, sprint_id=run.sprint_id, at=run.options.at)
    judged, number = evaluate(workspace.log, sprint), command.number
    selection = (
        judged.selection() if number is None else judged.chosen(number, command.reason)
    )
    if not run.options.as_json:
        print_text(selection.message)
    answer = would_go_back("select", sprint)
    if is_applied:
        answer, _ = planned(run, _step(run, selection.selected.number))
    if is_applied or run.options.as_json:
        show(run, answer)


def _apply(run: record.Recording, number: int, *, is_agreed: bool) -> ChangedFiles | None:
    """Copy the files that an iteration changed to the result folder; return the changes."""
    step = _step(run, number)
    # Without a terminal, `--apply` counts as consent.
    is_agreed = is_agreed or not asks(as_json=run.options.as_json)
    following = run.following()
    shown(following, step, Agreement(yes=is_agreed))
    return perform(following, step).answer.files


def _step(run: record.Recording, number: int) -> Step:
    workspace, sprint_id = run.workspace, run.sprint_id
    held = find_snapshot(workspace, workspace.sprint(sprint_id), f"iter:{number}")
    order = RestoreOrder(held.snapshot, held.iteration)
    return Step("select", {}, order=into_output(workspace, sprint_id, order))
