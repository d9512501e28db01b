"""The `sprintlog note` command: add a remark to the log."""

from typing import Any

from sprintlog.engine.sprint.phases.lifecycle import AddNote

from .. import typed
from ..context import with_recording
from ..record import record


@typed.command("note")
@typed.argument("text")
@typed.option("--phase", metavar="ADDRESS", help="The subject of the note. [the sprint]")
@with_recording
def command(text: str, phase: str | None, **given: Any) -> None:
    """Add a note for readers of the log; the state does not change.

    Example: sprintlog note 'retried by hand, flaky network'
    """
    record("note", given, AddNote(text, phase))
