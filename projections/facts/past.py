"""A sprint's events as shown on its page, and the files that its iterations changed.

A long-running process reuses this data for the next page, so it reads only new events.
"""

from collections.abc import Iterable
from itertools import chain

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.service.streams.checkpoints import was_erased_since
from sprintlog.engine.service.work_tree import snapshot
from sprintlog.engine.service.work_tree.own_paths import own_paths
from sprintlog.engine.sprint.state.sprint import Sprint

from ..history.authors import AuthoredFile, WorkStretch, stretches
from ..history.blame import event_at
from ..history.line_moments import ASKED, Moments, moments_of, writer_of
from ..text.phrases import milliseconds
from ..workspace import Workspace
from .course import EventStory

ITERATIONS_MAX = 10_000
"""Only the newest iterations are compared."""
Changed = tuple[AuthoredFile, ...]


class FilesOfIterations:
    """A cache of the files that changed between two snapshots."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], list[snapshot.PathDifference]] = {}
        """The changes by the snapshots before and after a stretch."""
        self._moments: Moments | None = None
        self._position = 0

    def of(self, workspace: Workspace, sprint: Sprint) -> dict[int, Changed]:
        """Return the files that each iteration changed, and who changed them.

        Iterations whose changes are unknown are omitted.
        """
        if not sprint.knowledge.snapshots:
            return {}
        moments = self._follow(workspace)
        numbers = [n for n, _ in sprint.knowledge.iterations[-ITERATIONS_MAX:]]
        found = {n: stretches(moments, writer_of(sprint, n)) for n in numbers}
        try:
            changed = self._changes(workspace, moments, found.values())
        except SprintlogError:
            # Without git, or with a damaged store, the page lacks only this.
            return {}
        return {
            number: tuple(
                AuthoredFile(snapshot.shown(x.path), x.how, one.by, x.counts)
                for one in several
                for x in changed.get(one, ())
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
    ) -> dict[WorkStretch, list[snapshot.PathDifference]]:
        """Return the changes in each stretch if both of its snapshots are stored."""
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
                x
                for x in differs
                if not (x.how == "removed" and moments.all[one.last].omits(x.path))
                and not (x.how == "added" and moments.all[one.first].omits(x.path))
            ]
        return found


class SprintPast:
    """The events of a sprint up to a version, reduced to the data that its page requires.

    Each event is read once. Apart from the eight bytes that store each event's time, memory
    use does not depend on the number of events.
    """

    def __init__(self) -> None:
        self.story = EventStory()
        self.works: set[str | None] = set()
        """The correlation ids of the events, which sessions share."""
        self.changed = FilesOfIterations()
        self._last: RecordedEvent | None = None
        self._position = 0
        self._at = 0

    def follow(self, workspace: Workspace, sprint: Sprint) -> None:
        """Read the events up to a sprint's version; start over if its past has changed."""
        if not self._is_of(workspace, sprint):
            self.__init__()  # type: ignore[misc]
        log, stream = workspace.log, sprint_stream(sprint.id)
        self._position = log.last_position()
        after = self._last.version if self._last is not None else 0
        for recorded in log.read_stream(stream, after=after, until=sprint.version):
            self.works.add(recorded.correlation_id)
            at = milliseconds(recorded.at)
            self._at = self._at if at is None else at
            if recorded.payload is not None:
                self.story.take(recorded.version, self._at, CODEC.decode(recorded))
            self._last = recorded

    def _is_of(self, workspace: Workspace, sprint: Sprint) -> bool:
        """Return whether the sprint's stream still contains the events read so far."""
        last = self._last
        if last is None or last.version > sprint.version:
            return False
        there = event_at(workspace, sprint.id, last.version)
        return there.hash == last.hash and not was_erased_since(
            workspace.log, self._position
        )
