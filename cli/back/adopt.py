"""The `sprintlog adopt` command: record an observed edit as events."""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.journal.foreign import AdoptJournalEdit
from sprintlog.engine.log.event import Event
from sprintlog.engine.service.adopt import edit_of, observed_edit
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.service.workspace import JOURNAL
from sprintlog.engine.sprint.events import EditAdopted
from sprintlog.engine.sprint.plan.adoption import AdoptEdit
from sprintlog.projections.history.differences import preview, preview_journal
from sprintlog.projections.state_files.sprint_file import SprintFile
from sprintlog.projections.views import back as views
from sprintlog.projections.views.events import said_of
from sprintlog.projections.workspace import Handled

from .. import context, output, typed
from ..record import Recording, recording, refresh_stream, stream_of, summary
from .agreement import LEAVE, Agreement, agree, asks, with_asking
from .changes import changed


@typed.command("adopt")
@typed.argument("version", type=click.IntRange(1), required=False)
@typed.flag("--journal", "of_journal", help="Adopt an edit of progress.json.")
@with_asking
@context.with_recording
def command(version: int | None, of_journal: bool, wanted: Agreement, **given: Any) -> None:
    """Record an edit of PROGRESS.yaml as events: the latest edit, or the edit at VERSION.

    Statuses are set by the corresponding commands, new phases and steps are injected, and
    other fields are patched. Derived fields, changes that no command allows and fields
    changed since the edit are skipped and reported. `sprintlog undo` reverts the adoption.

    With --journal, edited entries, learnings and patterns are corrected; this cannot be
    undone.

    Example: sprintlog adopt --actor operator:ana
    """
    with recording("adopt", given) as run:
        sprint_id = None if of_journal else run.sprint_id
        adopt = (_journal_edit if of_journal else _sprint_edit)(run, version, wanted)
        if wanted.dry_run or (asks(as_json=run.options.as_json) and not wanted.yes):
            events = run.workspace.preview(adopt, sprint_id=sprint_id, at=run.options.at)
            stream = JOURNAL if sprint_id is None else sprint_stream(sprint_id)
            if _show(run, events, stream, wanted):
                return
        outcome: Handled[Any]
        if isinstance(adopt, AdoptEdit):
            outcome = run.handle_with(adopt, {"edit": adopt.edit})
        else:
            outcome = run.handle_on_journal(adopt, {"edit": adopt.edit})
        _tell(run, outcome, undo=None if of_journal else "sprintlog undo")


def _sprint_edit(run: Recording, version: int | None, wanted: Agreement) -> AdoptEdit:
    """Return the command that adopts an edit of PROGRESS.yaml."""
    if version is None:
        # An edit of the file is recorded first, but not adopted.
        _observe(run, wanted)
    edit, observed, base = observed_edit(run.workspace, run.sprint_id, version)
    return AdoptEdit(edit=edit, observed=observed, base=base, by=run.options.actor)


def _observe(run: Recording, wanted: Agreement) -> None:
    workspace, sprint_id = run.workspace, run.sprint_id
    if not wanted.dry_run:
        SprintFile(workspace).refresh(workspace.sprint(sprint_id))
        return
    found = SprintFile(workspace).check(workspace.sprint(sprint_id))
    if found.state == "edited":
        raise RefusedError(
            f"the edit of {found.path} is not recorded yet, and a dry run records nothing",
            hint="run `sprintlog rebuild` to save the edited file and "
            "regenerate it, then repeat the dry run",
            file=found.path,
        )


def _journal_edit(
    run: Recording, version: int | None, wanted: Agreement
) -> AdoptJournalEdit:
    """Return the command that adopts an edit of the journal file."""
    from ..intake.journal import read_journal

    workspace = run.workspace
    if version is None and not wanted.dry_run:
        workspace.refresh_journal()
    edit, event = edit_of(
        workspace.log,
        JOURNAL,
        version,
        of="the journal",
        hint="run `sprintlog log --journal --type edit-observed` to list the edits",
    )
    content = workspace.files.kept(event.path, bytes.fromhex(event.digest))
    if content is None or not event.since:
        raise RefusedError(
            f"cannot adopt the edit at version {edit}: its content or the version that "
            "was edited is unknown",
            hint="use `sprintlog import journal FILE` to add new parts of a file",
            command="adopt",
        )
    theirs = read_journal(content, file=event.kept).document
    base = workspace.documents.at_version(JOURNAL, event.since)
    return AdoptJournalEdit(edit, event, base, theirs)


def _show(run: Recording, events: Sequence[Event], stream: str, wanted: Agreement) -> bool:
    """Show the events and ask for consent; return True if recording must be skipped."""
    if run.options.as_json:
        version = run.workspace.log.version(stream)
        output.print_json(views.would_adopt(stream, version, *_adopted(events)))
        return True
    output.print_text(*_would_set(run, events, stream))
    _warn_of_left(_adopted(events)[1])
    if not events:
        output.print_text("nothing to do")
    elif wanted.dry_run:
        output.print_text(f"would record {', '.join(map(said_of, events))}; {LEAVE}")
    else:
        agree(is_asked=True)
    return wanted.dry_run


def _would_set(run: Recording, events: Sequence[Event], stream: str) -> Iterator[str]:
    """Yield a line for each field that the events would set."""
    if not events:
        return
    workspace, at = run.workspace, run.options.at or run.workspace.now()
    fields = (
        preview_journal(workspace, events, at=at)
        if stream == JOURNAL
        else preview(workspace, run.sprint_id, events, at=at)
    )
    for change in fields:
        yield changed(change, indent="would set ")


def _tell(run: Recording, outcome: Handled[Any], *, undo: str | None) -> None:
    adopted, left = _adopted([*map(CODEC.decode, outcome.events)])
    stream = stream_of(outcome.state)
    answer = views.went_back(
        views.Adopted,
        "adopt",
        outcome,
        version=outcome.state.version,
        undo=undo if outcome.events else None,
        adopted=adopted,
        left=left,
    )
    try:
        output.print_answer(answer, [summary(outcome)], as_json=run.options.as_json)
    finally:
        refresh_stream(run.workspace, stream)
    if undo is not None or not outcome.duplicate:
        _warn_of_left(left)


def _adopted(events: Sequence[Event]) -> tuple[list[str], list[str]]:
    """Return the adopted paths and the descriptions of the skipped changes."""
    told = [event for event in events if isinstance(event, EditAdopted)]
    adopted = [path for event in told for path in event.adopted]
    return adopted, [said for event in told for said in event.left]


def _warn_of_left(left: Sequence[str]) -> None:
    for reason in left:
        output.warn(f"not adopted: {reason}")
