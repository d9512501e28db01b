"""Cached results of reading a stream, from which later reads continue."""

from collections.abc import Collection
from functools import partial
from typing import Generic, TypeVar

import msgspec

from ...log.port import Log
from ...state_format import sealed, shape_of, unsealed
from .checkpoints import was_erased_since

_HASH_BYTES = 32
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
        found = map(self.load_at, self._versions())
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

    def _versions(self) -> list[int]:
        return self._log.checkpoints.versions(self._key, format_=self._format)

    def _hash(self, version: int) -> bytes:
        return self._log.hash_of(self._stream, version) or b""


def forget_readings(log: Log, stream: str) -> None:
    """Delete the stored readings of a stream; they are computed again when needed."""
    for name in NAMES:
        log.checkpoints.forget(_key(name, stream))


def _key(name: str, stream: str) -> str:
    # Never a stream's name: those are `journal`, or `sprint/` and an id without spaces.
    return f"{name} of {stream}"
