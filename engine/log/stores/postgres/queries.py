"""Reads a PostgreSQL log in pages, so that no transaction stays open."""

from collections.abc import Iterator, Sequence
from typing import Any

from sprintlog.errors import RESCUE, UnreadableError
from sprintlog.stores import START, Head, Page, RecordedEvent

from .connection import SETTLE, PendingAnswer, ServerConnection
from .rows import INT4, INT8, TEXT, Statement, statement_of

ROWS_PER_READ = 1024
ROWS_PER_SCAN = 512

_COLUMNS = ", ".join(RecordedEvent.__struct_fields__)
_SELECT = f"SELECT {_COLUMNS} FROM sprintlog.events WHERE log = %b"
_READ = f"SELECT {_COLUMNS} FROM sprintlog.events WHERE log = $1"
_PAGE = statement_of(
    f"{_READ} AND position > $2 AND position <= $3 ORDER BY position LIMIT {ROWS_PER_READ}",
    (INT4, INT8, INT8),
)
_STREAM_PAGE = statement_of(
    f"{_READ} AND version > $2 AND version <= $3 AND stream = $4"
    f" ORDER BY version LIMIT {ROWS_PER_READ}",
    (INT4, INT8, INT8, TEXT),
)
_SCAN = """SELECT version, position, at, type, schema_version, payload
FROM sprintlog.events WHERE log = $1 AND version > $2 AND version <= $3 AND stream = $4"""
_SCANS = {
    False: statement_of(
        f"{_SCAN} ORDER BY version LIMIT {ROWS_PER_SCAN}", (INT4, INT8, INT8, TEXT)
    ),
    True: statement_of(
        f"{_SCAN} AND type = $5 ORDER BY version LIMIT {ROWS_PER_SCAN}",
        (INT4, INT8, INT8, TEXT, TEXT),
    ),
}
# The reported end, and so everything up to it, is durable.
_VERSION = (
    "SELECT coalesce(max(version), 0), sprintlog.is_settled() FROM sprintlog.events"
    " WHERE log = %b AND stream = %b"
)
_HEAD = (
    "SELECT position, hash, sprintlog.is_settled() FROM sprintlog.events WHERE log = %b"
    " ORDER BY position DESC LIMIT 1"
)
# Jumps from name to name in the index: a log has many events and few streams.
_STREAMS = """WITH RECURSIVE named AS (
  (SELECT stream, version FROM sprintlog.events WHERE log = %b
   ORDER BY stream DESC, version DESC LIMIT 1)
  UNION ALL
  SELECT next.* FROM named, LATERAL (
    SELECT e.stream, e.version FROM sprintlog.events e
    WHERE e.log = %b AND e.stream < named.stream
    ORDER BY e.stream DESC, e.version DESC LIMIT 1) AS next
) SELECT stream, version FROM named ORDER BY stream"""


class ServerQueries:
    """Queries on one log."""

    def __init__(self, connection: ServerConnection, log: int) -> None:
        self._connection = connection
        self._rows = connection.rows
        self._log = log

    def find_key(self, key: str) -> list[RecordedEvent]:
        """Return the events appended with the given idempotency key, or an empty list."""
        rows = self._rows(
            "SELECT position, remaining FROM sprintlog.events WHERE log = %b AND key = %b",
            (self._log, key),
        )
        if not rows:
            return []
        ((first, remaining),) = rows
        return list(self.read(after=first - 1, until=first + remaining))

    def find_id(self, id_: str) -> RecordedEvent | None:
        """Return the event with the given id, or None."""
        rows = self._rows(f"{_SELECT} AND id = %b", (self._log, id_))
        return RecordedEvent(*rows[0]) if rows else None

    def read(self, *, after: int = 0, until: int | None = None) -> Iterator[RecordedEvent]:
        """Yield events by position, from `after` (exclusive) to `until` (inclusive)."""
        for page in self.pages(after=after, until=until):
            for row in page:
                yield RecordedEvent(*row)

    def pages(
        self, *, after: int = 0, until: int | None = None
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows that `read` reads, in batches."""
        after, end = max(after, 0), self.last_position()
        end = end if until is None else min(until, end)
        yield from self._paged(_PAGE, after, end, place=0)

    def read_stream(
        self, stream: str, *, after: int = 0, until: int | None = None
    ) -> Iterator[RecordedEvent]:
        """Yield one stream's events by version, with the same bounds as for `read`."""
        after, end = max(after, 0), self.version(stream)
        end = end if until is None else min(until, end)
        for page in self._paged(_STREAM_PAGE, after, end, stream, place=2):
            _check_versions(stream, [row[2] for row in page], after)
            after = page[-1][2]
            for row in page:
                yield RecordedEvent(*row)

    def scan(
        self,
        stream: str,
        *,
        after: int = 0,
        until: int | None = None,
        only: str | None = None,
    ) -> Iterator[Page]:
        """Yield the parts of a stream's events that a fold requires, in batches."""
        after, end = max(after, 0), self.version(stream)
        end = end if until is None else min(until, end)
        kind = () if only is None else (only,)
        asked = _SCANS[only is not None]
        for rows in self._paged(asked, after, end, stream, *kind, place=0):
            page = Page.of(rows)
            if only is None:
                _check_versions(stream, page.versions, after)
            yield page
            after = page.versions[-1]
        if only is None and after < end:
            raise _unreadable(f"version {after + 1} of {stream} is missing")

    def _paged(
        self, asked: Statement, after: int, end: int, *values: str, place: int
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Yield a statement's rows between two bounds, one page at a time.

        The server prepares the next page while the caller processes the current one.
        """
        ahead: PendingAnswer | None = None
        while after < end:
            given = (self._log, after, end, *values)
            page = None if ahead is None else ahead.rows()
            if page is None:
                page = self._connection.ask(asked, given)
            if not page:
                return
            if (after := page[-1][place]) < end:
                given = (self._log, after, end, *values)
                ahead = self._connection.ask_ahead(asked, asked.encoded(given))
            yield page

    def head(self) -> Head:
        """Return the end of the log; position 0 and 32 zero bytes if the log is empty."""
        if not (rows := self._rows(_HEAD, (self._log,))):
            return START
        ((position, hash_, is_settled),) = rows
        self._settle(is_settled)
        return Head(position, hash_)

    def last_position(self) -> int:
        """Return the last position."""
        return self.head().position

    def hash_of(self, stream: str, version: int) -> bytes | None:
        """Return the hash of a stream's event; None if there is no such event."""
        return self._hash("stream = %b AND version = %b", stream, version)

    def hash_at(self, position: int) -> bytes | None:
        """Return the hash of the event at a position; None if there is no such event."""
        return self._hash("position = %b", position)

    def _hash(self, where: str, *place: str | int) -> bytes | None:
        asked = f"SELECT hash FROM sprintlog.events WHERE log = %b AND {where}"
        rows = self._rows(asked, (self._log, *place))
        return rows[0][0] if rows else None

    def streams(self) -> dict[str, int]:
        """Return the last version of every stream, sorted by stream name."""
        return dict(self._rows(_STREAMS, (self._log, self._log)))

    def version(self, stream: str) -> int:
        """Return the stream's last version; 0 if the stream does not exist."""
        ((version, is_settled),) = self._rows(_VERSION, (self._log, stream))
        self._settle(is_settled)
        return int(version)

    def _settle(self, is_settled: bool) -> None:
        """Wait until the rows just read are durable, so that a crash cannot undo them."""
        if not is_settled:
            self._connection.ask(SETTLE, ())

    def events_holding(self, forms: Sequence[bytes]) -> Iterator[str]:
        """Yield the locations of events with a field containing one of the byte strings."""
        texts = [n for n in RecordedEvent.__struct_fields__ if n not in _BYTES]
        text = f"convert_to(concat_ws(E'\\n', {', '.join(texts)}), 'UTF8')"
        fields = (text, *_BYTES)
        holds = " OR ".join(f"position(f IN {field}) > 0" for field in fields)
        asked = (
            "SELECT position, stream FROM sprintlog.events WHERE log = %b AND EXISTS"
            f" (SELECT FROM unnest(%b::bytea[]) f WHERE {holds}) ORDER BY position"
        )
        for row in self._rows(asked, (self._log, [*forms])):
            yield " ".join(map(str, ("events", *row)))


_BYTES = ("key_digest", "salt", "payload", "payload_digest", "hash")


def _check_versions(stream: str, versions: Sequence[int], after: int) -> None:
    """Raise `UnreadableError` unless the versions after `after` are consecutive."""
    if [*versions] != [*range(after + 1, after + 1 + len(versions))]:
        raise _unreadable(f"the versions of {stream} are not consecutive")


def _unreadable(problem: str) -> UnreadableError:
    return UnreadableError(problem, hint=RESCUE)
