"""Events that change no state: notes, and edits somebody else made to a state file."""

from ...errors import NotFoundError, RefusedError
from ...log.event import Event
from ..events import NoteAdded
from ..state.sprint import Sprint
from ..state.transitions import check_exists


def add_note(sprint: Sprint, *, text: str, phase: str | None = None) -> list[Event]:
    """Leave a remark for whoever reads the log, about a phase or the whole sprint."""
    check_exists(sprint)
    if not text.strip():
        raise RefusedError("a note needs text", field="text")
    if phase is not None and sprint.plan.tree.find(phase) is None:
        raise NotFoundError(f"there is no phase {phase} in sprint {sprint.id}", phase=phase)
    return [NoteAdded(text, phase)]
