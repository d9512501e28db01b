"""A log that exists only within its process: for tests, dry runs and what-if analyses."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Self, TypeVar

import msgspec

from ...errors import RefusedError
from .. import chain, port
from ..append import Stamping
from ..chain import Row as StoredRow
from ..envelope import Appended, Head, NewEvent, RecordedEvent, Span, places_in
from .descriptors import MemoryLocks
from .sqlite.caches import LocalCaches

ROWS_PER_PAGE = 512

Paged = TypeVar("Paged")


class MemoryLog:
    """A log stored in a list; its caches are in memory as well."""

    leases = port.OwnLeases()

    def __init__(
        self,
        place: str = "",
        *,
        clock: port.Clock,
        entropy: port.Entropy,
        wait: port.Wait = port.WAIT,
        **unused: object,
    ) -> None:
        self._stamping = Stamping(clock, entropy)
        self._events: list[RecordedEvent] = []
        self._streams: dict[str, list[RecordedEvent]] = {}
        self._keys: dict[str, RecordedEvent] = {}
        self._closed = False
        self._caches = LocalCaches(None, "", entropy=entropy, wait=wait)
        self.checkpoints, self.digests = self._caches.checkpoints, self._caches.digests
        self.locks = MemoryLocks(wait)

    @classmethod
    def create(cls, place: str = "", **options: Any) -> Self:
        """Return a new, empty log in memory."""
        return cls(place, **options)

    def append(
        self,
        stream: str,
        new_events: Sequence[NewEvent],
        *,
        expect: port.Expected,
        key: str | None = None,
        key_digest: bytes | None = None,
    ) -> Appended:
        """Append all events or none (see the port); they are not durable."""
        self._check_open()
        prepared = self._stamping.prepare(
            stream, new_events, expect=expect, key=key, key_digest=key_digest
        )
        if key is not None and (first := self._keys.get(key)):
            prepared.check_key(first)
            return Appended(self.find_key(key), duplicate=True)
        version = self.version(stream)
        prepared.check_expected(version)
        events = prepared.after(self.head(), version)
        self._keep(events)
        return Appended(events)

    @contextmanager
    def taking_over(self) -> Iterator[port.Take]:
        """Yield a function that copies another log's events atomically."""
        self._check_open()
        events, streams, keys = [*self._events], {**self._streams}, {**self._keys}
        self._streams = {name: [*known] for name, known in streams.items()}
        try:
            yield self._take
        except BaseException:
            self._events, self._streams, self._keys = events, streams, keys
            raise

    def _take(self, events: list[RecordedEvent]) -> None:
        for event in events:
            if (
                event.position != len(self._events) + 1
                or event.version != self.version(event.stream) + 1
                or event.key in self._keys
            ):
                first, end = events[0].position, events[-1].position
                raise RefusedError(
                    "nothing recorded: a position, version or key between positions "
                    f"{first} and {end} already exists"
                )
            self._keep([event])

    def _keep(self, events: list[RecordedEvent]) -> None:
        self._events += events
        for event in events:
            self._streams.setdefault(event.stream, []).append(event)
            if event.key is not None:
                self._keys[event.key] = event

    def erase(
        self,
        spans: Sequence[Span],
        *,
        stream: str,
        said: NewEvent,
        remainders: Sequence[bytes] = (),
    ) -> Appended | None:
        """Append an event and erase earlier events' payloads and salts (see the port)."""
        self._check_open()
        found = [event for event in self._events if _is_among(event, spans)]
        if not found:
            return None
        appended = self.append(stream, [said], expect=port.Expect.ANY)
        if remainders:
            self.checkpoints.clear()
        left = dict(zip(places_in(spans), remainders, strict=False))
        for event in found:
            payload = left.get((event.stream, event.version))
            self._replace(msgspec.structs.replace(event, salt=None, payload=payload))
        return appended

    def _replace(self, event: RecordedEvent) -> None:
        self._events[event.position - 1] = event
        self._streams[event.stream][event.version - 1] = event
        if event.key is not None:
            self._keys[event.key] = event

    def give_back(self) -> None:
        """Do nothing, because memory requires no cleanup."""

    def find_key(self, key: str) -> list[RecordedEvent]:
        """Return the events appended with the given idempotency key, or an empty list."""
        self._check_open()
        if (first := self._keys.get(key)) is None:
            return []
        return self._events[first.position - 1 : first.position + first.remaining]

    def find_id(self, id_: str) -> RecordedEvent | None:
        """Return the event with the given id, or None."""
        return next((event for event in self.read() if event.id == id_), None)

    def read(self, *, after: int = 0, until: int | None = None) -> Iterator[RecordedEvent]:
        """Yield events by position, from `after` (exclusive) to `until` (inclusive)."""
        self._check_open()
        return iter(self._events[max(after, 0) : _end(until, len(self._events))])

    def pages(
        self, *, after: int = 0, until: int | None = None
    ) -> Iterator[list[StoredRow]]:
        """Yield the rows that `read` reads, in batches."""
        yield from _paged(map(msgspec.structs.astuple, self.read(after=after, until=until)))

    def read_stream(
        self, stream: str, *, after: int = 0, until: int | None = None
    ) -> Iterator[RecordedEvent]:
        """Yield one stream's events by version, with the same bounds as for `read`."""
        self._check_open()
        events = self._streams.get(stream, [])
        return iter(events[max(after, 0) : _end(until, len(events))])

    def scan(
        self,
        stream: str,
        *,
        after: int = 0,
        until: int | None = None,
        only: str | None = None,
    ) -> Iterator[port.Page]:
        """Yield the parts of a stream's events that a fold requires, in batches."""
        events = self.read_stream(stream, after=after, until=until)
        for page in _paged(e for e in events if only is None or e.type == only):
            versions, positions = [e.version for e in page], [e.position for e in page]
            yield port.Page(versions, positions, [port.row_of(event) for event in page])

    def head(self) -> Head:
        """Return the end of the log; position 0 and 32 zero bytes if the log is empty."""
        self._check_open()
        last = self._events[-1:]
        return Head(last[0].position, last[0].hash) if last else chain.START

    def streams(self) -> dict[str, int]:
        """Return the last version of every stream, sorted by stream name."""
        self._check_open()
        return {name: len(self._streams[name]) for name in sorted(self._streams)}

    def version(self, stream: str) -> int:
        """Return the stream's last version; 0 if the stream does not exist."""
        self._check_open()
        return len(self._streams.get(stream, ()))

    def hash_of(self, stream: str, version: int) -> bytes | None:
        """Return the hash of a stream's event; None if there is no such event."""
        found = self.read_stream(stream, after=version - 1, until=version)
        return next((event.hash for event in found if version > 0), None)

    def acknowledged(self) -> Head | None:
        """Return the current head, because a list cannot lose its end."""
        return self.head()

    def holds(self, head: Head) -> bool:
        """Return whether the log contains the given head's event; true for position 0."""
        found = [x.hash for x in self.read(after=head.position - 1, until=head.position)]
        return not head.position or found == [head.hash]

    def check_acknowledged(self) -> None:
        """Do nothing, because no acknowledged event can be missing."""

    def last_position(self) -> int:
        """Return the last position."""
        return self.head().position

    def problems(self) -> Iterator[str]:
        """Yield nothing, because there is no file that could be damaged."""
        return iter(())

    def risks(self) -> Iterator[str]:
        """Yield nothing: a log in memory is expected to end with its process."""
        return iter(())

    def parts(self) -> list[str]:
        """Return the names of the stored parts."""
        return sorted(("events", *LocalCaches.TABLES))

    def holding(self, forms: Sequence[bytes], parts: Sequence[str]) -> Iterator[str]:
        """Yield the locations in the given parts that contain one of the byte strings."""
        for event in self._events if "events" in parts else ():
            row = msgspec.structs.astuple(event)
            fields = [f if isinstance(f, bytes) else str(f).encode() for f in row]
            if any(form in field for form in forms for field in fields):
                yield f"events {event.position} {event.stream}"
        yield from self._caches.holding(forms, [x for x in parts if x != "events"])

    def described(self) -> dict[str, str]:
        """Return the storage method and the reason for it, as shown to operators."""
        return {"journal": "none", "why": "the log is in memory and ends with the process"}

    def close(self) -> None:
        """Reject further calls; the events remain in memory."""
        self._closed = True
        self._caches.close()

    def _check_open(self) -> None:
        if self._closed:
            raise RefusedError("the log is closed")


def _paged(rows: Iterable[Paged]) -> Iterator[list[Paged]]:
    rows = iter(rows)
    while page := list(islice(rows, ROWS_PER_PAGE)):
        yield page


def _is_among(event: RecordedEvent, spans: Sequence[Span]) -> bool:
    """Return whether an event is in the spans and has not been erased yet."""
    place = event.stream, event.version, event.type
    return event.salt is not None and any(span.holds(*place) for span in spans)


def _end(until: int | None, length: int) -> int:
    return length if until is None else max(min(until, length), 0)
