"""`sprintlog adopt`: an edit that was observed becomes events."""

from typing import TYPE_CHECKING, Any

import click

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.service.adopt import edit_of, observed_edit
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.service.workspace import JOURNAL
from sprintlog.engine.sprint.document.adoption import AdoptEdit
from sprintlog.engine.sprint.events import EditAdopted
from sprintlog.projections.state_files.sprint_file import SprintFile
from sprintlog.projections.workspace import Handled, Outcome

from .. import typed
from ..context import with_recording
from ..output import warn
from ..record import Options, Recording, recording

if TYPE_CHECKING:
    from sprintlog.engine.journal.state.journal import Journal


@typed.command("adopt", epilog="Example: sprintlog adopt --actor operator:ana")
@click.argument("version", type=click.IntRange(1), required=False)
@typed.option("--journal", "of_journal", is_flag=True, help="An edit of progress.json.")
@with_recording
def command(version: int | None, of_journal: bool, **given: Any) -> None:
    """Make events of an edit of PROGRESS.yaml, the latest one or that at VERSION.

    Statuses go through the commands that lead there, new phases and steps are injected,
    other fields come in as a patch. What is derived, what no command allows and what
    changed here since then is left and told. With --journal the entries, learnings and
    patterns that were edited are put right.
    """
    options = Options(given)
    if of_journal:
        options = options.with_values(masks=False)
    with recording("adopt", options) as run:
        outcome = _in_journal(run, version) if of_journal else _in_sprint(run, version)
        run.answer(outcome)
        if of_journal and outcome.duplicate:
            return
        for adopted in map(CODEC.decode, outcome.events):
            for reason in adopted.left if isinstance(adopted, EditAdopted) else ():
                warn(f"not adopted: {reason}")


def _in_sprint(run: Recording, version: int | None) -> Outcome:
    """Adopt an edit of PROGRESS.yaml."""
    if version is None:
        # An edit that stands there is recorded; nothing of it is adopted yet.
        SprintFile(run.workspace).refresh(run.sprint_id)
    edit, observed, base = observed_edit(run.workspace, run.sprint_id, version)
    by = run.options.actor
    command = AdoptEdit(edit=edit, observed=observed, base=base, by=by)
    return run.handle_with(command, {"edit": edit})


def _in_journal(run: Recording, version: int | None) -> "Handled[Journal]":
    """Put right what an edit of the journal's file changed."""
    # Imported here: an edit of a sprint's file needs no pydantic.
    from sprintlog.engine.journal.corrections import AdoptJournalEdit

    from ..intake.journal import read_journal

    workspace = run.workspace
    if version is None:
        workspace.refresh_journal()
    edit, event = edit_of(
        workspace.log,
        JOURNAL,
        version,
        of="the journal",
        hint="`sprintlog log --journal --type edit-observed` lists them",
    )
    content = workspace.files.kept(event.path, bytes.fromhex(event.digest))
    if content is None or not event.since:
        raise RefusedError(
            f"the edit at version {edit} cannot be adopted: its bytes, or the version "
            "that was edited, are not known",
            hint="`sprintlog import journal FILE` takes in what is new of a file",
            command="adopt",
        )
    theirs = read_journal(content, file=event.kept).document
    base = workspace.documents.at_version(JOURNAL, event.since)
    command = AdoptJournalEdit(edit, event, base, theirs)
    return run.handle_on_journal(command, {"edit": edit})
