"""Events that change no state: notes, and edits somebody else made to a state file."""

from ...command import Command, Commands, Events
from ...errors import NotFoundError, RefusedError
from ...log.event import Event
from ..events import NoteAdded
from ..state.sprint import Sprint
from ..state.transitions import check_exists


class AddNote(Command, frozen=True):
    """Leave a remark for whoever reads the log, about a phase or the whole sprint."""

    text: str
    phase: str | None = None


def add_note(sprint: Sprint, command: AddNote, at: str) -> list[Event]:
    """Decide on `AddNote`."""
    check_exists(sprint)
    if not command.text.strip():
        raise RefusedError("a note needs text", field="text")
    if command.phase is not None and sprint.plan.tree.find(command.phase) is None:
        raise NotFoundError(
            f"there is no phase {command.phase} in sprint {sprint.id}", phase=command.phase
        )
    return [NoteAdded(command.text, command.phase)]


COMMANDS: Commands = {AddNote: add_note}

CAUSED: Events = {NoteAdded: AddNote}
