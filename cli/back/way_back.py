"""The steps shared by rollback, undo, redo and restore: show, ask, perform and report."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event, Kind
from sprintlog.engine.log.port import Log
from sprintlog.engine.service.agent_sessions.at_work import refuse_while_at_work
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.service.streams.evaluation import evaluate
from sprintlog.engine.service.streams.history import append_end
from sprintlog.engine.service.work_tree import restore, restore_plan, snapshot
from sprintlog.engine.service.work_tree.handover import MergeBase
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.iterations.snapshots import Back
from sprintlog.engine.sprint.state import effective_history
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.text.decision_sentences import is_important, sentence
from sprintlog.projections.views import back as views
from sprintlog.projections.views.back import ChangedFiles, PlanTurn, WentBack, differing
from sprintlog.projections.views.events import described
from sprintlog.projections.views.iteration_quality import as_the_best
from sprintlog.projections.workspace import Handled

from .. import output
from ..record import Recording, summary
from ..screen import times
from .agreement import Agreement, agree, asks
from .paths import SHOWN_MAX, left_lines, warn_of_kept


def undone_event(log: Log, events: Iterable[RecordedEvent]) -> RecordedEvent | None:
    """Return the event that an undo among the given events reverted, or None."""
    for event in events:
        taken = CODEC.decode(event)
        if isinstance(taken, f.RolledBack) and taken.undoes is not None:
            at = taken.undoes
            (undone,) = log.read_stream(event.stream, after=at - 1, until=at)
            return undone
    return None


def work_gone(log: Log, sprint: Sprint) -> list[RecordedEvent]:
    """Return the later work that the last undo or redo also discarded."""
    stream, rollbacks = sprint_stream(sprint.id), sprint.knowledge.rollbacks
    at, _ = rollbacks[-1]
    last = log.read_stream(stream, after=at - 1, until=at)
    if (undone := undone_event(log, last)) is None:
        return []
    # Events of the same append do not count as later work.
    since = append_end(log, sprint, undone.version)
    return [
        event
        for first, end in effective_history.stretches_only_in(
            effective_history.effective_ranges(rollbacks, at - 1),
            effective_history.effective_ranges(rollbacks, at),
        )
        for event in log.read_stream(stream, after=max(first - 1, since), until=end)
        if _is_work(CODEC.decode(event))
    ]


def _is_work(event: Event) -> bool:
    return event.kind is Kind.EXECUTION and not isinstance(event, f.ActivitySeen)


REMOVED_SHOWN_MAX = 10
"""The maximum number of removed files that are named."""
ON_THE_WAY = {f.SnapshotTaken.type, f.RestoreStarted.type}
"""Events recorded during a restore; the answer states the number of files instead."""


class Step(NamedTuple):
    """An in-place change to the plan, to files, or to both."""

    action: str
    arguments: dict[str, Any]
    """The arguments covered by an idempotency key."""
    command: Back | None = None
    order: restore_plan.RestoreOrder | None = None
    undo: str | None = "sprintlog undo"
    """The command that undoes the step."""
    there: str | None = None
    """A description of the target state, if the step may already be done; otherwise None.
    """
    is_forced: bool = False
    """Whether to restore files although an agent is at work."""
    of_any_tree: bool = False
    """Whether the files may come from another work tree."""
    base: MergeBase | None = None
    """The base of a merge into the current files, if any."""

    def nothing(self, files: ChangedFiles | None) -> list[str]:
        """Return the lines to print for a step that changes nothing."""
        said = f"nothing to do: {self.there or 'it is so'} already"
        if files is None:
            return [said]
        if differing(files) or files.conflicts:
            said = "nothing can be restored"
        return [said, *left_lines(files.left), *conflict_lines(files)]


class Done(NamedTuple):
    """The result of a step that was performed, or shown in a dry run."""

    outcome: Handled[Any] | None
    """None after a dry run."""
    answer: WentBack


def go_back(run: Recording, step: Step, wanted: Agreement) -> Done:
    """Show or perform a step according to the options, and print the answer."""
    step = step._replace(is_forced=wanted.forced)
    if not wanted.dry_run:
        _check_work(run, step)
    if (answer := shown(run, step, wanted)) is not None:
        return Done(None, answer)
    done = perform(run, step)
    try:
        tell(run, step, done)
    finally:
        run.refresh()
    return done


def end_as_restored(done: Done) -> None:
    """Exit with status 4 if files differ from the snapshot even after the restore.

    If a merge has conflicts, exit with status 1, also after a dry run.
    """
    if done.answer.files is not None and done.answer.files.conflicts:
        sys.exit(output.REFUSED)
    if (found := differing(done.answer.files)) and done.outcome is not None:
        be = "differs" if len(found) == 1 else "differ"
        output.warn(f"{output.counted(len(found), 'path')} {be} from the snapshot")
        sys.exit(output.INTEGRITY)


def shown(run: Recording, step: Step, wanted: Agreement) -> WentBack | None:
    """Show the changes and ask for consent; return None if the step must be performed."""
    is_asked = asks(as_json=run.options.as_json)
    if not wanted.dry_run and (wanted.yes or not (is_asked or step.order)):
        return None
    answer, turn = planned(run, step)
    if wanted.dry_run:
        show(run, answer, turn, step.nothing(answer.files))
        if touches_files(answer) and not is_asked:
            hint_at(run, "pass `--yes` instead of `--dry-run` to apply the changes")
        return answer
    agree_to(run, answer, turn)
    return None


def agree_to(run: Recording, answer: WentBack, turn: PlanTurn | None = None) -> None:
    """Show the changes and ask for consent; raise `RefusedError` if it is not given."""
    is_asked = asks(as_json=run.options.as_json)
    if (is_asked and not is_nothing(answer)) or touches_files(answer):
        show(run, answer, turn)
        agree(is_asked=is_asked)


def planned(run: Recording, step: Step) -> tuple[WentBack, PlanTurn | None]:
    """Return the effect of a step without changing or recording anything."""
    workspace, sprint_id = run.workspace, run.sprint_id
    sprint = workspace.sprint(sprint_id)
    events: list[Event] = []
    if step.command is not None:
        events = workspace.preview(step.command, sprint_id=sprint_id, at=run.options.at)
    turn = views.turn_of(sprint, events, after=sprint.version)
    files = None
    if step.order is not None:
        if restore.cut_short(workspace, sprint):
            raise RefusedError(
                "a restore of files was interrupted and must be finished first",
                hint="run `sprintlog undo --yes` to revert the restore; any "
                "other recording command finishes it",
            )
        made = _restored(run, step, is_agreed=False)
        files = views.changed_files(made.plan, order=step.order, merge=made.merge)
    return views.would_go_back(step.action, sprint, turn, files), turn


def is_nothing(answer: WentBack) -> bool:
    """Return whether the step changes nothing."""
    return answer.to is None and not touches_files(answer)


def touches_files(answer: WentBack) -> bool:
    """Return whether files or folders are written, removed or changed."""
    files = answer.files
    return files is not None and bool(files.written or files.removed or files.folders)


def show(
    run: Recording,
    answer: WentBack,
    turn: PlanTurn | None = None,
    nothing: Sequence[str] = (),
) -> None:
    """Show the changes that a step would make."""
    if run.options.as_json:
        output.print_json(answer)
        return
    if nothing and is_nothing(answer):
        output.print_text(*nothing)
        return
    if turn is not None:
        stream = sprint_stream(run.sprint_id)
        discarded = [
            sentence(event)
            for first, last in turn.gone
            for event in run.workspace.log.read_stream(stream, after=first - 1, until=last)
            if is_important(event) and CODEC.events[event.type].kind is Kind.EXECUTION
        ]
        output.print_text(plan_line(turn), *named_lines("discard", discarded, SHOWN_MAX))
    if (files := answer.files) is not None:
        if files.iteration is not UNSET and touches_files(answer):
            which = _as_the_best(run, files.iteration)
            said = f"return to the end of iteration {files.iteration}{which}"
            if files.source:
                said = f"receive the changes of {files.source}@{files.iteration}"
            output.print_text(f"files  {said}")
        new = {*files.created, *files.merged}
        old = [path for path in files.written if path not in new]
        named = [("create", files.created), ("replace", old), ("remove", files.removed)]
        for word, paths in (*named, ("merge", files.merged)):
            output.print_text(*named_lines(word, paths, SHOWN_MAX))
        if not (files.written or files.removed):
            output.print_text(*named_lines("folder", files.folders, SHOWN_MAX))
        output.print_text(*left_lines(files.left), *conflict_lines(files, SHOWN_MAX))
        if not touches_files(answer):
            output.print_text(_all_as_then(files))
    elif turn is None:
        output.print_text("nothing to do")


def conflict_lines(files: ChangedFiles, hunk_lines_max: int = 0) -> list[str]:
    """Return git's messages about conflicts, each followed by the first lines of hunks."""
    lines = []
    for one in files.conflicts:
        hunks = one.hunks.splitlines()
        lines += [*one.message.splitlines(), *hunks[:hunk_lines_max]]
        if 0 < hunk_lines_max < len(hunks):
            lines.append(f"… {len(hunks) - hunk_lines_max} more lines")
    return lines


def named_lines(word: str, paths: Sequence[str], most: int) -> list[str]:
    """Return a line starting with `word` per path; beyond `most` paths, only a count."""
    more = len(paths) - most
    lines = [f"{word}  {path}" for path in paths[:most]]
    return [*lines, f"{word}  {more} more"] if more > 0 else lines


def _as_the_best(run: Recording, number: int) -> str:
    """Return why a later iteration counts as equal to the best one, or an empty string."""
    sprint = run.workspace.sprint(run.sprint_id)
    best = sprint.knowledge.tracker.best
    if best is None or number <= best.number:
        return ""
    judged = evaluate(run.workspace.log, sprint)
    if number != judged.target():
        return ""
    return f": {as_the_best(judged, number)}, iteration {best.number}, and later"


def plan_line(turn: PlanTurn) -> str:
    """Return a line that describes the change of the plan."""
    gone, again = turn.numbers
    counts = [
        f"{output.counted(number, 'event')} {'is' if number == 1 else 'are'} {what}"
        for number, what in ((gone, "discarded"), (again, "effective again"))
        if number
    ]
    said = f": {', '.join(counts)}" if counts else ""
    return f"plan  returns to version {turn.to}{said}"


def _check_work(run: Recording, step: Step) -> None:
    """Raise `RefusedError` if a step would change files while an agent is working."""
    if step.order is not None and not step.order.into and not step.is_forced:
        refuse_while_at_work(run.workspace.location)


def perform(run: Recording, step: Step) -> Done:
    """Perform a step; if files changed in the meantime, save them and print a warning."""
    workspace, files = run.workspace, None
    _check_work(run, step)
    if step.order is None:
        assert step.command is not None
        outcome: Handled[Any] = run.handle_with(step.command, step.arguments)
    else:
        restored = _restored(run, step, is_agreed=True)
        assert restored.outcome is not None
        made, outcome = restored.plan, restored.outcome
        if restored.placed is None:
            # No file had to be changed.
            made = made._replace(writes={}, removals=[], folders={}, folders_gone=[])
        files = views.changed_files(
            made, order=step.order, placed=restored.placed, merge=restored.merge
        )
        warn_of_kept(snapshot.store_of(workspace).folder, restored.placed)
    answer = views.went_back(
        WentBack,
        step.action,
        outcome,
        # The end of a restore is recorded after its start.
        version=workspace.sprint(run.sprint_id).version,
        files=files,
        undo=step.undo if outcome.events else None,
    )
    return Done(outcome, answer)


def _restored(run: Recording, step: Step, *, is_agreed: bool) -> restore.Restored:
    """Restore a step's files in place, or only plan the restore."""
    assert step.order is not None
    workspace = run.workspace
    doing = "comparing the files with the snapshot"
    if is_agreed:
        doing = "saving the current files and restoring the earlier ones"
    with output.progress_if_long(doing):
        return restore.in_place(
            workspace,
            run.sprint_id,
            step.order,
            is_agreed=is_agreed,
            envelope=run.envelope(step.arguments),
            roll_back=step.command,
            of_any_tree=step.of_any_tree,
            base=step.base,
            # A rollback of the plan already contains the reason.
            reason=step.arguments.get("reason") if step.command is None else None,
        )


def tell(run: Recording, step: Step, done: Done) -> None:
    """Print an answer for a script or a person."""
    outcome, answer = done
    if run.options.as_json:
        output.print_json(answer)
        return
    if step.there and outcome is not None and not (outcome.events or outcome.duplicate):
        output.print_text(*step.nothing(answer.files))
        return
    lines: Sequence[str] = []
    if outcome is not None and (outcome.events or answer.files is None):
        lines = [summary(outcome, unsaid=ON_THE_WAY), *_taken_back(run, outcome)]
    output.print_text(*lines, *file_lines(answer.files))


def _taken_back(run: Recording, outcome: Handled[Any]) -> list[str]:
    """Return a line about the event that an undo reverted; for a rollback, no lines."""
    if (undone := undone_event(run.workspace.log, outcome.events)) is None:
        return []
    return [f"undid: {described(undone)}, of {times.when(undone.at)}"]


def file_lines(files: ChangedFiles | None) -> list[str]:
    """Return lines that summarize the changes to files."""
    if files is None:
        return []
    where = f" in {files.into}/" if files.into else ""
    said = _all_as_then(files)
    if files.written or files.removed:
        written, removed = output.counted(len(files.written), "file"), len(files.removed)
        said = f"{written} written, {removed} removed{where}"
    elif files.folders:
        folders = output.counted(len(files.folders), "folder")
        said += f"; {folders} created, removed or with a changed mode"
    gone = named_lines("removed", files.removed, REMOVED_SHOWN_MAX)
    return [said, *gone, *left_lines(files.left), *conflict_lines(files)]


def _all_as_then(files: ChangedFiles) -> str:
    return f"every {'other ' if differing(files) else ''}file already has its old content"


def hint_at(run: Recording, text: str | None) -> None:
    """Print a hint, unless the output is JSON."""
    if text is not None and not run.options.as_json:
        output.hint(text)
