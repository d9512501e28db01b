"""`sprintlog adopt --journal`: an observed edit of progress.json becomes events."""

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.journal.corrections import AdoptJournalEdit
from sprintlog.engine.journal.state.journal import JOURNAL
from sprintlog.engine.service.adopt import edit_of
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import EditAdopted

from ..intake.journal import read_journal
from ..output import warn
from ..record import Options, recording


def adopt_in_journal(options: Options, version: int | None) -> None:
    """Put right what an edit changed, the latest one or that at a version."""
    with recording("adopt", options.with_values(masks=False)) as run:
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
                wish="adopt",
            )
        theirs = read_journal(content, file=event.kept).document
        base = workspace.documents.at_version(JOURNAL, event.since)
        command = AdoptJournalEdit(edit, event, base, theirs)
        outcome = run.act_on_journal(command, {"edit": edit})
        run.answer(outcome)
        for adopted in () if outcome.duplicate else map(CODEC.decode, outcome.events):
            for reason in adopted.left if isinstance(adopted, EditAdopted) else ():
                warn(f"not adopted: {reason}")
