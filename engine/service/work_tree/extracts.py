"""Copies of a snapshot's files outside the work tree: a folder, a branch, or a patch."""

from collections.abc import Sequence
from pathlib import Path

from ...adapters.snapshots import branch, entries
from ...adapters.snapshots.one_file import check_free, extract
from ...adapters.snapshots.plan import PlacementPlan, plan
from ...adapters.snapshots.store import Store
from ...sprint.state.knowledge import HeldSnapshot
from ..port import Service
from .own_paths import own_paths
from .restore_plan import NOTHING, check_bytes, check_meant
from .shared_snapshots import bring


def into_folder(
    workspace: Service,
    store: Store,
    commit: str,
    target: Path,
    paths: Sequence[str],
    *,
    is_dry: bool = False,
) -> PlacementPlan:
    """Copy a snapshot's files into a new folder, unless `is_dry` is true.

    Return the plan with the files to write and the files that cannot be restored.
    """
    snapshot, wanted = _whole(workspace, store, commit, paths)
    check_free(target)
    if not is_dry:
        with store.blobs() as blob:
            extract(snapshot, wanted, target, blob)
    return wanted


def into_branch(
    workspace: Service,
    store: Store,
    held: HeldSnapshot,
    name: str,
    *,
    parent: str | None = None,
    is_dry: bool = False,
) -> tuple[str | None, PlacementPlan]:
    """Create a git branch from a snapshot's files, unless `is_dry` is true.

    The new commit's parent is `parent` or, by default, the checked-out commit.

    Return the branch's commit, and the paths that differ between the branch and the
    snapshot.
    """
    snapshot, wanted = _whole(workspace, store, held.snapshot)
    if is_dry:
        return None, wanted
    root, own = workspace.location.root, own_paths(workspace)
    said = f"The files of iteration {held.iteration}\n\nSnapshot {held.snapshot}.\n"
    commit, left = branch.make_branch(
        store, snapshot, root, name, message=said, own=own, parent=parent
    )
    return commit, wanted._replace(skipped=left)


def as_patch(
    workspace: Service, store: Store, held: HeldSnapshot, commit: str
) -> tuple[bytes, PlacementPlan]:
    """Return a patch for `git apply` from a commit to a snapshot's files.

    Also return the paths that differ between the patched commit and the snapshot.
    """
    with store.lock():
        snapshot, wanted = _whole(workspace, store, held.snapshot)
        root, own = workspace.location.root, own_paths(workspace)
        patch, left = branch.make_patch(store, snapshot, root, commit, own=own)
    return patch, wanted._replace(skipped=left)


def _whole(
    workspace: Service, store: Store, commit: str, paths: Sequence[str] = ()
) -> tuple[entries.Snapshot, PlacementPlan]:
    """Return a snapshot and the plan to write it to an empty folder; check all content."""
    bring(workspace, store, commit)
    snapshot = store.read(commit)
    wanted = plan(snapshot, NOTHING, paths=paths, alone=own_paths(workspace))
    check_meant({*snapshot.files, *snapshot.folders}, paths)
    check_bytes(wanted, store.damaged(entry.oid for entry in wanted.writes.values()))
    return snapshot, wanted
