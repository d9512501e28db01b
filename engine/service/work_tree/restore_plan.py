"""Plans for restoring snapshotted files, or for copying a result elsewhere.

A plan depends only on the command and the snapshots, so an interrupted restore can be
finished, abandoned or undone by computing its plan again.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ...adapters.folders import may_take_files
from ...adapters.snapshots.entries import Snapshot
from ...adapters.snapshots.plan import PlacementPlan, against, below, plan, reverse
from ...adapters.snapshots.store import SEE, Store
from ...errors import RefusedError
from ...sprint.iterations.snapshots import first_snapshot
from ...sprint.state.knowledge import Restore
from ...sprint.state.sprint import Sprint
from ..port import Service
from .own_paths import OUTPUT, own_paths
from .snapshot import shown

NOTHING = Snapshot("", {}, {}, [], 0, [])
RESTORES_MAX = 10
"""The maximum number of later restores whose ignored files are considered."""


class RestoreOrder(NamedTuple):
    """A request to restore files, including the destination."""

    snapshot: str
    iteration: int | None = None
    paths: tuple[str, ...] = ()
    into: str = ""
    """The target folder in the work tree; empty to restore in place."""
    since: str = ""
    """If set, only files that differ from this snapshot are restored."""
    undoes: int | None = None
    """The version of the restore to undo; only the files of that restore are changed."""
    source: str = ""
    """The sprint whose changes are merged into the files, if any."""
    merged: str = ""
    """The snapshot of `source` to merge; `snapshot` is replaced with the result."""


def plan_for(
    workspace: Service,
    store: Store,
    sprint: Sprint,
    order: RestoreOrder,
    present: Snapshot,
    *,
    before: int | None = None,
) -> PlacementPlan:
    """Return the plan that turns the present files into the requested files.

    Only restores before the version `before` are considered; by default, all are.
    """
    for restore in taken_back(sprint, order):
        return against(way_back(workspace, store, sprint, restore), present)
    wanted, alone = store.read(order.snapshot), own_paths(workspace)
    if not order.into:
        # Files ignored before later restores, which may replace .gitignore, stay ignored.
        snapshots = sprint.knowledge.snapshots
        held = (x.version for x in snapshots if x.snapshot == order.snapshot)
        since, until = max(held, default=0), sprint.version if before is None else before
        known = [r for r in sprint.knowledge.restored if since < r.version < until]
        began = [
            restore.event.before
            for restore in known[-RESTORES_MAX:]
            if workspace.tree.has(restore.event) and not restore.event.into
        ]
        ignored = store.unseen(began) if began else frozenset()
        return plan(wanted, present, paths=order.paths, alone=alone, ignored=ignored)
    # The folder may come from a restore in the log, which is untrusted.
    if not may_take_files(order.into):
        raise RefusedError(f"{order.into[:80]!r} is not a folder of this work tree")
    base = store.read(order.since) if order.since else NOTHING
    return below(plan(wanted, base, paths=order.paths, alone=alone), order.into, present)


def plan_of(
    workspace: Service, store: Store, sprint: Sprint, restore: Restore
) -> PlacementPlan:
    """Return the original plan of a recorded restore."""
    event = restore.event
    order = RestoreOrder(*(getattr(event, name) for name in RestoreOrder._fields))
    present = store.read(event.before)
    return plan_for(workspace, store, sprint, order, present, before=restore.version)


def way_back(
    workspace: Service, store: Store, sprint: Sprint, restore: Restore
) -> PlacementPlan:
    """Return the plan that undoes a restore."""
    made = plan_of(workspace, store, sprint, restore)
    return reverse(made, store.read(restore.event.before))


def check_meant(known: Collection[str], paths: Sequence[str]) -> None:
    """Raise `RefusedError` for a path that is not among a snapshot's files and folders."""
    for path in paths:
        if path not in known:
            raise RefusedError(
                f"{shown(path)}: the snapshot contains no such file or folder",
                hint="run `sprintlog show iteration N --files` to list the snapshot's "
                "files",
                file=shown(path),
            )


def check_bytes(made: PlacementPlan, damaged: set[str]) -> None:
    """Raise `RefusedError` if a plan would write damaged files."""
    paths = sorted(path for path, entry in made.writes.items() if entry.oid in damaged)
    if paths:
        named = ", ".join(map(shown, paths[:3]))
        more = f" and {len(paths) - 3} more" if paths[3:] else ""
        raise RefusedError(
            f"nothing was changed: the bytes of {named}{more} are damaged in the store",
            hint=f"specify PATHs to restore only other files; {SEE}",
            files=[shown(path) for path in paths],
        )


def taken_back(sprint: Sprint, order: RestoreOrder) -> list[Restore]:
    """Return the restore that an order undoes, if any."""
    return [r for r in sprint.knowledge.restored if r.version == order.undoes]


def result_order(
    workspace: Service, sprint: Sprint, order: RestoreOrder, into: str = OUTPUT
) -> RestoreOrder:
    """Return an order that copies the loop's changes, or the given paths, to `into`.

    Changes are relative to the snapshot before the first iteration. Without that snapshot,
    or if it is the requested snapshot, the result contains all files.
    """
    first = first_snapshot(sprint, tree=workspace.tree)
    is_seen = first is not None and first.iteration == 0 and not order.paths
    since = first.snapshot if first is not None and is_seen else ""
    since = "" if since == order.snapshot else since
    return order._replace(into=into, since=since)
