"""From the log to the state of a stream at any version, by checkpoint and tail."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from ...errors import NotFoundError
from ...log.envelope import RecordedEvent
from ...log.event import Event
from ...log.port import Checkpoints, EventStore
from ...sprint.events import RolledBack, SprintImported
from ...sprint.state.effective_history import VersionRange, effective_ranges, is_in_force
from ...sprint.state.sprint import Sprint
from .catalogue import CODEC, EVERY, State, StreamKind
from .checkpoints import SavedStates, slots_of, was_erased_since

if TYPE_CHECKING:
    from .history import Walked

Kind = TypeVar("Kind", bound=Event)

LONG = 4096
"""A reader that folds more events than this saves states on the way."""


class Stretch(msgspec.Struct, frozen=True):
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
        self, log: EventStore, kind: StreamKind[State], checkpoints: Checkpoints | None
    ) -> None:
        self.kind = kind
        self.checkpoints = SavedStates(checkpoints, kind, log)
        self._log = log
        self._known: dict[str, tuple[State | None, int]] = {}
        """Each with a position of the log; the state is at least as new."""
        self._began = -1
        """Where the log ended before any state was read; -1 while none was."""
        self.forgotten = 0
        """How often a state was let go, since events were erased that it was made of."""

    def current(self, name: str) -> State:
        """Return the current state of a stream; do not change it.

        If nothing was appended since the last call, this only reads the log's last
        position. A state from before an erasure is discarded.
        """
        position = self._log.last_position()
        self._began = position if self._began < 0 else self._began
        known, since = self._known.get(name, (None, -1))
        if known is not None and since == position:
            return known
        # A fold that fails leaves no half of a state behind.
        self._known[name] = None, since
        if since >= 0 and was_erased_since(self._log, since):
            self.forgotten += 1
            known = None
        if known is not None:
            state = self.catch_up(known)
        else:
            state = self._at_head(name, in_one_go=position <= LONG)
        self._known[name] = state, position
        return state

    def take(
        self, state: State, recorded_events: list[RecordedEvent], events: list[Event]
    ) -> State:
        """Return a state after events just appended, without reading them again.

        `events` are the same events, decoded.
        """
        known, since = self._known.get(state.id, (None, -1))
        first, last = recorded_events[0], recorded_events[-1]
        is_next = known is state and first.version == state.version + 1
        if not is_next or any(event.type == RolledBack.type for event in recorded_events):
            return self.current(state.id)
        # An erasure appends an event, too.
        if first.position != since + 1 and was_erased_since(self._log, since):
            return self.current(state.id)
        versioned = [
            (recorded.version, recorded.at, event)
            for recorded, event in zip(recorded_events, events, strict=True)
        ]
        state = self.kind.fold(state, versioned, None)
        self._known[state.id] = state, last.position
        return state

    def at_head(self, name: str) -> State:
        """Return the current state, read from the newest checkpoint."""
        self._begin()
        return self._at_head(name, in_one_go=False)

    def _at_head(self, name: str, *, in_one_go: bool) -> State:
        """Read the stream; `in_one_go`, without searching for its rollbacks first."""
        saved = self.checkpoints.newest(self.kind.stream(name))
        if saved is None and not in_one_go:
            return self._brought_to(self.version(name), name, None)
        return self.catch_up(self.kind.begin(name) if saved is None else saved)

    def at_version(
        self, name: str, version: int | None, *, among: Collection[int] | None = None
    ) -> State:
        """Return the state at a version, folded from the newest checkpoint on the path.

        With `among` no other checkpoints are used. Raise `NotFoundError` for a version
        the stream does not have.
        """
        self._begin()
        stream = self.kind.stream(name)
        head = self._log.version(stream)
        last = head if version is None else version
        if not 0 <= last <= head:
            raise NotFoundError(
                f"{self.kind.name(name)} has no version {last}; it has 1 to {head}",
                stream=stream,
            )
        known = self.checkpoints.newest(stream, until=last, among=among)
        return self._brought_to(last, name, known, among=among)

    def from_nothing(self, name: str) -> State:
        """Return the state as the log has it now, out of no checkpoint."""
        head = self.version(name)
        # The rollbacks of a checkpoint save a walk through all events. They are only a
        # hint: the fold meets each of them.
        rollbacks = self.rollbacks(name, head)
        state = next(self.along(name, [head], rollbacks))
        if self.kind.rollbacks(state) != rollbacks:
            state = self.at_version(name, head, among=())
        return state

    def along(
        self, name: str, versions: Sequence[int], rollbacks: Sequence[tuple[int, int]]
    ) -> Iterator[State]:
        """Yield the state at some versions on the path to the last, out of no checkpoint.

        It is one fold: each state is used up when the next one is asked for.
        """
        state, live = self.kind.begin(name), effective_ranges(rollbacks, versions[-1])
        for version in versions:
            state = self._fold(state, version, live)
            yield state

    def rebuild(self, name: str) -> State:
        """Return the state folded from nothing; save it, and others on the way to it."""
        position = self._log.last_position()
        stream, head = self.kind.stream(name), self.version(name)
        live = effective_ranges(self._scan_rollbacks(stream, 0, head), head)
        begin = self.kind.begin(name)
        state, made = self._fold_saving(begin, head, live, head=head, since=position)
        if head:
            self.checkpoints.save(stream, state, since=position)
        self.checkpoints.forget(stream, but={*made, head})
        return state

    def go_on(self, state: State, version: int) -> State:
        """Return the state at a version; the given one, best from before it, is used up."""
        if version < state.version:
            return self.at_version(state.id, version)
        return self._brought_to(version, state.id, state)

    def catch_up(self, state: State) -> State:
        """Return a state brought to the head; the given one is used up.

        A rollback in the tail sends the fold back to a checkpoint on the new path.
        """
        stream = self.kind.stream(state.id)
        tail = list(self._log.scan(stream, after=state.version))
        forms = [form for page in tail for _, form, *_ in page.rows]
        if RolledBack.type in forms:
            return self._brought_to(tail[-1].versions[-1], state.id, state)
        return self.kind.fold_rows(state, tail, None)

    def version(self, name: str) -> int:
        """Return the last version of a stream; 0 when it does not exist."""
        return self._log.version(self.kind.stream(name))

    def versions_of(self, name: str, kind: type[Event]) -> set[int]:
        """Return the versions of a stream at which a kind of event happened."""
        pages = self._log.scan(self.kind.stream(name), only=kind.type)
        return {version for page in pages for version in page.versions}

    def events(self, name: str, kind: type[Kind]) -> list[Kind]:
        """Return all events of one kind in a stream, in order."""
        rows = self._log.scan(self.kind.stream(name), only=kind.type)
        return [
            event for _, _, event in CODEC.events_of_rows(rows) if isinstance(event, kind)
        ]

    def rollbacks(
        self, name: str, until: int, *, among: Collection[int] | None = None
    ) -> list[tuple[int, int]]:
        """Return version and target of every rollback up to a version, in order."""
        stream = self.kind.stream(name)
        kept = self.checkpoints.newest(stream, until=until, among=among)
        if kept is None:
            return self._scan_rollbacks(stream, 0, until)
        return self.kind.rollbacks(kept) + self._scan_rollbacks(stream, kept.version, until)

    def imports(self: "Repository[Sprint]", sprint_id: str, until: int) -> dict[int, int]:
        """Return by the first event read off an imported version which one ends it.

        The events before an import are those observed in its document: of the same time and
        actor. Only together they lead from one version to the next.
        """
        stream, found = self.kind.stream(sprint_id), dict[int, int]()
        rows = self._log.scan(stream, until=until, only=SprintImported.type)
        if sum(len(page.versions) for page in rows) < 2:
            return found
        first, before = 1, None
        for event in self._log.read_stream(stream, until=until):
            by, is_last = (event.at, event.actor), event.type == SprintImported.type
            if by != before:
                first = event.version
            if is_last and first < event.version:
                found[first] = event.version
            before = by if event.observed and not is_last else None
        return found

    def stretches(
        self: "Repository[Sprint]",
        sprint_id: str,
        until: int,
        *,
        near: int = 0,
        together: Mapping[int, int] = {},
    ) -> Iterator[Stretch]:
        """Yield the stretches between checkpoints up to a version, the newest first.

        With `near` the first is no longer than that, even if there is no checkpoint,
        unless that would separate events of one append.
        """
        last, rollbacks = until, self.rollbacks(sprint_id, until)
        parted = {v for first, end in together.items() for v in range(first, end)}
        versions = self.checkpoints.versions(self.kind.stream(sprint_id))
        versions = [version for version in versions if version not in parted]
        while near and until - near in parted:
            near += 1
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

    def walk(
        self: "Repository[Sprint]",
        stretch: Stretch,
        is_seen: Callable[[Event], bool] | None = None,
    ) -> "Iterator[Walked]":
        """Yield the versions of a stretch, discarded ones included, as `history.walk`.

        The stretch is used up.
        """
        begin, last = stretch.begin, stretch.last
        rows = self._log.scan(self.kind.stream(begin.id), after=begin.version, until=last)
        # Imported here: only who asks about the past follows it.
        from .history import walk

        events = CODEC.events_of_rows(rows)
        return walk(begin, events, stretch.rollbacks, is_seen=is_seen)

    def save(self, state: State) -> None:
        """Keep the state when enough happened since the last one on its path."""
        known, since = self._known.get(state.id, (None, -1))
        since = since if known is state else self._began
        self.checkpoints.keep(self.kind.stream(state.id), state, since=since)

    def _begin(self) -> None:
        """Remember the end of the log before any state is read: no state is older."""
        if self._began < 0:
            self._began = self._log.last_position()

    def _brought_to(
        self,
        last: int,
        name: str,
        known: State | None,
        *,
        among: Collection[int] | None = None,
    ) -> State:
        """Return the state at a version; the known one, from before it, is used up.

        Without a known one there is no checkpoint. If a rollback undid the known one, its
        knowledge remains valid: only the plan is folded again, from a checkpoint on the
        path and by the effective events.
        """
        stream, kind = self.kind.stream(name), self.kind
        rollbacks = [] if known is None else [*kind.rollbacks(known)]
        after = 0 if known is None else known.version
        rollbacks += self._scan_rollbacks(stream, after, last)
        live = effective_ranges(rollbacks, last)
        # Who trusts no checkpoint makes none either.
        fold = self._fold_far if among is None else self._fold
        if known is not None and is_in_force(known.version, rollbacks, until=last):
            return fold(known, last, live)
        saved = None
        if known is not None:
            saved = self.checkpoints.newest(stream, until=last, live=live, among=among)
        state = kind.begin(name) if saved is None else saved
        pieces = [(max(a, state.version + 1), b) for a, b in live if b > state.version]
        in_force = sum(b + 1 - a for a, b in pieces)
        if known is None or in_force + last - known.version >= last - state.version:
            return fold(state, last, live)
        for first, end in pieces:
            if first == state.version + 1:
                state = fold(state, end, live)
            else:
                state = self._fold(state, end, None, after=first - 1)
        return kind.with_plan(self._fold(known, last, []), state)

    def _fold(
        self,
        state: State,
        until: int,
        live: Sequence[VersionRange] | None,
        *,
        after: int = -1,
    ) -> State:
        first = state.version if after < 0 else after
        rows = self._log.scan(self.kind.stream(state.id), after=first, until=until)
        return self.kind.fold_rows(state, rows, live)

    def _fold_far(self, state: State, until: int, live: Sequence[VersionRange]) -> State:
        """Fold for a reader; after a long fold, save a state for the next reader."""
        if until - state.version <= LONG:
            return self._fold(state, until, live)
        head = self._log.version(self.kind.stream(state.id))
        return self._fold_saving(
            state, until, live, head=head, since=self._began, narrowest=LONG
        )[0]

    def _fold_saving(
        self,
        state: State,
        until: int,
        live: Sequence[VersionRange],
        *,
        head: int,
        since: int,
        narrowest: int = EVERY,
    ) -> tuple[State, list[int]]:
        """Fold to a version, and save a state in each slot on the way; return which.

        Nothing is saved once events were erased that come `since` a position.
        """
        stream, slots = self.kind.stream(state.id), slots_of(head, narrowest=narrowest)
        made: list[int] = []
        while True:
            stop = slots.after(state.version)
            stop = next((max(a, stop) for a, b in live if b >= stop), until)
            if stop >= until:
                return self._fold(state, until, live), made
            state = self._fold(state, stop, live)
            size = self.checkpoints.save(stream, state, since=since)
            slots = slots_of(head, state_bytes=size, narrowest=narrowest)
            made.append(stop)

    def _scan_rollbacks(self, stream: str, after: int, until: int) -> list[tuple[int, int]]:
        rows = self._log.scan(stream, after=after, until=until, only=RolledBack.type)
        return [
            (version, event.to)
            for version, _, event in CODEC.events_of_rows(rows)
            if isinstance(event, RolledBack)
        ]
