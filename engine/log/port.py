"""What a store of a log can do, duty by duty, and nothing more.

Who is handed a part of a store names the port of that part; `Log` is all of them.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from typing import Protocol

import msgspec

from .chain import Row as StoredRow
from .envelope import Appended, Head, NewEvent, RecordedEvent, Span

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


Form = str | tuple[str, int]
"""How an event is stored: its type; with its schema version where that is not 1."""
Row = tuple[str, Form, str | bytes | None]
"""Time, form and payload of an event."""


def form_of(type_: str, schema_version: int) -> Form:
    """Return the form of an event."""
    return type_ if schema_version == 1 else (type_, schema_version)


def row_of(event: RecordedEvent) -> Row:
    """Return what a fold needs of an event."""
    return event.at, form_of(event.type, event.schema_version), event.payload


class Page(msgspec.Struct, frozen=True):
    """What a fold needs of some events of a stream, in order of version."""

    versions: Sequence[int]
    positions: Sequence[int]
    rows: Sequence[Row]

    def position_of(self, version: int) -> int:
        """Return the position of one of its versions."""
        return self.positions[self.versions.index(version)]

    def until(self, version: int) -> "Page":
        """Return the part of it that ends with one of its versions."""
        return self._cut(slice(self.versions.index(version) + 1))

    def after(self, version: int) -> "Page":
        """Return the part of it that comes after one of its versions."""
        return self._cut(slice(self.versions.index(version) + 1, None))

    def _cut(self, part: slice) -> "Page":
        return Page(self.versions[part], self.positions[part], self.rows[part])


Take = Callable[[list[RecordedEvent]], None]
"""Takes the events that come next."""


def say_nothing(text: str) -> None:
    """Let nobody hear of a wait."""


class Wait(msgspec.Struct, frozen=True):
    """How long is waited for others, and who hears of it."""

    seconds: float = 30.0
    say: Callable[[str], None] = say_nothing
    """Told once, when it has taken `quiet_seconds`."""
    quiet_seconds: float = 1.0


WAIT = Wait()
"""What is waited where nobody says more."""


class EventStore(Protocol):
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

    def taking_over(self) -> AbstractContextManager[Take]:
        """Give what takes events as they were recorded in another log.

        They are in the log when this ends without an error, all of them or none. Raise
        `RefusedError` for events that are not the next ones.
        """

    def find_key(self, key: str) -> list[RecordedEvent]:
        """Return the events appended under an idempotency key, or an empty list."""

    def find_id(self, id_: str) -> RecordedEvent | None:
        """Return the event with an id, if there is one."""

    def read(self, *, after: int = 0, until: int | None = None) -> Iterator[RecordedEvent]:
        """Yield events in order of position: `after` exclusive, `until` inclusive.

        The end is fixed when the first event is asked for.
        """

    def pages(
        self, *, after: int = 0, until: int | None = None
    ) -> Iterator[list[StoredRow]]:
        """Yield the rows of `read` as they are stored, many at a time."""

    def read_stream(
        self, stream: str, *, after: int = 0, until: int | None = None
    ) -> Iterator[RecordedEvent]:
        """Yield one stream's events in order of version, with the same bounds."""

    def scan(
        self,
        stream: str,
        *,
        after: int = 0,
        until: int | None = None,
        only: str | None = None,
    ) -> Iterator[Page]:
        """Yield what a fold needs of a stream, and no more, many rows at a time.

        The bounds are the same; `only` names the one type that is wanted.
        """

    def head(self) -> Head:
        """Return the end of the log; position 0 and 32 zero bytes when it is empty."""

    def last_position(self) -> int:
        """Return the last position, also where its event is damaged."""

    def streams(self) -> dict[str, int]:
        """Return every stream's name with its last version, in order of name."""

    def version(self, stream: str) -> int:
        """Return the stream's last version; 0 when it does not exist."""

    def hash_of(self, stream: str, version: int) -> bytes | None:
        """Return the hash of a stream's event; None where there is none."""


class Erasing(Protocol):
    """The one exception to what is never changed: payloads go, and an event says so."""

    def erase(
        self,
        spans: Sequence[Span],
        *,
        stream: str,
        said: NewEvent,
        remainders: Sequence[bytes] = (),
    ) -> Appended | None:
        """Append an event, and erase payload and salt of those before: both or neither.

        `remainders` are put in the places of their payloads, in their order, and all saved
        states are dropped in the same moment; without any there is none. None where each
        of them was erased before; then nothing is recorded. What was erased is in no file
        of the store when this returns; where somebody who reads the log prevents that, it
        is once the log was opened again.
        """

    def give_back(self) -> None:
        """Give space that nothing takes any more back to the disk."""


class Acknowledged(Protocol):
    """The head once more, kept apart from the events: it tells of a lost end."""

    def acknowledged(self) -> Head | None:
        """Return the head as it was last kept, without a lock; None where it is gone.

        It may stay behind the log.
        """

    def holds(self, head: Head) -> bool:
        """Return whether the log has this very event; it has the head of an empty log."""

    def check_acknowledged(self) -> None:
        """Raise `UnreadableError` when the log lacks an event once acknowledged."""


class Maintenance(Protocol):
    """What is asked about the store itself, and not about its events."""

    def problems(self) -> Iterator[str]:
        """Yield what the store finds wrong with how it keeps the log."""

    def risks(self) -> Iterator[str]:
        """Yield in words how what was acknowledged can be lost, as the store is set up."""

    def parts(self) -> list[str]:
        """Return the names of all that is kept, such as `events`, in order."""

    def holding(self, forms: Sequence[bytes], parts: Sequence[str]) -> Iterator[str]:
        """Yield where some of the parts hold bytes that are one of the forms."""

    def described(self) -> dict[str, str]:
        """Return how the log is kept, and why so, for those who look after it."""


class Checkpoints(Protocol):
    """Saved states by stream and version: a cache, which goes at will.

    What cannot be kept is let go in silence.
    """

    def versions(self, stream: str, *, format_: int) -> list[int]:
        """Return the versions that are saved in a format, newest first."""

    def load(self, stream: str, version: int, *, format_: int) -> bytes | None:
        """Return a saved state, or None when there is none in this format."""

    def save(
        self,
        stream: str,
        version: int,
        state: bytes,
        *,
        format_: int,
        drop: Collection[int] = (),
        unless: Callable[[], bool] = bool,
    ) -> None:
        """Keep a state; drop those of another format, and of the versions in `drop`.

        `unless` is asked once nobody else can write any more: if true, nothing is kept.
        """

    def forget(self, stream: str, *, but: Collection[int] = ()) -> None:
        """Drop the states of a stream, but for some versions, and its status."""

    def status(self, stream: str, version: int) -> str | None:
        """Return the status kept for exactly this version of a stream."""

    def keep_status(self, stream: str, version: int, status: str) -> None:
        """Keep the status of a stream at a version, in place of the one before."""


class Digests(Protocol):
    """The digests of all bytes that were ever written to a path, with their versions."""

    def know(self, path: str, digest: bytes, *, version: int) -> None:
        """Keep a digest; where it is known it is from now on of this version."""

    def since(self, path: str, digest: bytes) -> int | None:
        """Return the version that these bytes were written for, None if never."""

    def written(self, path: str) -> list[tuple[bytes, int]]:
        """Return digest and version of all that was written to a path, newest first."""

    def newest(self, path: str, *, until: int, without: bytes = b"") -> int:
        """Return the newest version written to a path up to one; 0 when there is none.

        The one whose digest is `without` is not counted.
        """

    def below(self, folder: str) -> set[str]:
        """Return the paths below a folder that were ever written to."""

    def forget(self, path: str) -> None:
        """Drop all digests of a path."""


class Locks(Protocol):
    """Locks among all that have the log open, each with a name of its own."""

    @property
    def wait(self) -> Wait:
        """Return how long is waited for others, also for what is locked elsewhere."""

    def hold(self, name: str) -> AbstractContextManager[None]:
        """Be the only one that holds a name.

        Raise `BusyError` with the names of the holders when others hold it for longer
        than is waited.
        """


class LeaseHeld(msgspec.Struct, frozen=True):
    """Who works on a stream of a log that many machines share."""

    host: str
    since: str
    heartbeat: str
    """When it was heard of last, by the server's clock."""
    seconds_left: float
    """After so long without a further word the lease is over."""


class Leases(Protocol):
    """One worker for a stream, among all machines that share the log."""

    def of(self, stream: str) -> LeaseHeld | None:
        """Return who works on a stream, where anybody does and another could."""

    def hold(self, stream: str, *, holder: str, host: str) -> AbstractContextManager[None]:
        """Be the only one who works on a stream; `holder` is who may take over its own.

        Raise `BusyError` naming the host where another one does. Who loses the lease, since
        nothing was heard of it for too long, cannot append to the stream any more.
        """


class Log(EventStore, Erasing, Acknowledged, Maintenance, Protocol):
    """A whole store: one log with everything that is kept beside it."""

    @property
    def checkpoints(self) -> Checkpoints:
        """Return the saved states."""

    @property
    def digests(self) -> Digests:
        """Return the digests of what was written."""

    @property
    def locks(self) -> Locks:
        """Return the locks."""

    @property
    def leases(self) -> Leases:
        """Return who works on which stream."""

    def close(self) -> None:
        """Give back what the store holds; further calls are errors."""


class OwnLeases:
    """Gives every lease at once: a loop is kept alone by a lock of its machine."""

    def of(self, stream: str) -> LeaseHeld | None:
        """Return that nobody else works on it."""
        return None

    def hold(self, stream: str, *, holder: str, host: str) -> AbstractContextManager[None]:
        """Hold it."""
        return nullcontext()
