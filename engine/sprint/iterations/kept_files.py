"""Whether two iterations left the same files: read out of what was recorded of them."""

from collections.abc import Callable

from ...errors import NotFoundError
from ...log.event import Event
from ..events import OF_ITERATION, SnapshotTaken
from ..state.sprint import Sprint
from .snapshots import snapshot_of


def has_same_files(
    sprint: Sprint, event_at: Callable[[int], tuple[str, Event]], one: int, other: int
) -> bool:
    """Tell whether the same files were kept of two iterations, and all of them."""
    worktrees = {
        held.worktree
        for held in sprint.knowledge.snapshots
        if held.purpose == OF_ITERATION and held.iteration in (one, other)
    }
    trees = {
        _tree(sprint, event_at, number, worktree)
        for number in (one, other)
        for worktree in worktrees
    }
    return len(trees) == 1 and None not in trees


def _tree(
    sprint: Sprint,
    event_at: Callable[[int], tuple[str, Event]],
    number: int,
    worktree: str,
) -> str | None:
    """Return the id of an iteration's files; None unless all of them are known."""
    try:
        held = snapshot_of(sprint, number, worktree=worktree)
    except NotFoundError:
        return None
    _, taken = event_at(held.version)
    if not isinstance(taken, SnapshotTaken) or taken.left_out_count:
        return None
    return taken.tree
