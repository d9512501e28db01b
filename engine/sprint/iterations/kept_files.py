"""The files of iterations, as events state them: equal ones, and those left out."""

from collections.abc import Callable, Sequence

from ...errors import NotFoundError
from ...log.event import Event
from ..events import OF_ITERATION, FileLeft, SnapshotTaken
from ..state.knowledge import WorkTree
from ..state.sprint import Sprint
from .snapshots import snapshot_of

LEFT_SHOWN_MAX = 3
"""More paths that are left out are only counted."""


def left_words(left: Sequence[FileLeft], count: int) -> str:
    """Return in a line which paths a snapshot does not contain, and how many they are."""
    named = ", ".join(
        f"{one.path or 'all'} ({one.reason})" for one in left[:LEFT_SHOWN_MAX]
    )
    more = f" and {count - LEFT_SHOWN_MAX} more" if count > LEFT_SHOWN_MAX else ""
    paths = "path is" if count == 1 else "paths are"
    return f"{count} {paths} not in the snapshot: {named}{more}"


def has_same_files(
    sprint: Sprint, event_at: Callable[[int], tuple[str, Event]], one: int, other: int
) -> bool:
    """Return whether complete snapshots of two iterations have the same files."""
    where = {
        WorkTree(held.work_tree, (held.worktree,))
        for held in sprint.knowledge.snapshots
        if held.purpose == OF_ITERATION and held.iteration in (one, other)
    }
    trees = {
        _tree(sprint, event_at, number, work_tree)
        for number in (one, other)
        for work_tree in where
    }
    return len(trees) == 1 and None not in trees


def _tree(
    sprint: Sprint,
    event_at: Callable[[int], tuple[str, Event]],
    number: int,
    work_tree: WorkTree,
) -> str | None:
    """Return the id of an iteration's files; None unless all of them are known."""
    try:
        held = snapshot_of(sprint, number, tree=work_tree)
    except NotFoundError:
        return None
    _, taken = event_at(held.version)
    if not isinstance(taken, SnapshotTaken) or taken.left_out_count:
        return None
    return taken.tree
