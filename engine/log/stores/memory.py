"""A log that lives as long as its process: for tests, dry runs and what-if."""

from collections.abc import Iterator, Sequence

from ...errors import RefusedError
from ..append import check_expected, check_key, check_limits, place, stamp
from ..chain import START
from ..envelope import Appended, Head, NewEvent, RecordedEvent
from ..port import Clock, Entropy, Expected, Row


class MemoryLog:
    """A log in a list."""

    def __init__(self, clock: Clock, entropy: Entropy) -> None:
        self._clock = clock
        self._entropy = entropy
        self._events: list[RecordedEvent] = []
        self._streams: dict[str, list[RecordedEvent]] = {}
        self._keys: dict[str, RecordedEvent] = {}
        self._closed = False

    def append(
        self,
        stream: str,
        new_events: Sequence[NewEvent],
        *,
        expect: Expected,
        key: str | None = None,
        key_digest: bytes | None = None,
    ) -> Appended:
        """Append all events or none, as the port says; durable it is not."""
        self._check_open()
        check_limits(stream, new_events, key=key, key_digest=key_digest)
        stamps = stamp(len(new_events), clock=self._clock, entropy=self._entropy)
        if key is not None and (first := self._keys.get(key)):
            check_key(first, key_digest)
            return Appended(self.find_key(key), duplicate=True)
        version = self.version(stream)
        check_expected(stream, expect=expect, actual=version)
        events = place(
            stream,
            new_events,
            head=self.head(),
            version=version,
            stamps=stamps,
            key=key,
            key_digest=key_digest,
        )
        self._events += events
        self._streams.setdefault(stream, []).extend(events)
        if key is not None:
            self._keys[key] = events[0]
        return Appended(events)

    def find_key(self, key: str) -> list[RecordedEvent]:
        """Return the events appended under an idempotency key, or an empty list."""
        self._check_open()
        first = self._keys.get(key)
        if first is None:
            return []
        return self._events[first.position - 1 : first.position + first.remaining]

    def read(self, *, after: int = 0, until: int | None = None) -> Iterator[RecordedEvent]:
        """Yield events in order of position: `after` exclusive, `until` inclusive."""
        self._check_open()
        return iter(self._events[max(after, 0) : _end(until, len(self._events))])

    def read_stream(
        self, stream: str, *, after: int = 0, until: int | None = None
    ) -> Iterator[RecordedEvent]:
        """Yield one stream's events in order of version, with the same bounds."""
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
    ) -> Iterator[Row]:
        """Yield what a fold needs of a stream, with the same bounds."""
        for e in self.read_stream(stream, after=after, until=until):
            if only is None or e.type == only:
                yield e.version, e.at, e.type, e.schema_version, e.payload, e.position

    def head(self) -> Head:
        """Return the end of the log; position 0 and 32 zero bytes when it is empty."""
        self._check_open()
        if not self._events:
            return START
        last = self._events[-1]
        return Head(last.position, last.hash)

    def streams(self) -> dict[str, int]:
        """Return every stream's name with its last version, in order of name."""
        self._check_open()
        return {name: len(self._streams[name]) for name in sorted(self._streams)}

    def version(self, stream: str) -> int:
        """Return the stream's last version; 0 when it does not exist."""
        self._check_open()
        return len(self._streams.get(stream, ()))

    def close(self) -> None:
        """Forget nothing, but refuse further calls as every store does."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise RefusedError("the log is closed")


def _end(until: int | None, length: int) -> int:
    return length if until is None else max(min(until, length), 0)
