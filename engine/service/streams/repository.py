"""Reads the state of a stream at any version from a checkpoint and the events after it."""

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
"""The number of events beyond which a reader saves intermediate states."""


class Stretch(msgspec.Struct, frozen=True):
    """A section of a stream without rollbacks to versions before the section."""

    begin: Sprint
    """The state before the stretch; following the stretch modifies this state."""
    last: int
    """The last version in the stretch."""
    rollbacks: list[tuple[int, int]]
    """The version and target of each rollback in the stretch."""


class Repository(Generic[State]):
    """Reads one type of stream from a log, using checkpoints."""

    def __init__(
        self, log: EventStore, kind: StreamKind[State], checkpoints: Checkpoints | None
    ) -> None:
        self.kind = kind
        self.checkpoints = SavedStates(checkpoints, kind, log)
        self._log = log
        self._known: dict[str, tuple[State | None, int]] = {}
        """The states, each at least as new as its log position."""
        self._began = -1
        """The last position of the log before any state was read; -1 if none was read."""
        self.forgotten = 0
        """The number of states dropped because some of their events were erased."""

    def current(self, name: str) -> State:
        """Return the current state of a stream; callers must not modify it.

        If nothing was appended since the last call, only the log's last position is read. A
        state from before an erasure is discarded.
        """
        position = self._log.last_position()
        self._began = position if self._began < 0 else self._began
        known, since = self._known.get(name, (None, -1))
        if known is not None and since == position:
            return known
        # A failed fold must not leave a partial state behind.
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
        """Return a state updated with newly appended events, without reading them again.

        `events` contains the same events, decoded.
        """
        known, since = self._known.get(state.id, (None, -1))
        first, last = recorded_events[0], recorded_events[-1]
        is_next = known is state and first.version == state.version + 1
        if not is_next or any(event.type == RolledBack.type for event in recorded_events):
            return self.current(state.id)
        # An erasure also appends an event.
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
        """Return the current state; `in_one_go` skips the search for rollbacks."""
        saved = self.checkpoints.newest(self.kind.stream(name))
        if saved is None and not in_one_go:
            return self._brought_to(self.version(name), name, None)
        return self.catch_up(self.kind.begin(name) if saved is None else saved)

    def at_version(
        self, name: str, version: int | None, *, among: Collection[int] | None = None
    ) -> State:
        """Return the state at a version, folded from the newest effective checkpoint.

        With `among`, only these checkpoints are used. Raise `NotFoundError` for a version
        that the stream does not have.
        """
        self._begin()
        stream = self.kind.stream(name)
        head = self._log.version(stream)
        last = head if version is None else version
        if not 0 <= last <= head:
            raise NotFoundError(
                f"{self.kind.name(name)} has no version {last}; it has versions 1 to "
                f"{head}",
                stream=stream,
            )
        known = self.checkpoints.newest(stream, until=last, among=among)
        return self._brought_to(last, name, known, among=among)

    def from_nothing(self, name: str) -> State:
        """Return the current state, computed without checkpoints."""
        head = self.version(name)
        # The rollbacks in a checkpoint avoid a scan of all events. They are only a hint,
        # because the fold finds every rollback itself.
        rollbacks = self.rollbacks(name, head)
        state = next(self.along(name, [head], rollbacks))
        if self.kind.rollbacks(state) != rollbacks:
            state = self.at_version(name, head, among=())
        return state

    def along(
        self, name: str, versions: Sequence[int], rollbacks: Sequence[tuple[int, int]]
    ) -> Iterator[State]:
        """Yield the states at the given versions on the path to the last of them.

        No checkpoints are used. There is a single fold, so requesting the next state
        modifies the previous one.
        """
        state, live = self.kind.begin(name), effective_ranges(rollbacks, versions[-1])
        for version in versions:
            state = self._fold(state, version, live)
            yield state

    def rebuild(self, name: str) -> State:
        """Return the state folded from the first event; save it and intermediate states."""
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
        """Return the state at a version; this consumes the given, usually earlier state."""
        if version < state.version:
            return self.at_version(state.id, version)
        return self._brought_to(version, state.id, state)

    def catch_up(self, state: State) -> State:
        """Return a state updated to the head; the given state is consumed.

        If there is a rollback after the state, folding restarts from a checkpoint on the
        new path.
        """
        tail = list(self._log.scan(self.kind.stream(state.id), after=state.version))
        forms = [form for page in tail for _, form, *_ in page.rows]
        if RolledBack.type in forms:
            return self._brought_to(tail[-1].versions[-1], state.id, state)
        return self.kind.fold_rows(state, tail, None)

    def version(self, name: str) -> int:
        """Return the last version of a stream; 0 if the stream does not exist."""
        return self._log.version(self.kind.stream(name))

    def versions_of(self, name: str, kind: type[Event]) -> set[int]:
        """Return the versions of a stream that have an event of the given type."""
        pages = self._log.scan(self.kind.stream(name), only=kind.type)
        return {version for page in pages for version in page.versions}

    def events(self, name: str, kind: type[Kind]) -> list[Kind]:
        """Return all events of a type in a stream, in order."""
        rows = self._log.scan(self.kind.stream(name), only=kind.type)
        return [
            event for _, _, event in CODEC.events_of_rows(rows) if isinstance(event, kind)
        ]

    def rollbacks(
        self, name: str, until: int, *, among: Collection[int] | None = None
    ) -> list[tuple[int, int]]:
        """Return the version and target of every rollback up to a version, in order."""
        stream = self.kind.stream(name)
        if (kept := self.checkpoints.newest(stream, until=until, among=among)) is None:
            return self._scan_rollbacks(stream, 0, until)
        return self.kind.rollbacks(kept) + self._scan_rollbacks(stream, kept.version, until)

    def imports(self: "Repository[Sprint]", sprint_id: str, until: int) -> dict[int, int]:
        """Return the last version of each imported group of events, by its first version.

        A group consists of an import and the preceding events with the same time and actor,
        which were observed in the imported document. Only the complete group transforms one
        document version into the next.
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
        """Yield the sections between checkpoints up to a version, newest first.

        With `near`, the first section has at most this length, even if there is no
        checkpoint, unless that would separate the events of an append.
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
        """Return the complete stream up to a version, without using a checkpoint."""
        return Stretch(Sprint(sprint_id), until, self.rollbacks(sprint_id, until))

    def walk(
        self: "Repository[Sprint]",
        stretch: Stretch,
        is_seen: Callable[[Event], bool] | None = None,
    ) -> "Iterator[Walked]":
        """Yield the versions in a section, including discarded versions.

        The section is consumed. See `history.walk`.
        """
        begin, last = stretch.begin, stretch.last
        rows = self._log.scan(self.kind.stream(begin.id), after=begin.version, until=last)
        # Imported here: only questions about the past require it.
        from .history import walk

        return walk(begin, CODEC.events_of_rows(rows), stretch.rollbacks, is_seen=is_seen)

    def save(self, state: State) -> None:
        """Save the state if enough events follow the last saved state on its path."""
        known, since = self._known.get(state.id, (None, -1))
        since = since if known is state else self._began
        self.checkpoints.keep(self.kind.stream(state.id), state, since=since)

    def _begin(self) -> None:
        """Record the log's end position before any state is read."""
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
        """Return the state at a version; the known, earlier state is consumed.

        Without a known state, no checkpoint is used. If a rollback discarded the known
        state, its knowledge remains valid: only the plan is folded again, from the
        effective events after a checkpoint on the path.
        """
        stream, kind = self.kind.stream(name), self.kind
        rollbacks = [] if known is None else [*kind.rollbacks(known)]
        after = 0 if known is None else known.version
        rollbacks += self._scan_rollbacks(stream, after, last)
        live = effective_ranges(rollbacks, last)
        # If checkpoints are not trusted, none are created either.
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
        """Fold to a version; if the fold is long, save states for later reads."""
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
        """Fold to a version, and save a state in each slot; return the saved versions.

        Nothing is saved if events were erased after the position `since`.
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
