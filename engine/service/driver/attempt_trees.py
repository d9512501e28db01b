"""The work trees of a race's attempts, and their removal after a snapshot."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ...adapters.git import linked_trees
from ...adapters.git.command import Git
from ...adapters.git.repositories import linked_directory
from ...adapters.processes.process import host
from ...adapters.snapshots.branch import repository_at
from ...adapters.snapshots.capture import TakenSnapshot
from ...adapters.snapshots.listing import OTHER_TREE
from ...adapters.snapshots.plan import is_in
from ...errors import RefusedError
from ...races.events import AttemptRemoved
from ...races.state import Attempt, Race
from ..port import Service
from ..streams.catalogue import sprint_stream
from ..work_tree.own_paths import kept_out
from ..work_tree.snapshot import kept_files, shown, store_of, take_and_record
from ..workspace import ServiceWorkspace

REFS = "refs/sprintlog/attempts/"
"""The prefix of references to the last commits of removed work trees."""
BESIDE = (".log", ".ready")
"""The suffixes of the files of a race next to each worktree."""
SHOWN_MAX = 20


class AttemptTree(NamedTuple):
    """An attempt's work tree on this host."""

    attempt: Attempt
    sprint: str
    base: Path
    """The folder of local state, below which all attempts are."""
    path: str
    """The work tree's path below `base`."""
    directory: Path | None
    """The git directory of the work tree; None if git does not know the work tree."""
    exists: bool

    @property
    def whole(self) -> Path:
        """Return the work tree's absolute path."""
        return self.base / self.path


def trees_to_remove(workspace: Service, race: Race, folder: Path) -> list[AttemptTree]:
    """Return the work trees of an ended race that are left in this host's folder.

    The folder is `attempts/ID` below the user's local state. Raise `RefusedError` if the
    race is running, or if a work tree is in use.
    """
    base, below = folder.parent.parent, f"{folder.parent.name}/{folder.name}"
    if race.decided is None:
        raise RefusedError(
            f"race {race.id} has not ended",
            hint="wait until it has ended, or continue it with the command that started it",
            race=race.id,
        )
    common, found = repository_at(workspace.location.root).common, []
    for number, attempt in race.attempts.items():
        started = attempt.started
        path = f"{below}/{race.id}/{number}"
        here = (host(), str(base / path))
        if started is None or (started.host, started.path) != here:
            continue
        exists = linked_trees.check_plain(base, path)
        directory = linked_trees.administration(common, base / path)
        if exists and (why := linked_trees.in_use(base / path, directory)) is not None:
            raise RefusedError(
                f"nothing was removed: {base / path} is in use: {why}", race=race.id
            )
        if exists or directory is not None or attempt.removed is None:
            found.append(
                AttemptTree(attempt, started.sprint, base, path, directory, exists)
            )
    return found


def remove_tree(
    workspace: Service,
    tree: AttemptTree,
    append: Callable[[AttemptRemoved], object],
    *,
    discards_omitted: bool,
    actor: str,
) -> str | None:
    """Record a snapshot of a work tree and its removal, and remove the tree.

    Return the snapshot, if any. A removal that was recorded earlier is only finished.
    """
    if (removed := tree.attempt.removed) is None:
        snapshot, left = None, ["."]
        if tree.exists:
            _keep_commit(workspace, tree)
            if _can_be_saved(workspace, tree):
                with _opened(workspace, tree) as there:
                    _, taken = take_and_record(
                        there, tree.sprint, envelope={"actor": actor}
                    )
                    snapshot, left = taken.commit, omitted(there, taken)
            if not discards_omitted:
                check_nothing_omitted(tree, left)
        removed = AttemptRemoved(tree.attempt.number, str(tree.whole), snapshot)
        append(removed)
    linked_trees.remove(tree.base, tree.path, tree.directory, BESIDE)
    return removed.snapshot


def check_removal(workspace: Service, tree: AttemptTree) -> list[str]:
    """Return the paths that a snapshot of a work tree would omit."""
    if not tree.exists or tree.attempt.removed is not None:
        return []
    if not _can_be_saved(workspace, tree):
        return ["."]
    with _opened(workspace, tree) as there, kept_files(there, tree.sprint) as (taken, _):
        return omitted(there, taken)


def _can_be_saved(workspace: Service, tree: AttemptTree) -> bool:
    """Return whether a folder still is the work tree of a sprint in this log."""
    found, known = linked_directory(tree.whole / ".git"), tree.directory
    if found is None or known is None or found != known.resolve():
        return False
    return workspace.log.version(sprint_stream(tree.sprint)) > 0


def check_nothing_omitted(tree: AttemptTree, paths: Sequence[str]) -> None:
    """Raise `RefusedError` if a snapshot of a work tree omits any path."""
    if paths:
        named = ", ".join(paths[:SHOWN_MAX])
        more = f" and {len(paths) - SHOWN_MAX} more" if paths[SHOWN_MAX:] else ""
        raise RefusedError(
            f"{tree.whole} contains files that its snapshot omits: {named}{more}",
            hint="copy the files that you need, then pass --discard-omitted",
            files=[*paths],
        )


def omitted(workspace: Service, taken: TakenSnapshot) -> list[str]:
    """Return the paths in a work tree, ignored ones included, that a snapshot omits."""
    own = kept_out(workspace)
    found = [path for path, reason in taken.left_out if reason != OTHER_TREE]
    unseen = store_of(workspace).read(taken.commit).unseen
    paths = {path.rstrip("/") for path in (*found, *unseen)}
    return [shown(path) or "." for path in sorted(paths) if not is_in(path, own)]


@contextmanager
def _opened(workspace: Service, tree: AttemptTree) -> Iterator[ServiceWorkspace]:
    """Open the same log in an attempt's work tree."""
    location = workspace.location
    folder, address = str(location.folder), location.address
    with ServiceWorkspace.open(tree.whole, folder=folder, address=address) as there:
        there.environment, there.tell = workspace.environment, workspace.tell
        there.setting = workspace.setting
        yield there


def _keep_commit(workspace: Service, tree: AttemptTree) -> None:
    """Keep a commit that only the work tree refers to, by a reference."""
    started, directory = tree.attempt.started, tree.directory
    commit = linked_trees.head_of(directory) if directory is not None else ""
    if commit and started is not None and commit != started.commit:
        common = repository_at(workspace.location.root).common
        git = Git(common, store_of(workspace).git.environment)
        git.run_in(common, "update-ref", f"{REFS}{tree.sprint}", commit, umask=-1)
