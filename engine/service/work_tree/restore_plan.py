"""What a restore comes down to: from a command, and what stands there, to a plan.

The same command and the same snapshots give the same plan, whoever makes it and when: so a
restore that was cut short is finished, given up or taken back by its plan.
"""

from typing import NamedTuple

from ...adapters.folders import may_take_files
from ...adapters.snapshots.entries import Snapshot
from ...adapters.snapshots.plan import PlacementPlan, against, below, plan, reverse
from ...adapters.snapshots.store import Store
from ...errors import RefusedError
from ...sprint.iterations.snapshots import first_snapshot
from ...sprint.state.knowledge import Restore
from ...sprint.state.sprint import Sprint
from ..port import Service
from .own_paths import OUTPUT, own_paths

NOTHING = Snapshot("", {}, {}, [], 0, [])


class RestoreOrder(NamedTuple):
    """What is to be brought back, and where."""

    snapshot: str
    iteration: int | None = None
    paths: tuple[str, ...] = ()
    into: str = ""
    """A folder of the work tree; empty for in place."""
    since: str = ""
    """Only what differs from this snapshot."""
    undoes: int | None = None
    """The version of the restore that is taken back: only what it touched."""


RESTORES_MAX = 10
"""So many earlier restores are asked for files that git ignored."""


def plan_for(
    workspace: Service,
    store: Store,
    sprint: Sprint,
    order: RestoreOrder,
    present: Snapshot,
    *,
    before: int | None = None,
) -> PlacementPlan:
    """Return how to get from what stands there to what is asked for.

    Only restores `before` this version count, all without it.
    """
    for restore in taken_back(sprint, order):
        return against(way_back(workspace, store, sprint, restore), present)
    wanted, alone = store.read(order.snapshot), own_paths(workspace)
    if not order.into:
        ignored = _ignored_since(workspace, store, sprint, order, before)
        return plan(wanted, present, paths=order.paths, alone=alone, ignored=ignored)
    # The folder may be that of a restore in the log, and that may be anybody's.
    if not may_take_files(order.into):
        raise RefusedError(f"{order.into[:80]!r} is no folder to put files into")
    base = store.read(order.since) if order.since else NOTHING
    return below(plan(wanted, base, paths=order.paths, alone=alone), order.into, present)


def plan_of(
    workspace: Service, store: Store, sprint: Sprint, restore: Restore
) -> PlacementPlan:
    """Return the plan that a restore was begun with."""
    event = restore.event
    order = RestoreOrder(*(getattr(event, name) for name in RestoreOrder._fields))
    present = store.read(event.before)
    return plan_for(workspace, store, sprint, order, present, before=restore.version)


def _ignored_since(
    workspace: Service,
    store: Store,
    sprint: Sprint,
    order: RestoreOrder,
    before: int | None,
) -> frozenset[str]:
    """Return what git ignored when later restores began: they may replace .gitignore."""
    held = (h.version for h in sprint.knowledge.snapshots if h.snapshot == order.snapshot)
    since, until = max(held, default=0), sprint.version if before is None else before
    here = workspace.tree
    known = [r for r in sprint.knowledge.restored if since < r.version < until]
    began = [
        restore.event.before
        for restore in known[-RESTORES_MAX:]
        if here.has(restore.event) and not restore.event.into
    ]
    return store.unseen(began) if began else frozenset()


def way_back(
    workspace: Service, store: Store, sprint: Sprint, restore: Restore
) -> PlacementPlan:
    """Return how to get from what a restore made to what stood there before."""
    made = plan_of(workspace, store, sprint, restore)
    return reverse(made, store.read(restore.event.before))


def taken_back(sprint: Sprint, order: RestoreOrder) -> list[Restore]:
    """Return the restore that a command takes back, if it does."""
    return [r for r in sprint.knowledge.restored if r.version == order.undoes]


def result_order(
    workspace: Service, sprint: Sprint, order: RestoreOrder, into: str = OUTPUT
) -> RestoreOrder:
    """Return an order for what the loop changed, or its paths, elsewhere.

    That is seen from the snapshot that was taken before the first iteration; without it,
    and for that snapshot itself, all files are the result.
    """
    first = first_snapshot(sprint, tree=workspace.tree)
    is_seen = first is not None and first.iteration == 0 and not order.paths
    since = first.snapshot if first is not None and is_seen else ""
    since = "" if since == order.snapshot else since
    return order._replace(into=into, since=since)
