"""Saved files handed over: merged here, or copied to a folder, a branch or a patch."""

import os
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import NamedTuple

from ...adapters.git.untrusted import borrowed
from ...adapters.snapshots import branch, one_file
from ...adapters.snapshots.branch import Blob, HeadEntry, entries_of
from ...adapters.snapshots.entries import (
    GIT_MODES,
    LeftOut,
    Snapshot,
    TreeEntry,
    parents_of,
)
from ...adapters.snapshots.merge import Merge, is_same, keep_merged, merge
from ...adapters.snapshots.objects import DamagedError, blobs_of
from ...adapters.snapshots.plan import PlacementPlan, is_in, meant, plan
from ...adapters.snapshots.store import Store
from ...errors import RefusedError
from ...sprint.events import OF_ITERATION, AgentRan
from ...sprint.state.knowledge import HeldSnapshot
from ...sprint.state.sprint import Sprint
from ...sprint.state.times import parse
from ..port import Service
from .own_paths import own_paths
from .restore_plan import NOTHING, RestoreOrder, check_bytes, check_meant
from .shared_snapshots import bring
from .snapshot import find_snapshot, shown, store_of

SHOWN_MAX = 10
_KINDS = {int(mode, 8) for mode in GIT_MODES}


class MergeBase(NamedTuple):
    """The files from which another sprint started, and how its changes are merged."""

    snapshot: str = ""
    commit: str = ""
    """The commit, without a snapshot; without both, nothing is known."""
    only_committed: bool = False
    """Whether to refuse to change files with uncommitted changes."""


def merge_of(
    workspace: Service, sprint_id: str, point: str
) -> tuple[RestoreOrder, MergeBase]:
    """Return an order to merge a sprint's iteration, `N` or `best`, and its base.

    The base is the snapshot from before the sprint's first iteration in that work tree,
    otherwise the commit that was checked out then.
    """
    sprint = workspace.sprint(sprint_id)
    held = find_snapshot(workspace, sprint, point)
    order = RestoreOrder(
        *(held.snapshot, held.iteration), source=sprint.id, merged=held.snapshot
    )
    return order, _base(workspace, sprint, held)


def _base(workspace: Service, sprint: Sprint, held: HeldSnapshot) -> MergeBase:
    here, events = (held.work_tree, held.worktree), workspace.repository.events
    known = (one for one in sprint.knowledge.snapshots if one.purpose == OF_ITERATION)
    first = next((x for x in known if (x.work_tree, x.worktree) == here), None)
    if first is not None and first.iteration == 0:
        return MergeBase(first.snapshot)
    git = next((ran.git_before for ran in events(sprint.id, AgentRan)), None)
    return MergeBase(commit=(git.head or "") if git is not None else "")


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
        blob, known, head = stack.enter_context(store.blobs()), NOTHING, None
        if base.snapshot:
            bring(workspace, store, base.snapshot)
            known = store.read(base.snapshot)
        elif base.commit:
            repository = branch.repository_at(workspace.location.root)
            git = stack.enter_context(borrowed(repository, store.git.environment))
            blob = _either(blob, stack.enter_context(blobs_of(git)))
            known = _committed(entries_of(git, base.commit), (ours, theirs), blob)
            if base.only_committed:
                head = _committed(entries_of(git, "HEAD"), (ours,), blob)
        there = {*known.files, *theirs.files}
        check_meant(there | parents_of(there), order.paths)
        made = merge(
            *(store, known, ours, theirs),
            lambda path: is_asked_for(path) and not is_in(path, own),
            blob=blob,
            label=label,
        )
    if head is not None:
        _check_committed(made, ours, head)
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
) -> Snapshot:
    """Return a commit's files in the form that they have in a work tree.

    Git may store a file with other line ends, or as a pointer of Git LFS.
    """
    files, omitted = {}, []
    for path, known in entries.items():
        if known.mode not in _KINDS:
            omitted.append(LeftOut(path, ""))
            continue
        files[path] = TreeEntry(*known, 0)
        for one in filter(None, (side.files.get(path) for side in sides)):
            other, _ = branch.in_another_form(one, known, their_blob=blob, our_blob=blob)
            files[path] = one._replace(mode=known.mode) if other else files[path]
    return NOTHING._replace(files=files, left_out=omitted)


def _check_committed(made: Merge, ours: Snapshot, head: Snapshot) -> None:
    """Raise `RefusedError` if the merge changes files that are not committed."""
    paths = [p for p in made.changes if not is_same(ours.files.get(p), head.files.get(p))]
    if paths:
        more = f" and {len(paths) - SHOWN_MAX} more" if paths[SHOWN_MAX:] else ""
        raise RefusedError(
            "nothing was changed: files with uncommitted changes would be changed: "
            f"{', '.join(map(shown, paths[:SHOWN_MAX]))}{more}",
            hint="commit or stash the changes first, or use --branch or --patch",
            files=[*map(shown, paths)],
        )


def copied(
    workspace: Service,
    held: HeldSnapshot,
    paths: Sequence[str] = (),
    *,
    folder: Path | None = None,
    name: str | None = None,
    patch: Path | None = None,
    parent: str | None = None,
    is_dry: bool = False,
) -> tuple[str | None, PlacementPlan]:
    """Copy files to a new folder, a new branch `name`, or a file for `git apply`.

    A branch and a patch start at the commit `parent` or, by default, at the checked-out
    commit. Return the branch's commit, and the plan with the files to write and the paths
    that cannot be restored or differ. If `is_dry` is true, only check and plan.
    """
    store, root, own = store_of(workspace), workspace.location.root, own_paths(workspace)
    with store.lock() if patch else nullcontext():
        bring(workspace, store, held.snapshot)
        snapshot, commit = store.read(held.snapshot), None
        made = plan(snapshot, NOTHING, paths=paths, alone=own)
        check_meant({*snapshot.files, *snapshot.folders}, paths)
        check_bytes(made, store.damaged(entry.oid for entry in made.writes.values()))
        if folder is not None:
            one_file.check_free(folder)
            if not is_dry:
                with store.blobs() as blob:
                    one_file.extract(snapshot, made, folder, blob)
        elif patch is not None and parent is not None:
            content, left = branch.make_patch(store, snapshot, root, parent, own=own)
            made = made._replace(skipped=left)
            if os.path.lexists(patch):
                raise RefusedError(f"{patch} already exists", file=str(patch))
            if not is_dry:
                with open(patch, "xb") as file:
                    file.write(content)
        elif name is not None and not is_dry:
            said = f"The files of iteration {held.iteration}\n\nSnapshot {held.snapshot}.\n"
            commit, left = branch.make_branch(
                *(store, snapshot, root, name), message=said, own=own, parent=parent
            )
            made = made._replace(skipped=left)
    return commit, made
