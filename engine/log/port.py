"""The ports of a log store: one protocol for each responsibility.

Code that uses only part of a store should require that part's port; `Log` combines all
ports. `OwnLeases` is for stores on a single machine, where a file lock allows only one loop
at a time.
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
"""A function that returns the wall-clock time in milliseconds since 1970."""
Entropy = Callable[[int], bytes]
"""A function that returns the given number of unpredictable bytes."""
Form = str | tuple[str, int]
"""The stored form of an event: its type, with its schema version unless that is 1."""
Row = tuple[str, Form, str | bytes | None]
"""An event's time, form and payload."""
Take = Callable[[list[RecordedEvent]], None]
"""A function that appends the next copied events."""


class Expect(Enum):
    """The expected state of a stream if no exact version is specified."""

    NONE = "none"
    """The stream is empty."""
    EXISTS = "exists"
    """The stream has at least one event."""
    ANY = "any"
    """Any state; the events are appended at the end."""


Expected = int | Expect
"""An exact version (0 is the same as `Expect.NONE`), or an `Expect`."""


def form_of(type_: str, schema_version: int) -> Form:
    """Return an event's stored form: its type, and its schema version unless that is 1."""
    return type_ if schema_version == 1 else (type_, schema_version)


def row_of(event: RecordedEvent) -> Row:
    """Return the part of an event that a fold requires."""
    return event.at, form_of(event.type, event.schema_version), event.payload


class Page(msgspec.Struct, frozen=True):
    """The parts of a stream's events that a fold requires, ordered by version."""

    versions: Sequence[int]
    positions: Sequence[int]
    rows: Sequence[Row]

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any]]) -> "Page":
        """Return a page of stored rows; at least one row is required.

        The columns are version, position, `at`, type, schema version and payload.
        """
        columns: Iterator[Any] = zip(*rows, strict=True)
        versions, positions, *_ = columns
        # `form_of`, without a call for each row.
        own = [(at, tag if n == 1 else (tag, n), data) for _, _, at, tag, n, data in rows]
        return cls(versions, positions, own)

    def position_of(self, version: int) -> int:
        """Return the position of a version in the page."""
        return self.positions[self.versions.index(version)]

    def until(self, version: int) -> "Page":
        """Return the part of the page up to and including a version."""
        return self._cut(slice(self.versions.index(version) + 1))

    def after(self, version: int) -> "Page":
        """Return the part of the page after a version."""
        return self._cut(slice(self.versions.index(version) + 1, None))

    def _cut(self, part: slice) -> "Page":
        return Page(self.versions[part], self.positions[part], self.rows[part])


def say_nothing(text: str) -> None:
    """Ignore a message about a wait."""


class Wait(msgspec.Struct, frozen=True):
    """Time limits for waits, and a function that reports long waits."""

    seconds: float = 30.0
    say: Callable[[str], None] = say_nothing
    """A function that is called once, after `quiet_seconds`."""
    quiet_seconds: float = 1.0


WAIT = Wait()
"""The default wait."""


class EventStore(Protocol):
    """An append-only sequence of events; every method may raise `SprintlogError`."""

    def append(
        self,
        stream: str,
        new_events: Sequence[NewEvent],
        *,
        expect: Expected,
        key: str | None = None,
        key_digest: bytes | None = None,
    ) -> Appended:
        """Append all events or none; they are durable when this method returns.

        If the key was used before with the same digest, return the events appended then
        (`duplicate`), regardless of `expect`. Raise `ConflictError` if the stream is not in
        the expected state, `KeyConflictError` if the key was used with another digest, and
        `BusyError` if the log stays locked.
        """

    def taking_over(self) -> AbstractContextManager[Take]:
        """Return a context that copies events unchanged from another log.

        If it exits without an error, the log contains all the events, otherwise none. Raise
        `RefusedError` for events that do not follow the end of the log.
        """

    def find_key(self, key: str) -> list[RecordedEvent]:
        """Return the events appended with the given idempotency key, or an empty list."""

    def find_id(self, id_: str) -> RecordedEvent | None:
        """Return the event with the given id, or None."""

    def read(self, *, after: int = 0, until: int | None = None) -> Iterator[RecordedEvent]:
        """Yield events by position, from `after` (exclusive) to `until` (inclusive).

        The end is fixed when the first event is requested.
        """

    def pages(
        self, *, after: int = 0, until: int | None = None
    ) -> Iterator[list[StoredRow]]:
        """Yield the rows that `read` reads, in batches."""

    def read_stream(
        self, stream: str, *, after: int = 0, until: int | None = None
    ) -> Iterator[RecordedEvent]:
        """Yield one stream's events by version, with the same bounds as for `read`."""

    def scan(
        self,
        stream: str,
        *,
        after: int = 0,
        until: int | None = None,
        only: str | None = None,
    ) -> Iterator[Page]:
        """Yield the parts of a stream's events that a fold requires, in batches.

        The bounds are the same as for `read`; `only` restricts the result to one event
        type.
        """

    def head(self) -> Head:
        """Return the end of the log; position 0 and 32 zero bytes if the log is empty."""

    def last_position(self) -> int:
        """Return the last position, even if its event is damaged."""

    def streams(self) -> dict[str, int]:
        """Return the last version of every stream, sorted by stream name."""

    def version(self, stream: str) -> int:
        """Return the stream's last version; 0 if the stream does not exist."""

    def hash_of(self, stream: str, version: int) -> bytes | None:
        """Return the hash of a stream's event; None if there is no such event."""


class Erasing(Protocol):
    """The one exception to immutability: erasure of payloads, which an event records."""

    def erase(
        self,
        spans: Sequence[Span],
        *,
        stream: str,
        said: NewEvent,
        remainders: Sequence[bytes] = (),
    ) -> Appended | None:
        """Append an event and erase earlier events' payloads and salts, in one transaction.

        `remainders` replace the payloads, in order; if there are none, the payloads are
        removed. All saved states are dropped in the same transaction. If all the payloads
        were already erased, record nothing and return None. When this method returns, none
        of the store's files contains the erased data; if a concurrent reader prevents that,
        the data is removed when the log is opened again.
        """

    def give_back(self) -> None:
        """Return unused space to the file system."""


class Acknowledged(Protocol):
    """A copy of the head, stored apart from the events to detect a truncated log."""

    def acknowledged(self) -> Head | None:
        """Return the stored head, read without a lock; None if it is missing.

        The stored head may be older than the head of the log.
        """

    def holds(self, head: Head) -> bool:
        """Return whether the log contains the given head's event; true for position 0."""

    def check_acknowledged(self) -> None:
        """Raise `UnreadableError` if the log lacks an acknowledged event."""


class Maintenance(Protocol):
    """Information about the store itself rather than its events."""

    def problems(self) -> Iterator[str]:
        """Yield the problems that the store detects in the stored log."""

    def risks(self) -> Iterator[str]:
        """Yield the ways in which the store's setup could lose acknowledged events."""

    def parts(self) -> list[str]:
        """Return the names of the stored parts, such as `events`, in order."""

    def holding(self, forms: Sequence[bytes], parts: Sequence[str]) -> Iterator[str]:
        """Yield the locations in the given parts that contain one of the byte strings."""

    def described(self) -> dict[str, str]:
        """Return the storage method and the reason for it, as shown to operators."""


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
        """Save a state; drop states in other formats and states of the versions in `drop`.

        `unless` is called under the write lock: if it returns true, nothing is saved.
        """

    def forget(self, stream: str, *, but: Collection[int] = ()) -> None:
        """Drop a stream's status and all saved states except those of versions in `but`."""

    def status(self, stream: str, version: int) -> str | None:
        """Return the status saved for exactly this version of a stream, or None."""

    def keep_status(self, stream: str, version: int, status: str) -> None:
        """Save the status of a stream at a version, replacing the previous one."""


class Digests(Protocol):
    """The digests and versions of all content ever written to each path."""

    def know(self, path: str, digest: bytes, *, version: int) -> None:
        """Save a digest with its version, or update the version of a known digest."""

    def since(self, path: str, digest: bytes) -> int | None:
        """Return the version for which this content was written; None if it never was."""

    def written(self, path: str) -> list[tuple[bytes, int]]:
        """Return the digests and versions of content written to a path, newest first."""

    def newest(self, path: str, *, until: int, without: bytes = b"") -> int:
        """Return the newest version written to a path, up to `until`; 0 if there is none.

        The version whose digest is `without` is ignored.
        """

    def below(self, folder: str) -> set[str]:
        """Return all paths below a folder that were ever written."""

    def forget(self, path: str) -> None:
        """Drop all digests for a path."""


class Locks(Protocol):
    """Named locks shared by all processes that have the log open."""

    @property
    def wait(self) -> Wait:
        """Return the wait limits, which also apply to locks outside the store."""

    def hold(self, name: str) -> AbstractContextManager[None]:
        """Hold a lock exclusively.

        Raise `BusyError` naming the holders if they do not release it in time.
        """


class LeaseHeld(msgspec.Struct, frozen=True):
    """The holder of a lease on a stream in a shared log."""

    host: str
    since: str
    heartbeat: str
    """The time of the last heartbeat, by the server's clock."""
    seconds_left: float
    """The number of seconds until the lease expires without another heartbeat."""


class Leases(Protocol):
    """Leases that admit one worker per stream across all machines that share the log."""

    def of(self, stream: str) -> LeaseHeld | None:
        """Return the holder of a stream's lease; None if none is held or needed."""

    def hold(self, stream: str, *, holder: str, host: str) -> AbstractContextManager[None]:
        """Hold a stream's lease; the same `holder` may acquire its own lease again.

        Raise `BusyError` naming the host of another holder. A worker whose lease expired
        for lack of heartbeats can no longer append to the stream.
        """


class Log(EventStore, Erasing, Acknowledged, Maintenance, Protocol):
    """A complete store: one log with its caches, locks and leases."""

    @property
    def checkpoints(self) -> Checkpoints:
        """Return the cache of saved states."""

    @property
    def digests(self) -> Digests:
        """Return the digests of written content."""

    @property
    def locks(self) -> Locks:
        """Return the named locks."""

    @property
    def leases(self) -> Leases:
        """Return the leases of streams."""

    def close(self) -> None:
        """Release the store's resources; the log cannot be used afterwards."""


class OwnLeases:
    """Grants every lease, because a file lock already allows only one loop on a machine."""

    def of(self, stream: str) -> LeaseHeld | None:
        """Return None, because no other machine can have a lease."""
        return None

    def hold(self, stream: str, *, holder: str, host: str) -> AbstractContextManager[None]:
        """Return a context that has no effect."""
        return nullcontext()
