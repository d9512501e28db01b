"""How a sprint gets the place of its file: a finished one that had it gives it free."""

from typing import Protocol

from sprintlog.engine.log.fact import Fact, Kind
from sprintlog.engine.sprint.events import Place
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.words import COMPLETED

from .sprint_file import Acting, sprint_files


class Placing(Acting, Protocol):
    """What of a workspace is needed here."""

    def check_place(self, sprint_id: str, place: Place | None) -> None:
        """Raise `RefusedError` when an unfinished sprint writes its file there."""
        ...


def take_place(workspace: Placing, sprint: Sprint, facts: list[Fact]) -> None:
    """See that no other sprint's file is where this one's will be written.

    A finished sprint that goes on takes its place back. Raise `RefusedError` where an
    unfinished one has it.
    """
    place = next((p for fact in facts if (p := getattr(fact, "place", None))), None)
    goes_on = any(fact.kind is not Kind.KNOWLEDGE for fact in facts)
    if place is None and goes_on and sprint.plan.status == COMPLETED:
        place = sprint.plan.place
    if place is not None:
        free_place(workspace, sprint.id, place)


def free_place(workspace: Placing, sprint_id: str, place: Place) -> None:
    """Make a place free for a sprint; raise `RefusedError` where it is not.

    The last file of a finished sprint that was there is kept in the log's folder.
    """
    workspace.check_place(sprint_id, place)
    holder = workspace.holder(place)
    if holder in (None, sprint_id) or place.worktree != workspace.location.worktree:
        return
    sprint_files(workspace).refresh(str(holder))
    workspace.files.hand_over(place.path, of=str(holder))
