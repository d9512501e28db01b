"""Reads a SQLite log in pages, so that no statement stays open."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from operator import itemgetter
from typing import Any

import msgspec

from ....errors import RESCUE, UnreadableError
from ...chain import START, misfit
from ...chain import Row as StoredRow
from ...envelope import Head, RecordedEvent
from ...port import Page
from .database import Connection
from .rows import READ, events_of

ROWS_PER_READ = 256
"""The number of rows per page; a reader keeps two pages in memory. With half as many rows,
a fold takes 2 % longer. With twice as many, checking all columns is slower, because they
exceed a processor's cache."""

_SELECT = f"SELECT {READ} FROM events"
_PAGE = f"{_SELECT} WHERE position > ? AND position <= ? ORDER BY position LIMIT ?"
# SQLite compares the fields that most events share with their predecessors, which takes
# less time than returning them.
_PLAIN_PAGE = """SELECT id, type, at, recorded_at, correlation_id, causation_id, remaining,
  salt, CAST(payload AS BLOB), payload_digest, hash
FROM events NOT INDEXED WHERE stream = ? AND actor = ? AND position > ? AND position <= ?
  AND version = position - ? AND schema_version = 1
  AND key IS NULL AND key_digest IS NULL AND observed = 0 ORDER BY position"""
_plain_parts = itemgetter(
    *map(
        RecordedEvent.__struct_fields__.index,
        ("stream", "actor", "schema_version", "key", "key_digest", "observed"),
    )
)
_STREAM_PAGE = (
    f"{_SELECT} WHERE stream = ? AND version > ? AND version <= ? ORDER BY version LIMIT ?"
)
_PLACE = (
    "SELECT position FROM events WHERE stream = ? AND version <= ?"
    " ORDER BY version DESC LIMIT 1"
)
_HEAD = "SELECT position, hash FROM events ORDER BY position DESC LIMIT 1"
# All information that an append requires, in one query.
_END = """
SELECT position, hash, (SELECT hash FROM events WHERE position = ?),
  (SELECT coalesce(max(version), 0) FROM events WHERE stream = ?)
FROM events ORDER BY position DESC LIMIT 1
"""
_HASH = "SELECT hash FROM events WHERE position = ?"
_HASH_OF = "SELECT hash FROM events WHERE stream = ? AND version = ?"
_LAST = "SELECT coalesce(max(position), 0) FROM events"
_VERSION = "SELECT coalesce(max(version), 0) FROM events WHERE stream = ?"
# Jumps from name to name in the index instead of scanning every event.
_STREAMS = """
WITH RECURSIVE names(name) AS (
  SELECT min(stream) FROM events
  UNION ALL
  SELECT (SELECT min(stream) FROM events WHERE stream > name)
  FROM names WHERE name IS NOT NULL
)
SELECT name, (SELECT max(version) FROM events WHERE stream = name)
FROM names WHERE name IS NOT NULL ORDER BY name
"""


# The sort key has one lower bound: with two, SQLite would scan from the first to the second
# for each page.
_SCAN = "SELECT version, position, at, type, schema_version, payload FROM events"
_ONLY = ("", " AND type = ?")
_BY_VERSION = [
    f"{_SCAN} WHERE stream = ? AND version > ? AND version <= ?{only}"
    " ORDER BY version LIMIT ?"
    for only in _ONLY
]
_BY_POSITION = [
    f"{_SCAN} NOT INDEXED WHERE stream = ? AND position > ? AND position <= ?{only}"
    " ORDER BY position LIMIT ?"
    for only in _ONLY
]

# If positions and versions are consecutive, and all events have the same schema version,
# SQLite compares them, which takes less time than returning them as Python numbers.
_RUN = (
    "SELECT at, type, payload FROM events NOT INDEXED WHERE stream = ?"
    " AND position > ? AND position <= ? AND version = position - ?"
    " AND schema_version = 1 ORDER BY position"
)


class End(msgspec.Struct, frozen=True):
    """The information about the end of a log that an append requires."""

    head: Head
    known_hash: bytes | None
    """The hash of the requested event; None if there is no such event."""
    version: int
    """The stream's last version."""


def _are_plain(rows: list[StoredRow]) -> bool:
    """Return whether all rows have the same stream and actor, and are otherwise plain.

    Plain rows have schema version 1, no key, and were not observed.
    """
    ((stream, actor, *others), *more) = {*map(_plain_parts, rows)}
    is_text = type(stream) is type(actor) is str and type(rows[-1][2]) is int
    return not more and is_text and others == [1, None, None, 0]


class Queries:
    """The read-only half of the event store."""

    def __init__(self, connection: Connection) -> None:
        self._rows = connection.rows
        self._walking = connection.walking

    def find_key(self, key: str) -> list[RecordedEvent]:
        """Return the events appended with the given idempotency key, or an empty list."""
        if not (first := self._rows(f"{_SELECT} WHERE key = ?", (key,))):
            return []
        (event,) = events_of(first)
        end = event.position + event.remaining
        return [event, *self.read(after=event.position, until=end)]

    def find_id(self, id_: str) -> RecordedEvent | None:
        """Return the event with the given id, or None.

        Every event is read: ids have no index, because only users look them up.
        """
        found = events_of(self._rows(f"{_SELECT} WHERE id = ? LIMIT 1", (id_,)))
        return found[0] if found else None

    def read(self, *, after: int = 0, until: int | None = None) -> Iterator[RecordedEvent]:
        """Yield events by position, from `after` (exclusive) to `until` (inclusive).

        The end is fixed when the first event is requested. No statement stays open between
        pages, so that a slow reader does not block other processes.
        """
        for page in self.pages(after=after, until=until):
            yield from events_of(page)

    def pages(
        self, *, after: int = 0, until: int | None = None
    ) -> Iterator[list[StoredRow]]:
        """Yield the rows that `read` reads, in batches."""
        end = self.last_position()
        end = end if until is None else min(until, end)
        with self._walking() if end - after > ROWS_PER_READ else nullcontext():
            is_plain = False
            page: list[StoredRow] | None = None
            while after < end:
                count = min(end - after, ROWS_PER_READ)
                page = self._plain(page[-1], count) if page and is_plain else None
                if page is None:
                    if not (page := self._rows(_PAGE, (after, end, count))):
                        return
                    is_plain = _are_plain(page)
                after = page[-1][0]
                yield page

    def _plain(self, last: StoredRow, count: int) -> list[StoredRow] | None:
        """Return the next rows if all `count` of them are plain; otherwise None."""
        place, stream, version = last[:3]
        actor, behind = _plain_parts(last)[1], place - version
        bounds = place, place + count, behind
        rows = self._rows(_PLAIN_PAGE, (stream, actor, *bounds))
        if len(rows) < count:
            return None
        return [
            (
                n, stream, n - behind, d, e, 1, g, h, actor, j, k,
                None, None, x, 0, p, q, r, s,
            )
            for n, (d, e, g, h, j, k, x, p, q, r, s) in enumerate(rows, start=place + 1)
        ]  # fmt: skip

    def read_stream(
        self, stream: str, *, after: int = 0, until: int | None = None
    ) -> Iterator[RecordedEvent]:
        """Yield one stream's events by version, with the same bounds as for `read`."""
        after, end = max(after, 0), self.version(stream)
        end = end if until is None else min(until, end)
        while after < end:
            if not (page := self._rows(_STREAM_PAGE, (stream, after, end, ROWS_PER_READ))):
                return
            events = events_of(page)
            self._check_versions(stream, (event.version for event in events), after)
            after = events[-1].version
            yield from events

    def scan(
        self,
        stream: str,
        *,
        after: int = 0,
        until: int | None = None,
        only: str | None = None,
    ) -> Iterator[Page]:
        """Yield the parts of a stream's events that a fold requires, in batches."""
        after, end = max(after, 0), self.version(stream) if until is None else until
        # With the index, every row is a separate search: if a stream is most of the log, a
        # scan of the log takes half the time.
        many = end - after > ROWS_PER_READ and 2 * (end - after) > self.last_position()
        with self._walking() if many else nullcontext():
            found = self._through_log if many else self._by_index
            for page in found(stream, after, end, only):
                yield page
                after = page.versions[-1]
        if only is None and after < end and after < self.version(stream):
            raise self._unreadable(f"version {after + 1} of {stream} is missing")

    def _by_index(
        self, stream: str, after: int, end: int, only: str | None
    ) -> Iterator[Page]:
        while after < end:
            if (page := self._page(_BY_VERSION, stream, after, (after, end), only)) is None:
                return
            yield page
            after = page.versions[-1] if len(page.rows) == ROWS_PER_READ else end

    def _through_log(
        self, stream: str, after: int, end: int, only: str | None
    ) -> Iterator[Page]:
        place, last = self._place(stream, after), self._place(stream, end)
        goes_on = only is None
        while after < end:
            page = self._run(stream, after, place, last) if goes_on else None
            if page is None:
                page = self._page(_BY_POSITION, stream, after, (place, last), only)
                if page is None:
                    return
                first, final = page.positions[0], page.positions[-1]
                goes_on = only is None and final - first + 1 == len(page.rows)
            yield page
            after, place = page.versions[-1], page.positions[-1]

    def _run(self, stream: str, after: int, place: int, last: int) -> Page | None:
        """Return the next events if their versions and positions are consecutive, or None.

        Only events with schema version 1 qualify.
        """
        count = min(last - place, ROWS_PER_READ)
        rows = self._rows(_RUN, (stream, place, place + count, place - after))
        if not rows or len(rows) < count:
            return None
        after, place = after + 1, place + 1
        return Page(range(after, after + count), range(place, place + count), rows)

    def _page(
        self,
        forms: Sequence[str],
        stream: str,
        after: int,
        bounds: tuple[int, int],
        only: str | None,
    ) -> Page | None:
        """Return the next events, of all types or one type; None if there are no more."""
        kind = () if only is None else (only,)
        rows = self._rows(forms[len(kind)], (stream, *bounds, *kind, ROWS_PER_READ))
        if not rows:
            return None
        page = Page.of(rows)
        if only is None:
            self._check_versions(stream, page.versions, after)
        return page

    def head(self) -> Head:
        """Return the end of the log; position 0 and 32 zero bytes if the log is empty."""
        if (rows := self._rows(_HEAD)) and not isinstance(rows[0][1], bytes):
            raise self._unreadable("the hash of the last event is invalid")
        return Head(*rows[0]) if rows else START

    def end(self, stream: str, known: Head | None) -> End:
        """Return the information about the log's end that an append to a stream requires.

        `known` is a head that the log must contain.
        """
        rows = self._rows(_END, (known and known.position, stream))
        if not rows:
            return End(START, None, 0)
        position, hash_, known_hash, version = rows[0]
        if not isinstance(hash_, bytes) or not isinstance(version, int):
            # Separate queries report which part is damaged.
            return End(self.head(), known_hash, self.version(stream))
        return End(Head(position, hash_), known_hash, version)

    def last_position(self) -> int:
        """Return the last position, even if its event is damaged."""
        ((last,),) = self._rows(_LAST)
        return int(last)

    def hash_of(self, stream: str, version: int) -> bytes | None:
        """Return the hash of a stream's event; None if there is no such event."""
        rows = self._rows(_HASH_OF, (stream, version))
        return rows[0][0] if rows else None

    def hash_at(self, position: int) -> bytes | None:
        """Return the hash of the event at a position; None if there is no such event."""
        rows = self._rows(_HASH, (position,))
        return rows[0][0] if rows else None

    def streams(self) -> dict[str, int]:
        """Return the last version of every stream, sorted by stream name."""
        rows = self._rows(_STREAMS)
        if any(type(name) is not str or type(version) is not int for name, version in rows):
            raise self._unreadable("a stream's name or version is damaged")
        return dict(rows)

    def version(self, stream: str) -> int:
        """Return the stream's last version; 0 if the stream does not exist."""
        ((version,),) = self._rows(_VERSION, (stream,))
        if not isinstance(version, int):
            raise self._unreadable(f"the last version of {stream} is not a number")
        return version

    def _place(self, stream: str, version: int) -> int:
        """Return the position of a stream's version; 0 before the first version."""
        rows = self._rows(_PLACE, (stream, version))
        return rows[0][0] if rows else 0

    def _check_versions(self, stream: str, versions: Iterable[Any], after: int) -> None:
        """Raise `UnreadableError` unless the versions after `after` are consecutive."""
        found = list(versions)
        if found != [*range(after + 1, after + 1 + len(found))]:
            raise self._unreadable(f"the versions of {stream} are not consecutive")

    def _unreadable(self, problem: str) -> UnreadableError:
        """Return the error that names the first event with damaged columns."""
        for page in self.pages():
            for row in page:
                if wrong := misfit(row):
                    position = row[0] if isinstance(row[0], int) else None
                    return UnreadableError(wrong, position=position, hint=RESCUE)
        return UnreadableError(problem, hint=RESCUE)
