"""Saved states of a stream: thrown away at will, never the truth."""

from collections.abc import Sequence
from typing import Generic

import msgspec

from ...log.port import Checkpoints
from ...sprint.iterations.rollback import Interval, lies_on
from .catalogue import State, StreamKind

EVERY = 64
"""A state is saved when its stream has grown by this many events."""
KEPT = 4
"""How many saved states of a stream are kept, the newest ones."""


class SavedStates(Generic[State]):
    """The saved states of one kind of stream, in today's format."""

    def __init__(self, kept: Checkpoints, kind: StreamKind[State]) -> None:
        self._kept = kept
        self._reading = kind

    def versions(self, stream: str) -> list[int]:
        """Return the versions that are saved, newest first."""
        return self._kept.versions(stream, format_=self._reading.format)

    def load(self, stream: str, version: int) -> State | None:
        """Return a saved state, or None when it is gone or unreadable."""
        saved = self._kept.load(stream, version, format_=self._reading.format)
        try:
            return None if saved is None else self._reading.unpack(saved)
        except (msgspec.MsgspecError, ValueError, TypeError):
            # A cache with a damaged bit is no worse than none.
            return None

    def newest(
        self,
        stream: str,
        *,
        until: int | None = None,
        live: Sequence[Interval] | None = None,
    ) -> State | None:
        """Return the newest state that can be read, up to a version and on a path."""
        for version in self.versions(stream):
            is_late = until is not None and version > until
            if not is_late and (live is None or lies_on(live, version)):
                saved = self.load(stream, version)
                if saved is not None:
                    return saved
        return None

    def save(self, stream: str, state: State) -> None:
        """Keep a state, and drop the oldest ones and those of another format."""
        packed, format_ = self._reading.pack(state), self._reading.format
        self._kept.save(stream, state.version, packed, format_=format_, keep=KEPT)

    def forget(self, stream: str) -> None:
        """Drop every state of a stream, and its status."""
        self._kept.forget(stream)
