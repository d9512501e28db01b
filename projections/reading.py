"""From the log to the state of a sprint at any version, by checkpoint and tail."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.log.fact import Fact
from sprintlog.engine.log.port import Log
from sprintlog.engine.sprint.facts import RolledBack
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.rollback import lies_on, path
from sprintlog.engine.sprint.state import Sprint

from .catalogue import CODEC, sprint_stream
from .checkpoints import EVERY, Checkpoints
from .history import Follower, follow

Kind = TypeVar("Kind", bound=Fact)


class Stretch(NamedTuple):
    """A piece of a stream out of which no rollback leads."""

    begin: Sprint
    """The state before it; it is used up when the stretch is followed."""
    last: int
    """The last version in it."""
    rollbacks: list[tuple[int, int]]
    """Version and target of those in it."""


class Reader:
    """Reads sprints from a log, with the help of checkpoints."""

    def __init__(self, log: Log, checkpoints: Checkpoints) -> None:
        self._log = log
        self._checkpoints = checkpoints

    def at_head(self, sprint_id: str) -> Sprint:
        """Return the sprint as the log has it now."""
        for version in self._checkpoints.versions(sprint_stream(sprint_id)):
            saved = self._checkpoints.load(sprint_stream(sprint_id), version)
            if saved is not None:
                return self.catch_up(saved)
        return self.at_version(sprint_id, None)

    def at_version(self, sprint_id: str, version: int | None) -> Sprint:
        """Return the sprint at a version, folded from the newest checkpoint on the path.

        Raise `NotFoundError` for a version the stream does not have.
        """
        stream = sprint_stream(sprint_id)
        head = self._log.version(stream)
        last = head if version is None else version
        if not 0 <= last <= head:
            raise NotFoundError(
                f"sprint {sprint_id} has no version {last}; it has 1 to {head}",
                sprint=sprint_id,
            )
        live = path(self.rollbacks(sprint_id, last), last)
        sprint = self._checkpoint(sprint_id, last, live)
        tail = self._log.scan(stream, after=sprint.version, until=last)
        return fold(sprint, CODEC.facts_of(tail), live)

    def from_nothing(self, sprint_id: str) -> Sprint:
        """Return the sprint as the log has it now, without any checkpoint."""
        last = self._log.version(sprint_stream(sprint_id))
        return next(self.along(sprint_id, [last]))

    def along(self, sprint_id: str, versions: Sequence[int]) -> Iterator[Sprint]:
        """Yield the sprint at some versions, lowest first, without any checkpoint.

        It is one fold, begun again only where a rollback stands in between: each state
        is used up when the next one is asked for.
        """
        stream = sprint_stream(sprint_id)
        rollbacks = self._scan_rollbacks(stream, 0, max(versions))
        sprint = Sprint(sprint_id)
        for version in versions:
            if any(sprint.version < at <= version for at, _ in rollbacks):
                sprint = Sprint(sprint_id)
            live = path([r for r in rollbacks if r[0] <= version], version)
            rows = self._log.scan(stream, after=sprint.version, until=version)
            yield fold(sprint, CODEC.facts_of(rows), live)

    def catch_up(self, sprint: Sprint) -> Sprint:
        """Return a state brought to the head; the given one is used up.

        A rollback in the tail sends the fold back to a checkpoint on the new path.
        """
        stream = sprint_stream(sprint.id)
        tail = list(self._log.scan(stream, after=sprint.version))
        if any(row[2] == RolledBack.type for row in tail):
            return self.at_version(sprint.id, None)
        return fold(sprint, CODEC.facts_of(tail))

    def facts(self, sprint_id: str, kind: type[Kind]) -> list[Kind]:
        """Return all facts of one kind in a sprint's stream, in order."""
        rows = self._log.scan(sprint_stream(sprint_id), only=kind.type)
        return [fact for _, _, fact in CODEC.facts_of(rows) if isinstance(fact, kind)]

    def rollbacks(self, sprint_id: str, until: int) -> list[tuple[int, int]]:
        """Return version and target of every rollback up to a version, in order."""
        stream = sprint_stream(sprint_id)
        known: list[tuple[int, int]] = []
        since = 0
        for version in self._checkpoints.versions(stream):
            saved = self._checkpoints.load(stream, version) if version <= until else None
            if saved is not None:
                known, since = saved.record.rollbacks, version
                break
        return [*known, *self._scan_rollbacks(stream, since, until)]

    def stretches(self, sprint_id: str, until: int, *, near: int = 0) -> Iterator[Stretch]:
        """Yield the stretches between checkpoints up to a version, the newest first.

        With `near` the first is no longer than that, even if no checkpoint stands there.
        """
        last, rollbacks = until, self.rollbacks(sprint_id, until)
        versions = self._checkpoints.versions(sprint_stream(sprint_id))
        if 0 < near < until and not any(until - near <= v < until for v in versions):
            versions = sorted({*versions, until - near}, reverse=True)
        for version in versions:
            if version >= last or any(to < version < at <= last for at, to in rollbacks):
                continue
            saved = self._checkpoints.load(sprint_stream(sprint_id), version)
            if saved is None and version == until - near:
                saved = self.at_version(sprint_id, version)
            if saved is not None:
                yield Stretch(saved, last, [r for r in rollbacks if version < r[0] <= last])
                last = version
        yield Stretch(Sprint(sprint_id), last, [r for r in rollbacks if r[0] <= last])

    def whole(self, sprint_id: str, until: int) -> Stretch:
        """Return all of a stream up to a version, without any checkpoint."""
        return Stretch(Sprint(sprint_id), until, self.rollbacks(sprint_id, until))

    def follow(self, follower: Follower, stretch: Stretch) -> None:
        """Let every version of a stretch be looked at, voided ones included."""
        begin, last, rollbacks = stretch
        rows = self._log.scan(sprint_stream(begin.id), after=begin.version, until=last)
        facts = CODEC.facts_of(rows)
        follow(follower, begin, facts, until=last, rollbacks=rollbacks)

    def save(self, sprint: Sprint) -> None:
        """Keep the state when its stream has grown enough since the last one kept."""
        stream = sprint_stream(sprint.id)
        newest = max(self._checkpoints.versions(stream), default=0)
        if sprint.version - newest >= EVERY:
            self._checkpoints.save(stream, sprint)

    def renew(self, sprint: Sprint) -> None:
        """Keep this state, folded from nothing, and no older one of its stream."""
        stream = sprint_stream(sprint.id)
        self._checkpoints.forget(stream)
        self._checkpoints.save(stream, sprint)

    def _checkpoint(self, sprint_id: str, last: int, live: list[tuple[int, int]]) -> Sprint:
        stream = sprint_stream(sprint_id)
        for version in self._checkpoints.versions(stream):
            if version <= last and lies_on(live, version):
                saved = self._checkpoints.load(stream, version)
                if saved is not None:
                    return saved
        return Sprint(sprint_id)

    def _scan_rollbacks(self, stream: str, after: int, until: int) -> list[tuple[int, int]]:
        rows = self._log.scan(stream, after=after, until=until, only=RolledBack.type)
        return [
            (version, fact.to)
            for version, _, fact in CODEC.facts_of(rows)
            if isinstance(fact, RolledBack)
        ]
