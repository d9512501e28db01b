"""The result of a loop: which files of the selected iteration are put where."""

from ...sprint.iterations.snapshots import first_snapshot
from ...sprint.state.sprint import Sprint
from ..port import Service
from .own_paths import OUTPUT
from .restore_plan import RestoreOrder


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
