"""The events of a sprint's iterations that the judge requires, and its judgements."""

from collections.abc import Iterator

from ...errors import NotFoundError
from ...judging.recommend import KnownTargets as KnownTargets
from ...log.event import Event
from ...log.port import Log
from ...sprint.iterations.evaluation import Judged as Judged
from ...sprint.iterations.outcomes import Failure as Failure
from ...sprint.iterations.outcomes import Kind
from ...sprint.iterations.outcomes import RunEnding as RunEnding
from ...sprint.state.sprint import Sprint
from .catalogue import CODEC, sprint_stream


class StreamEvents:
    """The events of a sprint's stream up to a version."""

    def __init__(self, log: Log, sprint_id: str, until: int) -> None:
        self._log = log
        self._id = sprint_id
        self._until = until

    def one(self, version: int) -> tuple[str, Event]:
        """Return the event at a version, and its time."""
        rows = self._log.scan(sprint_stream(self._id), after=version - 1, until=version)
        for _, at, event in CODEC.events_of_rows(rows):
            return at, event
        raise NotFoundError(f"sprint {self._id} has no version {version}")

    def all(self, kind: type[Kind]) -> Iterator[tuple[int, str, Kind]]:
        """Yield the version, time and event for each event of a type."""
        rows = self._log.scan(sprint_stream(self._id), until=self._until, only=kind.type)
        for version, at, event in CODEC.events_of_rows(rows):
            if isinstance(event, kind):
                yield version, at, event


def evaluate(log: Log, sprint: Sprint, targets: KnownTargets | None = None) -> Judged:
    """Return the judged iterations of a sprint as of the sprint's version.

    `targets` contains targets found at other versions; new targets are added to it.
    """
    return Judged(sprint, StreamEvents(log, sprint.id, sprint.version), targets)
