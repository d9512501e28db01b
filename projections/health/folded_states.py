"""The states of long streams, folded while the log is read for another purpose.

`verify` reads every event in a log to check the chain. It also folds the events that it
decodes into the states that it compares, so that long streams are not read twice.
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Final

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.log.chain import Row as StoredRow
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.port import Page, form_of
from sprintlog.engine.service.streams.catalogue import FOLD_ROWS, sprint_stream
from sprintlog.engine.service.streams.repository import Repository
from sprintlog.engine.sprint.state.sprint import Sprint

STREAMS_MAX = 8
"""The maximum number of states in memory; the other streams are read separately."""
EVENTS_MIN = 1000
"""The minimum length of a stream that is folded here; shorter ones are read separately."""

_place_of: Final = RecordedEvent.__struct_fields__.index
# Called for every event in the log, so they must not run Python code.
_position_of = itemgetter(_place_of("position"))
_stream_of = itemgetter(_place_of("stream"))
_version_of = itemgetter(_place_of("version"))
_shape_of = itemgetter(_place_of("schema_version"))
_row_of = itemgetter(*map(_place_of, ("at", "type", "payload")))


def page_of(rows: Sequence[StoredRow]) -> Page:
    """Return the given rows as a page, ordered by position."""
    shapes, own = [*map(_shape_of, rows)], [*map(_row_of, rows)]
    if {*shapes} != {1}:
        own = [
            (at, form_of(tag, n), x) for (at, tag, x), n in zip(own, shapes, strict=True)
        ]
    first = _position_of(rows[0])
    positions: Sequence[int] = range(first, first + len(rows))
    if positions[-1] != _position_of(rows[-1]):
        # Positions are unique, so a matching last position means that there are no gaps.
        positions = [*map(_position_of, rows)]
    return Page([*map(_version_of, rows)], positions, own)


class OnTheWay:
    """The states of a log's longest sprints, folded while the log is read."""

    def __init__(self, repository: Repository[Sprint], sprints: dict[str, int]) -> None:
        long = [name for name, version in sprints.items() if version >= EVENTS_MIN]
        chosen = sorted(long, key=lambda name: -sprints[name])[:STREAMS_MAX]
        self._followed = {
            sprint_stream(name): CheckedSprint(repository, name) for name in chosen
        }

    def take(self, rows: Sequence[StoredRow]) -> Sequence[StoredRow]:
        """Fold a page of the log, and return the rows that were not decoded.

        A stream that cannot be folded here must be read separately by the caller.
        """
        streams = {*map(_stream_of, rows)}
        left = streams - self._followed.keys()
        for stream in streams - left:
            own = rows
            if len(streams) > 1:
                own = [row for row in rows if _stream_of(row) == stream]
            if not self._followed[stream].take(page_of(own)):
                del self._followed[stream]
                left.add(stream)
        return [row for row in rows if _stream_of(row) in left] if left else []

    def of(self, name: str, version: int) -> "CheckedSprint | None":
        """Return a sprint that was folded up to a version, and stop following it."""
        found = self._followed.pop(sprint_stream(name), None)
        if found is None or found.state.version != version:
            return None
        found.state.plan.finish_fold()
        return found


class CheckedSprint:
    """A sprint that is being folded, and the versions of its incorrect saved states."""

    def __init__(self, repository: Repository[Sprint], name: str) -> None:
        self.state: Sprint = repository.kind.begin(name)
        self.wrong: list[int] = []
        """The versions of saved states that differ from a fold of the events."""
        self._repository = repository
        self._stream = sprint_stream(name)
        self._kept = sorted(repository.checkpoints.versions(self._stream))

    def take(self, page: Page) -> bool:
        """Decode and fold the next rows; return whether all of them could be folded.

        Rows after a rollback cannot be folded, because the resulting state would be wrong.
        """
        after = self.state.version
        if page.versions != [*range(after + 1, after + 1 + len(page.rows))]:
            return False
        last, rollbacks = page.versions[-1], len(self._rollbacks())
        try:
            while self._kept and self._kept[0] <= last:
                version = self._kept.pop(0)
                self._fold(page.until(version))
                self._compare(version)
                page = page.after(version)
            self._fold(page)
        except SprintlogError:
            # Reading the rows individually reports the problem.
            return False
        return len(self._rollbacks()) == rollbacks

    def _rollbacks(self) -> Sequence[object]:
        return self._repository.kind.rollbacks(self.state)

    def _fold(self, page: Page) -> None:
        # Finishing the fold after each page costs 5 % of the total time.
        FOLD_ROWS.take_in(self.state, [page])

    def _compare(self, version: int) -> None:
        self.state.plan.finish_fold()
        kind = self._repository.kind
        saved = self._repository.checkpoints.load(self._stream, version)
        if saved is None or kind.pack(saved) != kind.pack(self.state):
            self.wrong.append(version)
