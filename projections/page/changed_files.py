"""Which files changed in each iteration, as far as snapshots of them are there."""

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.service.work_tree.own_paths import own_paths
from sprintlog.engine.service.work_tree.snapshot import changed_between, shown, store_of
from sprintlog.engine.sprint.iterations.snapshots import files_before, snapshot_of
from sprintlog.engine.sprint.state.sprint import Sprint

from ..workspace import Workspace

ITERATIONS_MAX = 400
"""Of more iterations only the newest are told."""
Changed = tuple[tuple[str, str], ...]
"""Each path, and how it changed."""
Ends = tuple[str, str]
"""The snapshots before and behind an iteration."""


class FilesOfIterations:
    """What changed between snapshots, each pair asked for once: they never change."""

    def __init__(self) -> None:
        self._known: dict[Ends, Changed] = {}

    def of(self, workspace: Workspace, sprint: Sprint) -> dict[int, Changed]:
        """Return by iteration which files changed in it; those not kept are left out."""
        ends = dict(_ends(workspace, sprint))
        asked = [pair for pair in ends.values() if pair not in self._known]
        if asked:
            try:
                found = changed_between(store_of(workspace), asked, own_paths(workspace))
            except SprintlogError:
                # There is no git here, or the store is damaged: all else is told.
                return {}
            self._known |= {
                pair: tuple((shown(x.path), x.how) for x in changed)
                for pair, changed in found.items()
            }
        self._known = {x: self._known[x] for x in ends.values() if x in self._known}
        return {n: self._known[pair] for n, pair in ends.items() if pair in self._known}


def _ends(workspace: Workspace, sprint: Sprint) -> list[tuple[int, Ends]]:
    """Return the snapshots before and behind each of the newest iterations."""
    if not sprint.knowledge.snapshots:
        return []
    tree, found = workspace.location.worktree, []
    for number, _ in sprint.knowledge.iterations[-ITERATIONS_MAX:]:
        try:
            before = files_before(sprint, number, worktree=tree)
            found.append(
                (number, (before, snapshot_of(sprint, number, worktree=tree).snapshot))
            )
        except SprintlogError:
            continue
    return found
