"""The ports of a log's store: one protocol for each of its duties.

Code that uses only part of a store should require the port of that part; `Log` combines
them all. `OwnLeases` serves stores on a single machine, whose loops exclude each other by
a file lock.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from typing import Any, Protocol

import msgspec

from .chain import Row as StoredRow
from .envelope import Appended, Head, NewEvent, RecordedEvent, Span

STREAM_CHARS_MAX = 160

Clock = Callable[[], int]
"""Returns the wall-clock time in milliseconds since 1970."""
Entropy = Callable[[int], bytes]
"""Returns the given number of unpredictable bytes."""
Form = str | tuple[str, int]
"""The stored form of an event: its type, with its schema version unless that is 1."""
Row = tuple[str, Form, str | bytes | None]
"""Time, form and payload of an event."""
Take = Callable[[list[RecordedEvent]], None]
"""Takes the next events."""


class Expect(Enum):
    """The expected state of a stream, if no version is named."""

    NONE = "none"
    """The stream is empty."""
    EXISTS = "exists"
    """The stream has at least one event."""
    ANY = "any"
    """Any state; the events are appended at the end."""


Expected = int | Expect
"""An exact version (0 is the same as `Expect.NONE`), or an `Expect`."""


def form_of(type_: str, schema_version: int) -> Form:
    """Return the stored form of an event."""
    return type_ if schema_version == 1 else (type_, schema_version)


def row_of(event: RecordedEvent) -> Row:
    """Return the part of an event that a fold needs."""
    return event.at, form_of(event.type, event.schema_version), event.payload


class Page(msgspec.Struct, frozen=True):
    """The parts of a stream's events that a fold needs, in order of version."""

    versions: Sequence[int]
    positions: Sequence[int]
    rows: Sequence[Row]

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any]]) -> "Page":
        """Return the page of stored columns, of which there is at least one row.

        The columns are version, position, `at`, type, schema version and payload.
        """
        columns: Iterator[Any] = zip(*rows, strict=True)
        versions, positions, *_ = columns
        # `form_of`, without a call for each row.
        own = [(at, tag if n == 1 else (tag, n), data) for _, _, at, tag, n, data in rows]
        return cls(versions, positions, own)

    def position_of(self, version: int) -> int:
        """Return the position of one of its versions."""
        return self.positions[self.versions.index(version)]

    def until(self, version: int) -> "Page":
        """Return the page up to and including a version."""
        return self._cut(slice(self.versions.index(version) + 1))

    def after(self, version: int) -> "Page":
        """Return the page after a version."""
        return self._cut(slice(self.versions.index(version) + 1, None))

    def _cut(self, part: slice) -> "Page":
        return Page(self.versions[part], self.positions[part], self.rows[part])


def say_nothing(text: str) -> None:
    """Ignore the notice of a wait."""


class Wait(msgspec.Struct, frozen=True):
    """How long to wait for other processes, and who is notified."""

    seconds: float = 30.0
    say: Callable[[str], None] = say_nothing
    """Called once, after `quiet_seconds`."""
    quiet_seconds: float = 1.0


WAIT = Wait()
"""The default wait."""


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

        If the key was used before with the same digest, return the events appended then
        (`duplicate`), regardless of `expect`. Raise `ConflictError` if the stream is not
        in the expected state, `KeyConflictError` if the key was used with another digest,
        `BusyError` if the log stays locked.
        """

    def taking_over(self) -> AbstractContextManager[Take]:
        """Return a context that copies events from another log, unchanged.

        All events are in the log once it exits without an error, otherwise none. Raise
        `RefusedError` for events that do not follow the end of the log.
        """

    def find_key(self, key: str) -> list[RecordedEvent]:
        """Return the events appended with an idempotency key, or an empty list."""

    def find_id(self, id_: str) -> RecordedEvent | None:
        """Return the event with an id, or None."""

    def read(self, *, after: int = 0, until: int | None = None) -> Iterator[RecordedEvent]:
        """Yield events in order of position: `after` exclusive, `until` inclusive.

        The end is fixed when the first event is requested.
        """

    def pages(
        self, *, after: int = 0, until: int | None = None
    ) -> Iterator[list[StoredRow]]:
        """Yield the stored rows of `read`, in batches."""

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
        """Yield the parts of a stream's events that a fold needs, in batches.

        The bounds are the same; `only` restricts it to one event type.
        """

    def head(self) -> Head:
        """Return the end of the log; position 0 and 32 zero bytes if it is empty."""

    def last_position(self) -> int:
        """Return the last position, even if its event is damaged."""

    def streams(self) -> dict[str, int]:
        """Return the last version of every stream, in order of name."""

    def version(self, stream: str) -> int:
        """Return the stream's last version; 0 if it does not exist."""

    def hash_of(self, stream: str, version: int) -> bytes | None:
        """Return the hash of a stream's event; None if there is no such event."""


class Erasing(Protocol):
    """The one exception to immutability: payloads are erased, and an event records it."""

    def erase(
        self,
        spans: Sequence[Span],
        *,
        stream: str,
        said: NewEvent,
        remainders: Sequence[bytes] = (),
    ) -> Appended | None:
        """Append an event, and erase payload and salt of earlier ones: both or neither.

        `remainders` replace the payloads, in order; if there are none, no payload remains.
        All saved states are dropped in the same transaction. If all payloads were erased
        before, record nothing and return None. The erased data is in no file of the store
        when this returns; if a concurrent reader prevents that, it is removed when the log
        is opened again.
        """

    def give_back(self) -> None:
        """Return unused space to the file system."""


class Acknowledged(Protocol):
    """A copy of the head, stored apart from the events to detect a lost end."""

    def acknowledged(self) -> Head | None:
        """Return the stored head, read without a lock; None if it is missing.

        It may be older than the head of the log.
        """

    def holds(self, head: Head) -> bool:
        """Return whether the log contains the event of a head; true for an empty head."""

    def check_acknowledged(self) -> None:
        """Raise `UnreadableError` if the log lacks an acknowledged event."""


class Maintenance(Protocol):
    """Questions about the store itself, rather than its events."""

    def problems(self) -> Iterator[str]:
        """Yield the problems that the store detects in its storage of the log."""

    def risks(self) -> Iterator[str]:
        """Yield descriptions of how the store's setup could lose acknowledged events."""

    def parts(self) -> list[str]:
        """Return the names of the stored parts, such as `events`, in order."""

    def holding(self, forms: Sequence[bytes], parts: Sequence[str]) -> Iterator[str]:
        """Yield the places in the given parts that contain one of the byte forms."""

    def described(self) -> dict[str, str]:
        """Return how the log is stored, and why, for its operators."""


class Checkpoints(Protocol):
    """Saved states by stream and version: a cache that may be deleted at any time.

    A state that cannot be saved is silently dropped.
    """

    def versions(self, stream: str, *, format_: int) -> list[int]:
        """Return the versions saved in a format, newest first."""

    def load(self, stream: str, version: int, *, format_: int) -> bytes | None:
        """Return a saved state, or None if there is none in this format."""

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
        """Save a state; drop those of other formats, and of the versions in `drop`.

        `unless` is called under the write lock: if it returns true, nothing is saved.
        """

    def forget(self, stream: str, *, but: Collection[int] = ()) -> None:
        """Drop the status of a stream, and its states except for some versions."""

    def status(self, stream: str, version: int) -> str | None:
        """Return the status saved for exactly this version of a stream."""

    def keep_status(self, stream: str, version: int, status: str) -> None:
        """Save the status of a stream at a version, replacing the previous one."""


class Digests(Protocol):
    """The digests of all contents ever written to a path, with their versions."""

    def know(self, path: str, digest: bytes, *, version: int) -> None:
        """Save a digest; if it is known, update its version."""

    def since(self, path: str, digest: bytes) -> int | None:
        """Return the version for which this content was written; None if never."""

    def written(self, path: str) -> list[tuple[bytes, int]]:
        """Return digest and version of all contents written to a path, newest first."""

    def newest(self, path: str, *, until: int, without: bytes = b"") -> int:
        """Return the newest version written to a path, up to `until`; 0 if none.

        The version whose digest is `without` is ignored.
        """

    def below(self, folder: str) -> set[str]:
        """Return the paths below a folder that were ever written."""

    def forget(self, path: str) -> None:
        """Drop all digests of a path."""


class Locks(Protocol):
    """Named locks among all processes that have the log open."""

    @property
    def wait(self) -> Wait:
        """Return how long to wait for others, including locks outside the store."""

    def hold(self, name: str) -> AbstractContextManager[None]:
        """Hold a lock exclusively.

        Raise `BusyError` with the names of the holders if they hold it beyond the wait.
        """


class LeaseHeld(msgspec.Struct, frozen=True):
    """The holder of a lease on a stream of a shared log."""

    host: str
    since: str
    heartbeat: str
    """The time of its last heartbeat, by the server's clock."""
    seconds_left: float
    """The seconds until the lease expires, without a further heartbeat."""


class Leases(Protocol):
    """Leases that admit one worker per stream among the machines that share the log."""

    def of(self, stream: str) -> LeaseHeld | None:
        """Return the holder of a stream's lease; None if no lease is held or needed."""

    def hold(self, stream: str, *, holder: str, host: str) -> AbstractContextManager[None]:
        """Hold the lease of a stream; the same `holder` may take over its own lease.

        Raise `BusyError` naming the host of another holder. A worker whose lease expired
        for lack of heartbeats can no longer append to the stream.
        """


class Log(EventStore, Erasing, Acknowledged, Maintenance, Protocol):
    """A whole store: one log with its caches, locks and leases."""

    @property
    def checkpoints(self) -> Checkpoints:
        """Return the saved states."""

    @property
    def digests(self) -> Digests:
        """Return the digests of written contents."""

    @property
    def locks(self) -> Locks:
        """Return the locks."""

    @property
    def leases(self) -> Leases:
        """Return the leases."""

    def close(self) -> None:
        """Release the store's resources; further calls are errors."""


class OwnLeases:
    """Grants every lease: on one machine a file lock admits one loop at a time."""

    def of(self, stream: str) -> LeaseHeld | None:
        """Return None: no other machine has a lease."""
        return None

    def hold(self, stream: str, *, holder: str, host: str) -> AbstractContextManager[None]:
        """Return a context without effect."""
        return nullcontext()
