"""Merges of another sprint's files into this work tree, as the target of a restore."""

from contextlib import ExitStack
from typing import NamedTuple

from ...adapters.git.untrusted import UntrustedGit, borrowed
from ...adapters.snapshots.branch import (
    Blob,
    HeadEntry,
    entries_of,
    in_another_form,
    repository_at,
)
from ...adapters.snapshots.entries import GIT_MODES, Snapshot, TreeEntry, parents_of
from ...adapters.snapshots.merge import (
    Base,
    Merge,
    file_merger,
    is_same,
    keep_merged,
    merge,
)
from ...adapters.snapshots.objects import DamagedError, blobs_of
from ...adapters.snapshots.plan import is_in, meant
from ...adapters.snapshots.store import Store
from ...errors import RefusedError
from ...sprint.events import OF_ITERATION, AgentRan
from ...sprint.state.knowledge import HeldSnapshot
from ...sprint.state.sprint import Sprint
from ...sprint.state.times import parse
from ..port import Service
from .own_paths import own_paths
from .restore_plan import RestoreOrder, check_meant
from .shared_snapshots import bring
from .snapshot import find_snapshot, shown

SHOWN_MAX = 10
_KINDS = {int(mode, 8) for mode in GIT_MODES}


class MergeBase(NamedTuple):
    """The files from which another sprint started, and how its changes are merged."""

    snapshot: str = ""
    commit: str = ""
    """The commit, if there is no snapshot; without both, nothing is known."""
    only_committed: bool = False
    """Whether to refuse to change files with uncommitted changes."""


def merge_of(
    workspace: Service, sprint_id: str, point: str
) -> tuple[RestoreOrder, MergeBase]:
    """Return an order to merge a sprint's iteration, `N` or `best`, and its base.

    The base is the snapshot from before the sprint's first iteration in that work tree or,
    if there is none, the commit that was checked out then.
    """
    sprint = workspace.sprint(sprint_id)
    held = find_snapshot(workspace, sprint, point)
    order = RestoreOrder(
        *(held.snapshot, held.iteration), source=sprint.id, merged=held.snapshot
    )
    return order, _base(workspace, sprint, held)


def _base(workspace: Service, sprint: Sprint, held: HeldSnapshot) -> MergeBase:
    here = (held.work_tree, held.worktree)
    for first in sprint.knowledge.snapshots:
        is_first = (first.work_tree, first.worktree) == here
        if is_first and first.purpose == OF_ITERATION:
            if first.iteration == 0:
                return MergeBase(first.snapshot)
            break
    for ran in workspace.repository.events(sprint.id, AgentRan):
        git = ran.git_before
        return MergeBase(commit=(git.head or "") if git is not None else "")
    return MergeBase()


def merged_order(
    workspace: Service, store: Store, order: RestoreOrder, base: MergeBase, ours: Snapshot
) -> tuple[RestoreOrder, Merge]:
    """Merge the changes of `order.merged` since the base into the present files.

    Store the result as a snapshot; return the order to restore it, and the merge. Raise
    `RefusedError` for uncommitted changes if the base requires this.
    """
    theirs, own = store.read(order.merged), own_paths(workspace)
    is_asked_for, label = meant(order.paths), f"{order.source}@{order.iteration}"
    with ExitStack() as stack:
        blob = stack.enter_context(store.blobs())
        git = None
        if base.commit or base.only_committed:
            git = stack.enter_context(
                borrowed(repository_at(workspace.location.root), store.git.environment)
            )
            blob = _either(blob, stack.enter_context(blobs_of(git)))
        if base.snapshot:
            bring(workspace, store, base.snapshot)
            begun = store.read(base.snapshot)
            known = Base(begun.files, {path for path, _ in begun.left_out})
        elif git is not None and base.commit:
            known = _committed(entries_of(git, base.commit), (ours, theirs), blob)
        else:
            known = Base({})
        there = {*known.files, *theirs.files}
        check_meant(there | parents_of(there), order.paths)
        made = merge(
            known,
            ours,
            theirs,
            lambda path: is_asked_for(path) and not is_in(path, own),
            blob=blob,
            merge_file=file_merger(store, label),
            label=label,
        )
        if git is not None and base.only_committed:
            _check_committed(git, made, ours, blob)
    at = max(int(parse(workspace.now()).timestamp()), 0)
    snapshot, paths = keep_merged(store, ours, made, at_seconds=at)
    # Without paths, the result is equal to the present files.
    return order._replace(snapshot=snapshot, paths=paths), made


def _either(one: Blob, other: Blob) -> Blob:
    """Return a function that reads a blob from the first source that has it."""

    def blob(oid: str) -> bytes:
        try:
            return one(oid)
        except DamagedError:
            return other(oid)

    return blob


def _committed(
    entries: dict[str, HeadEntry], sides: tuple[Snapshot, ...], blob: Blob
) -> Base:
    """Return a commit's files in the form that they have in a work tree.

    Git may store a file with other line ends, or as a pointer of Git LFS.
    """
    files, omitted = {}, []
    for path, known in entries.items():
        if known.mode not in _KINDS:
            omitted.append(path)
            continue
        files[path] = TreeEntry(*known, 0)
        for one in filter(None, (side.files.get(path) for side in sides)):
            other, _ = in_another_form(one, known, their_blob=blob, our_blob=blob)
            files[path] = one._replace(mode=known.mode) if other else files[path]
    return Base(files, omitted)


def _check_committed(git: UntrustedGit, made: Merge, ours: Snapshot, blob: Blob) -> None:
    """Raise `RefusedError` if the merge changes files that are not committed."""
    head = _committed(entries_of(git, "HEAD"), (ours,), blob).files
    paths = [p for p in made.changes if not is_same(ours.files.get(p), head.get(p))]
    if paths:
        more = f" and {len(paths) - SHOWN_MAX} more" if paths[SHOWN_MAX:] else ""
        raise RefusedError(
            "nothing was changed: files with uncommitted changes would be changed: "
            f"{', '.join(map(shown, paths[:SHOWN_MAX]))}{more}",
            hint="commit or stash the changes first, or use --branch or --patch",
            files=[*map(shown, paths)],
        )
