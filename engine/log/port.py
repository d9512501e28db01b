"""What every store of a log can do, and nothing more."""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Protocol

from .envelope import DOCUMENT_BYTES_MAX as DOCUMENT_BYTES_MAX
from .envelope import PAYLOAD_BYTES_MAX as PAYLOAD_BYTES_MAX
from .envelope import Appended, Head, NewEvent, RecordedEvent

STREAM_CHARS_MAX = 160

Clock = Callable[[], int]
"""Answers the wall clock in milliseconds since 1970."""
Entropy = Callable[[int], bytes]
"""Answers that many unpredictable bytes."""


class Expect(Enum):
    """What a caller may expect of a stream when it does not name a version."""

    NONE = "none"
    """The stream holds nothing yet."""
    EXISTS = "exists"
    """The stream holds at least one event."""
    ANY = "any"
    """Whatever; the append goes to the end."""


Expected = int | Expect
"""An exact version (0 is the same as `Expect.NONE`), or one of the three words."""


Row = tuple[int, str, str, int, str | bytes | None, int]
"""Version, time, type, schema version, payload and position of an event."""


class Log(Protocol):
    """One append-only sequence of events; every method may raise `SprintlogError`."""

    def append(
        self,
        stream: str,
        new_events: Sequence[NewEvent],
        *,
        expect: Expected,
        key: str | None = None,
        key_digest: bytes | None = None,
    ) -> Appended:
        """Append all events or none; when this returns they are durable.

        A key seen before with the same digest answers with what was appended then
        (`duplicate`), whatever `expect` says. Raise `ConflictError` when the stream is
        not as expected, `KeyConflictError` for a key used for something else,
        `BusyError` when the log stays locked.
        """
        ...

    def find_key(self, key: str) -> list[RecordedEvent]:
        """Return the events appended under an idempotency key, or an empty list."""
        ...

    def read(self, *, after: int = 0, until: int | None = None) -> Iterator[RecordedEvent]:
        """Yield events in order of position: `after` exclusive, `until` inclusive."""
        ...

    def read_stream(
        self, stream: str, *, after: int = 0, until: int | None = None
    ) -> Iterator[RecordedEvent]:
        """Yield one stream's events in order of version, with the same bounds."""
        ...

    def scan(
        self,
        stream: str,
        *,
        after: int = 0,
        until: int | None = None,
        only: str | None = None,
    ) -> Iterator[Row]:
        """Yield what a fold needs of a stream, and no more, with the same bounds.

        `only` names the one type that is wanted.
        """
        ...

    def head(self) -> Head:
        """Return the end of the log; position 0 and 32 zero bytes when it is empty."""
        ...

    def streams(self) -> dict[str, int]:
        """Return every stream's name with its last version, in order of name."""
        ...

    def version(self, stream: str) -> int:
        """Return the stream's last version; 0 when it does not exist."""
        ...

    def close(self) -> None:
        """Give back what the store holds; further calls are errors."""
        ...
