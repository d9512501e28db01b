"""`sprintlog iteration select`: the loop's result, put in place and reported if wanted."""

from typing import TYPE_CHECKING, Any

from sprintlog.engine.sprint.iterations.decisions import SelectBest

from .. import typed
from ..context import with_recording
from ..output import counted, print_json, print_text, progress
from ..record import Options, Recording, answer_of, recording
from .report_files import tell_written, with_writing, write_files

if TYPE_CHECKING:
    from sprintlog.projections.views.iterations import Applied


@typed.command(epilog="Example: sprintlog iteration select --apply --write")
@typed.option(
    "--apply",
    "is_applied",
    is_flag=True,
    help="Copy its files too, as `restore --apply --yes` does.",
)
@with_writing
@with_recording
def select(is_applied: bool, is_written: bool, **given: Any) -> None:
    """Select the loop's result: the best iteration, not simply the last one.

    The highest score of at least 0.70 whose tests pass, the latest of equals; the baseline
    where all of these are regressions against it. Applied are the files that changed since
    the snapshot from before the first iteration, in .aiwg/output/; all of them without one.
    """
    from sprintlog.engine.service.streams.judged import evaluate
    from sprintlog.projections.views.iterations import selected

    options = Options(given)
    with recording("iteration select", options) as run:
        outcome = run.handle_with(SelectBest())
        judged = evaluate(run.workspace.log, outcome.sprint)
        selection = judged.selected()
        applied = None
        try:
            if is_applied and selection is not None:
                applied = _apply(run, selection.selected.number)
        finally:
            # What was selected is recorded, whatever became of its files.
            if options.as_json:
                print_json(selected(answer_of(outcome), judged, applied))
            elif selection is not None:
                print_text(selection.message, *_applied_lines(applied))
                for sentence in selection.rationale:
                    progress(f"why: {sentence}")
            run.refresh()
        if is_written:
            written = write_files(run.workspace, run.sprint_id)
            if not options.as_json:
                tell_written(written)


def _applied_lines(applied: "Applied | None") -> list[str]:
    if applied is None:
        return []
    # Imported here: what starts processes is not needed to select.
    from ..back.files import left_lines

    written = f"{counted(applied.written, 'file')} written to {applied.into}/"
    return [written, *left_lines(applied.left)]


def _apply(run: Recording, number: int) -> "Applied":
    """Copy what the iteration changed into the folder of results, and return the answer."""
    # Imported here: what starts processes is not needed to select.
    from sprintlog.engine.service.work_tree.restore import in_place
    from sprintlog.engine.service.work_tree.restore_plan import RestoreOrder
    from sprintlog.engine.service.work_tree.snapshot import find_snapshot, store_of
    from sprintlog.projections.views.files import left_out
    from sprintlog.projections.views.iterations import Applied

    from ..back.files import into_output, warn_of_kept

    workspace, sprint_id = run.workspace, run.sprint_id
    held = find_snapshot(workspace, workspace.sprint(sprint_id), f"iter:{number}")
    command = into_output(workspace, sprint_id, RestoreOrder(held.snapshot, held.iteration))
    store = store_of(workspace)
    envelope = run.following().envelope()
    restored = in_place(
        workspace, sprint_id, store, command, is_agreed=True, envelope=envelope
    )
    warn_of_kept(store, restored.placed)
    placed = restored.placed
    left = placed.skipped if placed else restored.plan.skipped
    written = placed.written if placed else 0
    return Applied(command.into, written, left_out(left))
