"""`sprintlog adopt`: an edit that was observed becomes events."""

from typing import Any

import click

from sprintlog.engine.service.adopt import observed_edit
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.document.adoption import AdoptEdit
from sprintlog.engine.sprint.events import EditAdopted
from sprintlog.projections.state_files.sprint_file import SprintFile

from ..context import with_recording
from ..output import warn
from ..record import Options, recording


@click.command("adopt", epilog="Example: sprintlog adopt --actor operator:ana")
@click.argument("version", type=click.IntRange(1), required=False)
@click.option("--journal", "of_journal", is_flag=True, help="An edit of progress.json.")
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
        from .adopt_journal import adopt_in_journal

        adopt_in_journal(options, version)
        return
    with recording("adopt", options) as run:
        workspace, name = run.workspace, run.sprint_id
        if version is None:
            # An edit that stands there is recorded; nothing of it is adopted yet.
            SprintFile(workspace).refresh(name)
        edit, observed, base = observed_edit(workspace, name, version)
        command = AdoptEdit(edit=edit, observed=observed, base=base, by=options.actor)
        outcome = run.act(command, {"edit": edit})
        run.answer(outcome)
        for recorded in outcome.events:
            event = CODEC.decode(recorded)
            for reason in event.left if isinstance(event, EditAdopted) else ():
                warn(f"not adopted: {reason}")
