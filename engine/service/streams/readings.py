"""Readings of a stream that are kept and carried on: caches, never the truth."""

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
    """What somebody made of the events of a stream up to a version."""

    version: int


ReadingT = TypeVar("ReadingT", bound=Reading)


class KeptReading(Generic[ReadingT]):
    """One kind of reading of one stream; it lies with the saved states.

    With it goes the hash of the event that it ends with. The chain makes that stand for
    all before, so a reading of another history is never believed, nor a damaged one.
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
        """Where the log ended before anything was read."""

    def load(self) -> ReadingT | None:
        """Return the newest stored reading; None if none is valid."""
        found = map(self.load_at, self._versions())
        return next((reading for reading in found if reading is not None), None)

    def load_at(self, version: int) -> ReadingT | None:
        """Return the one that ends with a version; None where it cannot be believed."""
        saved = self._log.checkpoints.load(self._key, version, format_=self._format)
        try:
            data = unsealed(saved or b"")
            if data[:_HASH_BYTES] == self._hash(version):
                return self._decoder.decode(data[_HASH_BYTES:])
        except msgspec.MsgspecError:
            # A damaged one counts as missing.
            pass
        return None

    def keep_only(self, reading: ReadingT) -> None:
        """Keep a reading in place of those before."""
        self.keep(reading)
        self.forget(but={reading.version})

    def forget(self, *, but: Collection[int] = ()) -> None:
        """Throw away what is kept, but for some versions."""
        self._log.checkpoints.forget(self._key, but=but)

    def keep(self, reading: ReadingT) -> None:
        """Keep a reading; where that cannot be, let it go.

        It is not kept where something was erased since this was made.
        """
        version = reading.version
        data = self._hash(version) + msgspec.msgpack.encode(reading)
        self._log.checkpoints.save(
            self._key,
            version,
            sealed(data),
            format_=self._format,
            unless=partial(was_erased_since, self._log, self._since),
        )

    def _versions(self) -> list[int]:
        return self._log.checkpoints.versions(self._key, format_=self._format)

    def _hash(self, version: int) -> bytes:
        return self._log.hash_of(self._stream, version) or b""


def forget_readings(log: Log, stream: str) -> None:
    """Remove the stored readings of a stream; they are computed again when needed."""
    for name in NAMES:
        log.checkpoints.forget(_key(name, stream))


def _key(name: str, stream: str) -> str:
    # No stream's name: those are `journal`, and `sprint/` with an id that has no space.
    return f"{name} of {stream}"
