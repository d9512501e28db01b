"""Saved states of a stream: thrown away at will, never the truth."""

from collections.abc import Collection, Sequence
from functools import partial
from typing import Generic

import msgspec

from ...log.envelope import ERASURES
from ...log.port import Checkpoints, EventStore
from ...sprint.state.effective_history import Interval, is_in_force, lies_on, taken_back_by
from .catalogue import EVERY, NEVER_SAVED, State, StreamKind

_HASH_BYTES = 32


def was_erased_since(log: EventStore, position: int) -> bool:
    """Tell whether events were erased after a position of the log.

    What was read before may hold what they said.
    """
    last = log.version(ERASURES)
    newest = log.read_stream(ERASURES, after=last - 1) if last else ()
    return any(event.position > position for event in newest)


class SavedStates(Generic[State]):
    """The saved states of one kind of stream, in today's format.

    With each goes the hash of the event that it was saved after. The chain makes it stand
    for all before, so a state that another history led to is never believed.
    """

    def __init__(self, kept: Checkpoints, kind: StreamKind[State], log: EventStore) -> None:
        self._kept = kept
        self._reading = kind
        self._log = log
        self._unread: set[tuple[str, int]] = set()

    def versions(self, stream: str) -> list[int]:
        """Return the versions that are saved, newest first."""
        return self._kept.versions(stream, format_=self._reading.format)

    def load(self, stream: str, version: int) -> State | None:
        """Return a saved state, or None when it is gone or not one of this history."""
        saved = self._kept.load(stream, version, format_=self._reading.format)
        try:
            if saved is not None and saved[:_HASH_BYTES] == self._hash(stream, version):
                state = self._reading.unpack(memoryview(saved)[_HASH_BYTES:])
                if state.version == version:
                    return state
        except (msgspec.MsgspecError, ValueError, TypeError):
            # A cache with a damaged bit is no worse than none.
            pass
        self._unread.add((stream, version))
        return None

    def newest(
        self,
        stream: str,
        *,
        until: int | None = None,
        live: Sequence[Interval] | None = None,
        among: Collection[int] | None = None,
    ) -> State | None:
        """Return the newest state that can be read, up to a version and on a path.

        With `among` no other versions are looked at.
        """
        for version in self.versions(stream) if among is None else sorted(among)[::-1]:
            is_late = until is not None and version > until
            if not is_late and (live is None or lies_on(live, version)):
                saved = self.load(stream, version)
                if saved is not None:
                    return saved
        return None

    def keep(self, stream: str, state: State, *, since: int) -> None:
        """Save a state where none in force is near; drop those not worth their bytes.

        It was read `since` a position of the log, as `save` has it.
        """
        last = state.version
        if last < EVERY:
            return
        versions, rollbacks = self.versions(stream), self._reading.rollbacks(state)
        unread = {version for name, version in self._unread if name == stream}
        near = (
            version
            for version in versions
            if last - EVERY < version <= last
            and version not in unread
            and is_in_force(version, rollbacks, until=last)
        )
        if any(near):
            return
        # Imported here: few commands come to where a state is saved.
        from .slots import slots_of

        packed = self._packed(stream, state)
        known = sorted({*versions, last} - unread)
        gone = slots_of(last, state_bytes=len(packed)).surplus(
            known, taken_back_by=taken_back_by(known, rollbacks)
        )
        drop = {*gone, *unread} - {last}
        self._save(stream, last, packed, since=since, drop=drop)
        self._unread -= {(stream, version) for version in unread}

    def save(self, stream: str, state: State, *, since: int) -> int:
        """Keep a state beside all others; return how many bytes it takes.

        Nothing of it was read before the log had reached `since`: what was erased after
        that may be in it, and then it is not kept.
        """
        packed = self._packed(stream, state)
        self._save(stream, state.version, packed, since=since)
        return len(packed)

    def forget(self, stream: str, *, but: Collection[int] = ()) -> None:
        """Drop the states of a stream, but for some versions, and its status."""
        self._kept.forget(stream, but=but)

    def _packed(self, stream: str, state: State) -> bytes:
        return (self._hash(stream, state.version) or b"") + self._reading.pack(state)

    def _save(
        self,
        stream: str,
        version: int,
        packed: bytes,
        *,
        since: int,
        drop: Collection[int] = (),
    ) -> None:
        if (format_ := self._reading.format) != NEVER_SAVED:
            outdated = partial(was_erased_since, self._log, since)
            self._kept.save(
                stream, version, packed, format_=format_, drop=drop, unless=outdated
            )

    def _hash(self, stream: str, version: int) -> bytes | None:
        return self._log.hash_of(stream, version)
