"""From the log to the state of a stream at any version, by checkpoint and tail."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from ...errors import NotFoundError
from ...log.envelope import RecordedEvent
from ...log.event import Event
from ...log.port import Checkpoints, EventStore
from ...sprint.events import RolledBack
from ...sprint.iterations.rollback import path
from ...sprint.state.sprint import Sprint
from .catalogue import CODEC, State, StreamKind
from .checkpoints import EVERY, SavedStates

if TYPE_CHECKING:
    from .history import Follower

Kind = TypeVar("Kind", bound=Event)


class Stretch(NamedTuple):
    """A piece of a stream out of which no rollback leads."""

    begin: Sprint
    """The state before it; it is used up when the stretch is followed."""
    last: int
    """The last version in it."""
    rollbacks: list[tuple[int, int]]
    """Version and target of those in it."""


class Repository(Generic[State]):
    """Reads one kind of stream from a log, with the help of checkpoints."""

    def __init__(
        self, log: EventStore, kind: StreamKind[State], checkpoints: Checkpoints
    ) -> None:
        self.kind = kind
        self.checkpoints = SavedStates(checkpoints, kind)
        self._log = log
        self._known: dict[str, State] = {}

    def current(self, name: str) -> State:
        """Return the state as the log has it now, carried on from the one before.

        It belongs to the reader: read it, do not change it.
        """
        known = self._known.pop(name, None)
        state = self.at_head(name) if known is None else self.catch_up(known)
        self._known[name] = state
        return state

    def take(self, state: State, recorded_events: list[RecordedEvent]) -> State:
        """Return a state carried over events just appended, not reading them again."""
        if any(event.type == RolledBack.type for event in recorded_events):
            self._known.pop(state.id, None)
        else:
            events = [
                (event.version, event.at, CODEC.decode(event)) for event in recorded_events
            ]
            self._known[state.id] = self.kind.fold(state, events, None)
        return self.current(state.id)

    def at_head(self, name: str) -> State:
        """Return the state as the log has it now."""
        saved = self.checkpoints.newest(self.kind.stream(name))
        return self.at_version(name, None) if saved is None else self.catch_up(saved)

    def at_version(self, name: str, version: int | None) -> State:
        """Return the state at a version, folded from the newest checkpoint on the path.

        Raise `NotFoundError` for a version the stream does not have.
        """
        stream = self.kind.stream(name)
        head = self._log.version(stream)
        last = head if version is None else version
        if not 0 <= last <= head:
            raise NotFoundError(
                f"{self.kind.name(name)} has no version {last}; it has 1 to {head}",
                stream=stream,
            )
        live = path(self.rollbacks(name, last), last)
        saved = self.checkpoints.newest(stream, until=last, live=live)
        state = self.kind.begin(name) if saved is None else saved
        tail = self._log.scan(stream, after=state.version, until=last)
        return self.kind.fold_rows(state, tail, live)

    def from_nothing(self, name: str) -> State:
        """Return the state as the log has it now, without any checkpoint."""
        last = self._log.version(self.kind.stream(name))
        return next(self.along(name, [last]))

    def along(self, name: str, versions: Sequence[int]) -> Iterator[State]:
        """Yield the state at some versions, lowest first, out of no checkpoint.

        It is one fold, begun again only where a rollback stands in between: each state
        is used up when the next one is asked for.
        """
        # What a checkpoint says of rollbacks saves a walk through all events. It is not
        # believed: the fold meets each of them.
        rollbacks = self.rollbacks(name, max(versions))
        state = self.kind.begin(name)
        for version in versions:
            state = self._on_to(version, state, rollbacks)
            if self.kind.rollbacks(state) != [r for r in rollbacks if r[0] <= version]:
                stream = self.kind.stream(name)
                rollbacks = self._scan_rollbacks(stream, 0, max(versions))
                state = self._on_to(version, self.kind.begin(name), rollbacks)
            yield state

    def _on_to(
        self, version: int, state: State, rollbacks: Sequence[tuple[int, int]]
    ) -> State:
        """Return a state brought to a version, from nothing where a rollback is between."""
        if any(state.version < at <= version for at, _ in rollbacks):
            state = self.kind.begin(state.id)
        stream, after = self.kind.stream(state.id), state.version
        rows = self._log.scan(stream, after=after, until=version)
        return self.kind.fold_rows(state, rows, path(rollbacks, version))

    def catch_up(self, state: State) -> State:
        """Return a state brought to the head; the given one is used up.

        A rollback in the tail sends the fold back to a checkpoint on the new path.
        """
        stream = self.kind.stream(state.id)
        tail = list(self._log.scan(stream, after=state.version))
        if any(row[2] == RolledBack.type for page in tail for row in page):
            return self.at_version(state.id, None)
        return self.kind.fold_rows(state, tail, None)

    def version(self, name: str) -> int:
        """Return the last version of a stream; 0 when it does not exist."""
        return self._log.version(self.kind.stream(name))

    def versions_of(self, name: str, kind: type[Event]) -> set[int]:
        """Return the versions of a stream at which a kind of event happened."""
        pages = self._log.scan(self.kind.stream(name), only=kind.type)
        return {version for page in pages for version, *_ in page}

    def events(self, name: str, kind: type[Kind]) -> list[Kind]:
        """Return all events of one kind in a stream, in order."""
        rows = self._log.scan(self.kind.stream(name), only=kind.type)
        return [
            event for _, _, event in CODEC.events_of_rows(rows) if isinstance(event, kind)
        ]

    def rollbacks(self, name: str, until: int) -> list[tuple[int, int]]:
        """Return version and target of every rollback up to a version, in order."""
        stream = self.kind.stream(name)
        kept = self.checkpoints.newest(stream, until=until)
        if kept is None:
            return self._scan_rollbacks(stream, 0, until)
        return self.kind.rollbacks(kept) + self._scan_rollbacks(stream, kept.version, until)

    def stretches(
        self: "Repository[Sprint]", sprint_id: str, until: int, *, near: int = 0
    ) -> Iterator[Stretch]:
        """Yield the stretches between checkpoints up to a version, the newest first.

        With `near` the first is no longer than that, even if no checkpoint stands there.
        """
        last, rollbacks = until, self.rollbacks(sprint_id, until)
        versions = self.checkpoints.versions(self.kind.stream(sprint_id))
        if 0 < near < until and not any(until - near <= v < until for v in versions):
            versions = sorted({*versions, until - near}, reverse=True)
        for version in versions:
            if version >= last or any(to < version < at <= last for at, to in rollbacks):
                continue
            saved = self.checkpoints.load(self.kind.stream(sprint_id), version)
            if saved is None and version == until - near:
                saved = self.at_version(sprint_id, version)
            if saved is not None:
                yield Stretch(saved, last, [r for r in rollbacks if version < r[0] <= last])
                last = version
        yield Stretch(Sprint(sprint_id), last, [r for r in rollbacks if r[0] <= last])

    def whole(self: "Repository[Sprint]", sprint_id: str, until: int) -> Stretch:
        """Return all of a stream up to a version, without any checkpoint."""
        return Stretch(Sprint(sprint_id), until, self.rollbacks(sprint_id, until))

    def follow(self: "Repository[Sprint]", follower: "Follower", stretch: Stretch) -> None:
        """Let every version of a stretch be looked at, voided ones included."""
        begin, last, rollbacks = stretch
        rows = self._log.scan(self.kind.stream(begin.id), after=begin.version, until=last)
        events = CODEC.events_of_rows(rows)
        # Imported here: only who asks about the past follows it.
        from .history import follow

        follow(follower, begin, events, until=last, rollbacks=rollbacks)

    def save(self, state: State) -> None:
        """Keep the state when its stream has grown enough since the last one kept."""
        stream = self.kind.stream(state.id)
        newest = max(self.checkpoints.versions(stream), default=0)
        if state.version - newest >= EVERY:
            self.checkpoints.save(stream, state)

    def renew(self, state: State) -> None:
        """Keep this state, folded from nothing, and no older one of its stream."""
        stream = self.kind.stream(state.id)
        self.checkpoints.forget(stream)
        self.checkpoints.save(stream, state)

    def _scan_rollbacks(self, stream: str, after: int, until: int) -> list[tuple[int, int]]:
        rows = self._log.scan(stream, after=after, until=until, only=RolledBack.type)
        return [
            (version, event.to)
            for version, _, event in CODEC.events_of_rows(rows)
            if isinstance(event, RolledBack)
        ]
