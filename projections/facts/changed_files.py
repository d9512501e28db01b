"""Which files changed in each iteration, as far as snapshots of them are there."""

from collections.abc import Iterable
from itertools import chain

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.service.work_tree import snapshot
from sprintlog.engine.service.work_tree.own_paths import own_paths
from sprintlog.engine.sprint.state.sprint import Sprint

from ..history.authors import AuthoredFile, WorkStretch, stretches
from ..history.line_moments import ASKED, Moments, moments_of, writer_of
from ..workspace import Workspace

ITERATIONS_MAX = 400
"""Of more iterations only the newest are told."""
Changed = tuple[AuthoredFile, ...]
Ends = tuple[str, str]
"""The snapshots before and behind a stretch."""


class FilesOfIterations:
    """What changed between snapshots, each pair asked for once: they never change."""

    def __init__(self) -> None:
        self._known: dict[Ends, list[snapshot.PathDifference]] = {}
        self._moments: Moments | None = None
        self._position = 0

    def of(self, workspace: Workspace, sprint: Sprint) -> dict[int, Changed]:
        """Return by iteration which files changed, and by whom; others are left out."""
        if not sprint.knowledge.snapshots:
            return {}
        moments = self._follow(workspace)
        numbers = [n for n, _ in sprint.knowledge.iterations[-ITERATIONS_MAX:]]
        found = {n: stretches(moments, writer_of(sprint, n)) for n in numbers}
        try:
            changed = self._changes(workspace, moments, found.values())
        except SprintlogError:
            # There is no git here, or the store is damaged: all else is told.
            return {}
        return {
            number: tuple(
                AuthoredFile(path, how, one.by)
                for one in several
                for path, how in changed.get(one, ())
            )
            for number, several in found.items()
            if any(one.is_own and one in changed for one in several)
        }

    def _follow(self, workspace: Workspace) -> Moments:
        after, self._position = self._position, workspace.log.last_position()
        new = workspace.log.read(after=after, until=self._position)
        if self._moments is None or any(one.type in ASKED for one in new):
            self._moments = moments_of(workspace)
        return self._moments

    def _changes(
        self, workspace: Workspace, moments: Moments, several: Iterable[list[WorkStretch]]
    ) -> dict[WorkStretch, list[tuple[str, str]]]:
        """Return what changed in each stretch whose ends are held."""
        store, own = snapshot.store_of(workspace), own_paths(workspace)
        ends = {
            one: (moments.snapshot(one.first), moments.snapshot(one.last))
            for one in chain.from_iterable(several)
        }
        whole = {one: pair for one, pair in ends.items() if moments.is_whole(one.first)}
        asked = [pair for pair in whole.values() if pair not in self._known]
        if asked:
            self._known |= snapshot.changed_between(store, asked, own)
        self._known = {x: self._known[x] for x in whole.values() if x in self._known}
        found = {}
        for one, pair in ends.items():
            if one not in whole:
                states = (moments.state(store, n) for n in (one.first, one.last))
                differs = snapshot.compare(*states, own=own)
            elif pair in self._known:
                differs = self._known[pair]
            else:
                continue
            found[one] = [
                (snapshot.shown(path), how)
                for path, how in differs
                if not (how == "removed" and moments.all[one.last].omits(path))
                and not (how == "added" and moments.all[one.first].omits(path))
            ]
        return found
