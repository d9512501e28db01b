"""The `sprintlog undo` command, and the code that it shares with `redo`."""

from typing import Any

from msgspec.structs import asdict

from sprintlog.engine.service.agent_sessions.at_work import refuse_while_at_work
from sprintlog.engine.service.command_context import last_decision
from sprintlog.engine.service.work_tree import restore, restore_plan, snapshot
from sprintlog.engine.sprint.iterations import snapshots
from sprintlog.engine.sprint.iterations.rollback import Redo, Undo, rollback_to_undo
from sprintlog.engine.sprint.state.knowledge import Restore
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.views import back as views
from sprintlog.projections.views.back import ChangedFiles
from sprintlog.projections.views.events import described
from sprintlog.projections.workspace import Outcome, Workspace

from .. import context, output, typed
from ..record import Options, Recording, arguments_of, recording, summary
from . import agreement, paths, way_back


def put_back(run: Recording, wanted: agreement.Agreement) -> bool:
    """Revert interrupted restores in this work tree; return whether there were any."""
    workspace, sprint_id = run.workspace, run.sprint_id
    sprint = workspace.sprint(sprint_id)
    if not restore.cut_short(workspace, sprint):
        return False
    would = _together(
        [views.changed_files(plan) for plan in restore.ways_back(workspace, sprint)]
    )
    planned = views.would_go_back("undo", sprint, files=would)
    if wanted.dry_run:
        way_back.show(run, planned)
        return True
    if not wanted.yes:
        way_back.agree_to(run, planned)
    if not wanted.forced:
        refuse_while_at_work(workspace.location)
    done = restore.give_up(workspace, sprint_id, actor=run.options.actor)
    events = [event for given_up in done for event in given_up.events]
    outcome = Outcome(workspace.sprint(sprint_id), events)
    files = _together([views.changed_files(d.plan, placed=d.placed) for d in done])
    answer = views.went_back(
        views.WentBack, "undo", outcome, version=outcome.state.version, files=files
    )
    try:
        lines = [summary(outcome), *way_back.file_lines(files)]
        output.print_answer(answer, lines, as_json=run.options.as_json)
    finally:
        run.refresh()
    for given_up in done:
        paths.warn_of_kept(snapshot.store_of(workspace).folder, given_up.placed)
    way_back.end_as_restored(way_back.Done(outcome, answer))
    return True


def _together(all_files: list[ChangedFiles]) -> ChangedFiles:
    """Combine the file changes of several restores into a single change."""
    names = ("written", "removed", "left", "kept")
    lists: Any = {n: [x for one in all_files for x in getattr(one, n)] for n in names}
    return ChangedFiles(**lists)


SHOWN_MAX = 3
"""The maximum number of discarded events that are named."""


with_take_back = typed.several(
    typed.option("--reason", metavar="TEXT", help="Why."),
    typed.flag("--plan", "of_plan", help="Change only the plan, leaving files unchanged."),
    agreement.with_force,
    agreement.with_asking,
    context.with_recording,
)
"""The options of `undo` and `redo`."""


def take_back(
    command: Undo | Redo, *, of_plan: bool, wanted: agreement.Agreement, **given: Any
) -> None:
    """Undo or redo a change and, unless `of_plan`, the file changes made together with it.

    If a later change affected only files, that change is reverted instead. Later work that
    is also discarded is listed.
    """
    options = Options(given)
    command, name = options.masked_command(command), command.name()
    with recording(name, options) as run:
        if (
            isinstance(command, Undo)
            and not of_plan
            and run.workspace.sprint(run.sprint_id).knowledge.restoring
            and put_back(run, wanted)
        ):
            return
        if not wanted.dry_run:
            run.finish_restores()
        step = way_back.Step(name, arguments_of(command, ("reason",)), command)
        step = step._replace(undo="sprintlog redo" if name == "undo" else "sprintlog undo")
        if not of_plan:
            step = _with_files(run, step, command)
        outcome, answer = done = way_back.go_back(run, step, wanted)
        if outcome is not None and answer.to is not None and not outcome.duplicate:
            _tell_gone(run.workspace, outcome.state, name)
        way_back.end_as_restored(done)


def _tell_gone(workspace: Workspace, sprint: Sprint, name: str) -> None:
    """Warn about later work that was also discarded."""
    if not (gone := way_back.work_gone(workspace.log, sprint)):
        return
    said = ", ".join(described(event) for event in gone[:SHOWN_MAX])
    more = " …" if len(gone) > SHOWN_MAX else ""
    be = "is" if len(gone) == 1 else "are"
    before = sprint.knowledge.rollbacks[-1][0] - 1
    way = "`sprintlog redo`"
    if name == "redo":
        # A redo cannot be undone; a rollback reverts it.
        way = f"`sprintlog rollback version:{before}`"
    output.warn(
        f"{output.counted(len(gone), 'later event')} {be} also discarded: {said}{more}; "
        f"{way} reverts this"
    )


def _with_files(run: Recording, step: way_back.Step, command: Undo | Redo) -> way_back.Step:
    """Add the associated file changes to a step, or replace it with a later file change."""
    workspace, sprint_id = run.workspace, run.sprint_id
    sprint, tree = workspace.sprint(sprint_id), workspace.tree
    if not sprint.knowledge.restored:
        return step
    alone: Restore | None
    if isinstance(command, Redo):
        alone = snapshots.files_to_redo(sprint, tree=tree)
    else:
        since = rollback_to_undo(sprint) or 0
        since = max(since, last_decision(workspace.log, sprint, after=since))
        alone = snapshots.files_to_undo(sprint, tree=tree, than=since)
    arguments = asdict(command)
    if alone is not None:
        # The file change was independent of the plan.
        order = restore_plan.RestoreOrder(alone.event.before, undoes=alone.version)
        return step._replace(order=order, command=None, arguments=arguments)
    events = workspace.preview(command, sprint_id=sprint_id, at=run.options.at)
    restore = snapshots.files_with(sprint, events, tree=tree)
    if restore is None:
        return step
    order = restore_plan.RestoreOrder(restore.event.before)
    return step._replace(order=order, arguments=arguments)


@typed.command("undo")
@with_take_back
def command(reason: str | None, **given: Any) -> None:
    """Undo the latest change: restore the state and the files from before it.

    The latest change can be a rollback, a copy of results into the work tree, an adopted
    edit, a decision (a skip, a block, an injection, a decision on a request, a stop or
    continuation by a person), the completion of the goal or the sprint, or the failure or
    gate that stopped the sprint.

    Later events are discarded as well, and listed. An interrupted restore of files is
    reverted. `sprintlog redo` reverts an undo; `sprintlog rollback` goes to any other
    point.

    Example: sprintlog undo --reason 'it was right after all'
    """
    take_back(Undo(reason), **given)
