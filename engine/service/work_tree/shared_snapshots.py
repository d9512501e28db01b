"""Snapshots shared between machines: pushed when recorded, fetched when missing.

The log is written first, so everything that is pushed is recorded. An unreachable remote is
not an error: the missing snapshots are pushed with the next snapshot.
"""

from collections.abc import Collection, Iterator

from ...adapters.snapshots.remote import Remote
from ...adapters.snapshots.store import Store
from ...errors import NotFoundError, SprintlogError
from ...sprint.events import BEFORE_RESTORE
from ...sprint.state.knowledge import HeldSnapshot
from ...sprint.state.sprint import Sprint
from ..place.trees import shown_tree
from ..port import Service, mention


def share(workspace: Service, store: Store, sprint: Sprint) -> None:
    """Push the snapshots of a sprint's iterations to the remote, if one is configured.

    A failure is only a warning.
    """
    if (url := workspace.setting("snapshot.remote")) is None:
        return
    own = store.snapshots()
    held = [
        one.snapshot
        for one in sprint.knowledge.snapshots
        if one.purpose != BEFORE_RESTORE and one.snapshot in own
    ]
    try:
        Remote(store, url).push(held)
    except SprintlogError as error:
        mention(workspace, f"snapshots are kept here only: {error.message}")


def forget(workspace: Service, store: Store, commits: Collection[str]) -> None:
    """Remove snapshots from the remote; a failure is only a warning."""
    try:
        if commits and (url := workspace.setting("snapshot.remote")) is not None:
            Remote(store, url).forget(commits)
    except SprintlogError as error:
        mention(workspace, f"the remote still has what was let go here: {error.message}")


def bring(workspace: Service, store: Store, commit: str) -> None:
    """Fetch a snapshot from another machine into the store, if possible.

    Otherwise, raise a `NotFoundError` that names the machine that has its files.
    """
    try:
        store.read(commit)
    except NotFoundError as missing:
        if (taken := next(_named(workspace, commit), None)) is None:
            raise
        if (url := workspace.setting("snapshot.remote")) is not None:
            _fetch(Remote(store, url), store, taken, shown_tree(workspace.location, taken))
        elif workspace.tree.has(taken):
            raise
        else:
            raise NotFoundError(
                f"the files of snapshot {commit[:12]} are in the store of "
                f"{shown_tree(workspace.location, taken)}, but not in this work tree's "
                "store",
                hint=f"run `sprintlog restore snapshot:{commit[:12]}` there to extract "
                "them; set `snapshot.remote` in sprintlog.toml to share future "
                "snapshots",
                snapshot=commit,
                worktree=taken.worktree,
            ) from missing


def _fetch(remote: Remote, store: Store, taken: HeldSnapshot, where: str) -> None:
    try:
        with store.lock():
            remote.fetch(taken.snapshot)
    except NotFoundError as error:
        raise NotFoundError(
            f"{error.message}: its files are in the store of {where}",
            hint="take another snapshot on that machine, which also pushes the missing "
            "files",
            snapshot=taken.snapshot,
            worktree=taken.worktree,
        ) from error


def _named(workspace: Service, commit: str) -> Iterator[HeldSnapshot]:
    for name in workspace.sprints():
        for held in workspace.sprint(name).knowledge.snapshots:
            if held.snapshot == commit:
                yield held
