"""States of long streams, folded while the log is read for another reason.

`verify` reads every event of a log to check its chain. What it decodes on the way makes
the states that it compares, so that long streams are not read a second time.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.log.chain import Row as StoredRow
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Versioned
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.service.streams.repository import Repository
from sprintlog.engine.sprint.events import RolledBack
from sprintlog.engine.sprint.state.sprint import Sprint

STREAMS_MAX = 8
"""As many states are in memory at once; the streams of others are read once more."""
EVENTS_MIN = 1000
"""Shorter streams are read again in no time."""

_STREAM: Final = RecordedEvent.__struct_fields__.index("stream")


class OnTheWay:
    """The states of a log's longest sprints, made of events as they come by."""

    def __init__(self, repository: Repository[Sprint], sprints: dict[str, int]) -> None:
        long = [name for name, version in sprints.items() if version >= EVENTS_MIN]
        chosen = sorted(long, key=lambda name: -sprints[name])[:STREAMS_MAX]
        self._followed = {
            sprint_stream(name): Followed(repository, name) for name in chosen
        }

    def take(self, rows: Sequence[StoredRow], events: Sequence[Versioned]) -> None:
        """Take a page of the log, with the event of each of its rows."""
        if not self._followed:
            return
        streams = [row[_STREAM] for row in rows]
        for stream in {*streams} & self._followed.keys():
            pairs = zip(streams, events, strict=True)
            self._followed[stream].take([event for of, event in pairs if of == stream])

    def leave(self, rows: Iterable[StoredRow]) -> None:
        """Let be what rows are about that no events were made of."""
        for stream in {row[_STREAM] for row in rows}:
            self._followed.pop(stream, None)

    def of(self, name: str, version: int) -> "Followed | None":
        """Return a sprint that was followed up to a version; it is let go with that."""
        found = self._followed.pop(sprint_stream(name), None)
        return found if found is not None and found.is_at(version) else None


class Followed:
    """One sprint on the way, and which of its saved states are not what they should be."""

    def __init__(self, repository: Repository[Sprint], name: str) -> None:
        self.state: Sprint = repository.kind.begin(name)
        self.wrong: list[int] = []
        """Versions of saved states that are not what the events before them say."""
        self._repository = repository
        self._stream = sprint_stream(name)
        self._kept = sorted(repository.checkpoints.versions(self._stream))
        self._is_straight = True

    def is_at(self, version: int) -> bool:
        """Tell whether the state is that of a version, whose past has no rollback."""
        return self._is_straight and self.state.version == version

    def take(self, events: list[Versioned]) -> None:
        """Take the next events; past a rollback the state would be another one."""
        after = self.state.version
        versions = [version for version, _, _ in events]
        self._is_straight = (
            self._is_straight
            and versions == [*range(after + 1, after + 1 + len(events))]
            and not any(type(event) is RolledBack for _, _, event in events)
        )
        if not self._is_straight:
            return
        try:
            while self._kept and self._kept[0] <= versions[-1]:
                count = self._kept[0] - self.state.version
                self._fold(events[:count])
                self._compare(self._kept.pop(0))
                events = events[count:]
            self._fold(events)
        except SprintlogError:
            # Who reads the stream by itself tells what is wrong with it.
            self._is_straight = False

    def _fold(self, events: list[Versioned]) -> None:
        self.state = self._repository.kind.fold(self.state, events, None)

    def _compare(self, version: int) -> None:
        kind = self._repository.kind
        saved = self._repository.checkpoints.load(self._stream, version)
        if saved is None or kind.pack(saved) != kind.pack(self.state):
            self.wrong.append(version)
