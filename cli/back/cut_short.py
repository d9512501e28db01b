"""Files that were being brought back when something broke off: all is put back."""

from sprintlog.engine.service.agent_sessions.at_work import refuse_while_at_work
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.service.work_tree import restore
from sprintlog.engine.service.work_tree.snapshot import store_of
from sprintlog.projections.views import back as views
from sprintlog.projections.views.back import ChangedFiles
from sprintlog.projections.workspace import Outcome

from ..output import print_json, print_text
from ..record import Recording, summary
from .agreement import Agreement
from .paths import warn_of_kept
from .way_back import Done, agree_to, end_as_restored, file_lines, show


def put_back(run: Recording, wanted: Agreement) -> bool:
    """Give up what was cut short in this work tree; tell whether there was anything."""
    workspace, sprint_id = run.workspace, run.sprint_id
    sprint, store = workspace.sprint(sprint_id), store_of(workspace)
    if not restore.cut_short(workspace, sprint):
        return False
    would = _together(
        [views.changed_files(plan) for plan in restore.ways_back(workspace, store, sprint)]
    )
    planned = views.would_go_back("undo", sprint, sprint_stream(sprint_id), None, would)
    if wanted.is_dry:
        show(run, planned)
        return True
    if not wanted.is_agreed:
        agree_to(run, planned)
    if not wanted.is_forced:
        refuse_while_at_work(workspace.location)
    done = restore.give_up(workspace, sprint_id, store, actor=run.options.actor)
    events = [event for given_up in done for event in given_up.events]
    outcome = Outcome(workspace.sprint(sprint_id), events)
    files = _together([views.changed_files(d.plan, placed=d.placed) for d in done])
    answer = views.went_back(
        views.WentBack,
        "undo",
        sprint_stream(sprint_id),
        outcome,
        version=outcome.state.version,
        files=files,
    )
    try:
        if run.options.as_json:
            print_json(answer)
        else:
            print_text(summary(outcome), *file_lines(files))
    finally:
        run.refresh()
    for given_up in done:
        warn_of_kept(store.folder, given_up.placed)
    end_as_restored(Done(outcome, answer))
    return True


def _together(all_files: list[ChangedFiles]) -> ChangedFiles:
    """Return what is done to files by several, one after another."""
    return ChangedFiles(
        written=[path for files in all_files for path in files.written],
        removed=[path for files in all_files for path in files.removed],
        left=[path for files in all_files for path in files.left],
        kept=[path for files in all_files for path in files.kept],
    )
