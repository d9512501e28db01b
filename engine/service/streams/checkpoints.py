"""Saved states and readings of a stream: a cache that can be deleted at any time."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Generic, TypeVar

import msgspec

from ...log.envelope import ERASURES
from ...log.port import Checkpoints, EventStore, Log
from ...sprint.state import effective_history as history
from ...state_format import sealed, shape_of, unsealed
from .catalogue import EVERY, State, StreamKind

NEWEST = 4
"""The number of newest checkpoints that are always kept."""
SLOTS_MAX = 64
"""The maximum number of slots for the history, in addition to those near the head."""
BYTES_PER_EVENT = 128
"""The maximum number of bytes per event that the states in old slots may occupy."""
BYTES_READ_MEANWHILE = 512
"""The number of bytes of a saved state that take as long to read as one event takes to
fold; narrower slots would save no time."""


class Slots(msgspec.Struct, frozen=True):
    """The current slots of a stream, which determine the saved states to retain."""

    head: int
    narrowest: int
    widest: int

    def width(self, version: int) -> int:
        """Return a slot's width: a quarter to half of its distance to the head."""
        half = (self.head - version) // 2
        return max(self.narrowest, min(self.widest, _power_from(half + 1) // 2))

    def after(self, version: int) -> int:
        """Return the first version of the slot after the given version's slot."""
        wide = self.width(version)
        return (version // wide + 1) * wide

    def surplus(
        self, versions: Iterable[int], *, discarded_by: Mapping[int, int]
    ) -> list[int]:
        """Return the saved versions that are not worth their storage.

        Of several versions in a slot, the one that was effective for the longest time is
        retained; of several such versions, the first. `discarded_by` names the rollback
        that discarded each version.
        """

        def slot(version: int) -> tuple[int, int]:
            wide = self.width(version)
            return wide, version // wide

        def in_force_until(version: int) -> tuple[int, int]:
            return discarded_by.get(version, self.head + 1), -version

        gone: list[int] = []
        for _, group in groupby(sorted(versions)[:-NEWEST], slot):
            if len(found := list(group)) > 1:
                best = max(found, key=in_force_until)
                gone += [version for version in found if version != best]
        return gone


def slots_of(head: int, *, state_bytes: int = 0, narrowest: int = EVERY) -> Slots:
    """Return the slots of a stream, given the size of its states."""
    return Slots(
        head,
        max(narrowest, _power_from(state_bytes // BYTES_READ_MEANWHILE)),
        max(_power_from(state_bytes // BYTES_PER_EVENT), _power_from(head // SLOTS_MAX)),
    )


def _power_from(number: int) -> int:
    """Return the smallest power of two that is greater than or equal to a number."""
    return 1 << max(number - 1, 0).bit_length()


_HASH_BYTES = 32


def was_erased_since(log: EventStore, position: int) -> bool:
    """Return whether events were erased after a log position.

    Data read before that position may contain their text.
    """
    last = log.version(ERASURES)
    newest = log.read_stream(ERASURES, after=last - 1) if last else ()
    return any(event.position > position for event in newest)


class SavedStates(Generic[State]):
    """The saved states of one type of stream, in the current format.

    Each state is saved with the hash of the event that it follows. In the hash chain, that
    event represents all earlier events, so a state from a different history is never used.
    """

    def __init__(
        self, kept: Checkpoints | None, kind: StreamKind[State], log: EventStore
    ) -> None:
        """Set the storage for saved states; None disables saving."""
        self._kept = kept
        self._reading = kind
        self._log = log
        self._unread: set[tuple[str, int]] = set()

    def versions(self, stream: str) -> list[int]:
        """Return the saved versions, newest first."""
        if self._kept is None:
            return []
        return self._kept.versions(stream, format_=self._reading.format)

    def load(self, stream: str, version: int) -> State | None:
        """Return a saved state; None if it is missing or belongs to a different history."""
        if self._kept is None:
            return None
        saved = self._kept.load(stream, version, format_=self._reading.format)
        try:
            own = self._log.hash_of(stream, version)
            if saved is not None and saved[:_HASH_BYTES] == own:
                state = self._reading.unpack(memoryview(saved)[_HASH_BYTES:])
                if state.version == version:
                    return state
        except (msgspec.MsgspecError, ValueError, TypeError):
            # A damaged cache counts as missing.
            pass
        self._unread.add((stream, version))
        return None

    def newest(
        self,
        stream: str,
        *,
        until: int | None = None,
        live: Sequence[history.VersionRange] | None = None,
        among: Collection[int] | None = None,
    ) -> State | None:
        """Return the newest readable state on the path `live`, up to a version.

        With `among`, only these versions are considered.
        """
        for version in self.versions(stream) if among is None else sorted(among)[::-1]:
            is_late = until is not None and version > until
            if not is_late and (live is None or history.is_effective(live, version)):
                saved = self.load(stream, version)
                if saved is not None:
                    return saved
        return None

    def keep(self, stream: str, state: State, *, since: int) -> None:
        """Save a state unless an effective state is nearby; drop states not worth keeping.

        The state was read after the log position `since`, as in `save`.
        """
        if (last := state.version) < EVERY or self._kept is None:
            return
        versions, rollbacks = self.versions(stream), self._reading.rollbacks(state)
        unread = {version for name, version in self._unread if name == stream}
        near = (
            version
            for version in versions
            if last - EVERY < version <= last
            and version not in unread
            and history.is_in_force(version, rollbacks, until=last)
        )
        if any(near):
            return

        packed = self._packed(stream, state)
        known = sorted({*versions, last} - unread)
        gone = slots_of(last, state_bytes=len(packed)).surplus(
            known, discarded_by=history.discarded_by(known, rollbacks)
        )
        self._save(stream, last, packed, since=since, drop={*gone, *unread} - {last})
        self._unread -= {(stream, version) for version in unread}

    def save(self, stream: str, state: State, *, since: int) -> int:
        """Save a state in addition to all others; return its size in bytes.

        The state was read after the log had reached `since`. If events were erased after
        that position, the state may contain their text and is not saved.
        """
        packed = self._packed(stream, state)
        self._save(stream, state.version, packed, since=since)
        return len(packed)

    def forget(self, stream: str, *, but: Collection[int] = ()) -> None:
        """Delete a stream's status and all saved states except those of given versions."""
        if self._kept is not None:
            self._kept.forget(stream, but=but)

    def _packed(self, stream: str, state: State) -> bytes:
        own = self._log.hash_of(stream, state.version) or b""
        return own + self._reading.pack(state)

    def _save(
        self,
        stream: str,
        version: int,
        packed: bytes,
        *,
        since: int,
        drop: Collection[int] = (),
    ) -> None:
        if self._kept is not None:
            unless = partial(was_erased_since, self._log, since)
            form = self._reading.format
            self._kept.save(stream, version, packed, format_=form, drop=drop, unless=unless)


TIMES, DECISIONS, BLOCKS, EXTENSIONS = NAMES = (
    "times",
    "decisions",
    "blocks of decisions",
    "extensions",
)


class Reading(msgspec.Struct):
    """The result of reading a stream's events up to a version."""

    version: int


ReadingT = TypeVar("ReadingT", bound=Reading)


class KeptReading(Generic[ReadingT]):
    """The readings of one type for one stream, stored next to the saved states.

    Each reading is stored with the hash of its last event. In the hash chain, that event
    represents all earlier events, so a reading that is damaged or belongs to a different
    history is never used.
    """

    def __init__(
        self, log: Log, name: str, stream: str, shape: type[ReadingT], *, meaning: int
    ) -> None:
        self._log = log
        self._stream = stream
        self._key = _key(name, stream)
        self._decoder = msgspec.msgpack.Decoder(shape)
        self._format = shape_of(shape, meaning=meaning)
        self._since = log.last_position()
        """The last position of the log before anything was read."""

    def load(self) -> ReadingT | None:
        """Return the newest stored reading; None if none is valid."""
        versions = self._log.checkpoints.versions(self._key, format_=self._format)
        found = map(self.load_at, versions)
        return next((reading for reading in found if reading is not None), None)

    def load_at(self, version: int) -> ReadingT | None:
        """Return the reading up to a version; None if it is missing or invalid."""
        saved = self._log.checkpoints.load(self._key, version, format_=self._format)
        try:
            data = unsealed(saved or b"")
            if data[:_HASH_BYTES] == self._hash(version):
                return self._decoder.decode(data[_HASH_BYTES:])
        except msgspec.MsgspecError:
            # A damaged reading counts as missing.
            pass
        return None

    def keep_only(self, reading: ReadingT) -> None:
        """Store a reading, replacing all earlier readings."""
        self.keep(reading)
        self.forget(but={reading.version})

    def forget(self, *, but: Collection[int] = ()) -> None:
        """Delete the stored readings, except those of the given versions."""
        self._log.checkpoints.forget(self._key, but=but)

    def keep(self, reading: ReadingT) -> None:
        """Store a reading, unless events were erased since this object was created."""
        version = reading.version
        data = self._hash(version) + msgspec.msgpack.encode(reading)
        unless = partial(was_erased_since, self._log, self._since)
        kept, form = self._log.checkpoints, self._format
        kept.save(self._key, version, sealed(data), format_=form, unless=unless)

    def _hash(self, version: int) -> bytes:
        return self._log.hash_of(self._stream, version) or b""


def forget_readings(log: Log, stream: str) -> None:
    """Delete the stored readings of a stream; they are computed again when needed."""
    for name in NAMES:
        log.checkpoints.forget(_key(name, stream))


def _key(name: str, stream: str) -> str:
    # Never a stream's name: those are `journal`, or `sprint/` and an id without spaces.
    return f"{name} of {stream}"
