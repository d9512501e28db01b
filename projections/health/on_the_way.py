"""States of long streams, folded while the log is read for another reason.

`verify` reads every event of a log to check its chain. What it decodes on the way makes
the states that it compares, so that long streams are not read a second time.
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Final

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.log.chain import Row as StoredRow
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.port import Page, form_of
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.service.streams.repository import Repository
from sprintlog.engine.sprint.events import RolledBack
from sprintlog.engine.sprint.state.sprint import Sprint

STREAMS_MAX = 8
"""As many states are in memory at once; the streams of others are read once more."""
EVENTS_MIN = 1000
"""Shorter streams are read again in no time."""

_place_of: Final = RecordedEvent.__struct_fields__.index
_STREAM: Final = _place_of("stream")
_POSITION: Final = _place_of("position")
_version_of = itemgetter(_place_of("version"))
_whole = itemgetter(*map(_place_of, ("at", "type", "schema_version", "payload")))


def page_of(rows: Sequence[StoredRow]) -> Page:
    """Return what of rows is decoded and folded."""
    positions = [row[_POSITION] for row in rows]
    whole = map(_whole, rows)
    own = [(at, form_of(tag, shape), payload) for at, tag, shape, payload in whole]
    return Page([*map(_version_of, rows)], positions, own)


class OnTheWay:
    """The states of a log's longest sprints, made of events as they come by."""

    def __init__(self, repository: Repository[Sprint], sprints: dict[str, int]) -> None:
        long = [name for name, version in sprints.items() if version >= EVENTS_MIN]
        chosen = sorted(long, key=lambda name: -sprints[name])[:STREAMS_MAX]
        self._followed = {
            sprint_stream(name): Followed(repository, name) for name in chosen
        }

    def take(self, rows: Sequence[StoredRow]) -> Sequence[StoredRow]:
        """Take a page of the log, and return those of its rows that were not decoded.

        A stream that cannot be followed any further is left to who reads it by itself.
        """
        streams = [row[_STREAM] for row in rows]
        taken = {*streams} & self._followed.keys()
        for stream in [*taken]:
            own = rows
            if streams.count(stream) < len(rows):
                own = [row for row in rows if row[_STREAM] == stream]
            if not self._followed[stream].take(page_of(own)):
                del self._followed[stream]
                taken.remove(stream)
        return [row for row in rows if row[_STREAM] not in taken]

    def of(self, name: str, version: int) -> "Followed | None":
        """Return a sprint that was followed up to a version; it is let go with that."""
        found = self._followed.pop(sprint_stream(name), None)
        return found if found is not None and found.state.version == version else None


class Followed:
    """One sprint on the way, and which of its saved states are not what they should be."""

    def __init__(self, repository: Repository[Sprint], name: str) -> None:
        self.state: Sprint = repository.kind.begin(name)
        self.wrong: list[int] = []
        """Versions of saved states that are not what the events before them say."""
        self._repository = repository
        self._stream = sprint_stream(name)
        self._kept = sorted(repository.checkpoints.versions(self._stream))

    def take(self, page: Page) -> bool:
        """Decode and fold the rows that come next; tell whether that was all of them.

        Past a rollback the state would be another one.
        """
        after = self.state.version
        if page.versions != [*range(after + 1, after + 1 + len(page.rows))]:
            return False
        if any(tag == RolledBack.type for _, tag, *_ in page.rows):
            return False
        last = page.versions[-1]
        try:
            while self._kept and self._kept[0] <= last:
                version = self._kept.pop(0)
                self._fold(page.until(version))
                self._compare(version)
                page = page.after(version)
            self._fold(page)
        except SprintlogError:
            # Who reads the rows one by one tells what is wrong with them.
            return False
        return True

    def _fold(self, page: Page) -> None:
        self.state = self._repository.kind.fold_rows(self.state, [page], None)

    def _compare(self, version: int) -> None:
        kind = self._repository.kind
        saved = self._repository.checkpoints.load(self._stream, version)
        if saved is None or kind.pack(saved) != kind.pack(self.state):
            self.wrong.append(version)
