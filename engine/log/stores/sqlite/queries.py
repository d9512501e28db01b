"""Reading a log in a SQLite database: page by page, with no statement left open."""

import sqlite3
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ....errors import RESCUE, UnreadableError
from ...chain import START, misfit
from ...envelope import Head, RecordedEvent
from ...port import Entropy, Row
from ..waiting import Wait
from .errors import Patience, no_locks
from .rows import READ, events_of

ROWS_PER_READ = 512
ROWS_PER_SCAN = 512

_SELECT = f"SELECT {READ} FROM events"
_PAGE = f"{_SELECT} WHERE position > ? AND position <= ? ORDER BY position LIMIT ?"
_STREAM_PAGE = (
    f"{_SELECT} WHERE stream = ? AND version > ? AND version <= ? ORDER BY version LIMIT ?"
)
_HEAD = "SELECT position, hash FROM events ORDER BY position DESC LIMIT 1"
_LAST = "SELECT coalesce(max(position), 0) FROM events"
_VERSION = "SELECT coalesce(max(version), 0) FROM events WHERE stream = ?"
# Leaps from name to name in the index instead of walking through every event.
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


@cache
def _scan_sql(order: str, only: str | None) -> str:
    """Return the query of a scan by version or by position, of one type or of all."""
    source = "events NOT INDEXED" if order == "position" else "events"
    wanted = "" if only is None else "type = ? AND "
    return (
        f"SELECT version, at, type, schema_version, payload, position FROM {source}"
        f" WHERE {wanted}stream = ? AND version > ? AND version <= ?"
        f" AND {order} > ? ORDER BY {order} LIMIT ?"
    )


class SqliteReading:
    """The half of the port that only reads."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        *,
        entropy: Entropy,
        wait: Wait,
    ) -> None:
        self.path = path
        self.connection = connection
        self._entropy = entropy
        self.wait = wait
        """How long is waited for others, also for the locks beside the log."""
        self._doubted = False

    def find_key(self, key: str) -> list[RecordedEvent]:
        """Return the events appended under an idempotency key, or an empty list."""
        first = self.rows(f"{_SELECT} WHERE key = ?", (key,))
        if not first:
            return []
        (event,) = events_of(first)
        end = event.position + event.remaining
        return [event, *self.read(after=event.position, until=end)]

    def find_id(self, id_: str) -> RecordedEvent | None:
        """Return the event with an id, if there is one.

        Ids have no index, since only people ask for them: every event is looked at.
        """
        found = events_of(self.rows(f"{_SELECT} WHERE id = ? LIMIT 1", (id_,)))
        return found[0] if found else None

    def read(self, *, after: int = 0, until: int | None = None) -> Iterator[RecordedEvent]:
        """Yield events in order of position: `after` exclusive, `until` inclusive.

        The end is fixed when the first event is asked for. In between no statement is
        left open, so a slow reader holds up nobody.
        """
        for page in self.pages(after=after, until=until):
            yield from events_of(page)

    def pages(
        self, *, after: int = 0, until: int | None = None
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of `read` as they are stored, many at a time."""
        ((end,),) = self.rows(_LAST)
        end = end if until is None else min(until, end)
        while after < end:
            page = self.rows(_PAGE, (after, end, ROWS_PER_READ))
            if not page:
                return
            after = page[-1][0]
            yield page

    def read_stream(
        self, stream: str, *, after: int = 0, until: int | None = None
    ) -> Iterator[RecordedEvent]:
        """Yield one stream's events in order of version, with the same bounds."""
        after, end = max(after, 0), self.version(stream)
        end = end if until is None else min(until, end)
        while after < end:
            page = self.rows(_STREAM_PAGE, (stream, after, end, ROWS_PER_READ))
            if not page:
                return
            events = events_of(page)
            self._check_versions(stream, [event.version for event in events], after)
            after = events[-1].version
            yield from events

    def scan(
        self,
        stream: str,
        *,
        after: int = 0,
        until: int | None = None,
        only: str | None = None,
    ) -> Iterator[Row]:
        """Yield what a fold needs of a stream, page by page, with the same bounds."""
        after, end = max(after, 0), self.version(stream)
        end = end if until is None else min(until, end)
        wanted = () if only is None else (only,)
        # By the index every row is a search of its own: where a stream is most of the
        # log, going through the log itself takes half the time.
        if end - after > ROWS_PER_SCAN and 2 * (end - after) > self.head().position:
            sql, place = _scan_sql("position", only), 5
            after_place = 0
        else:
            sql, place = _scan_sql("version", only), 0
            after_place = after
        while True:
            parameters = (*wanted, stream, after, end, after_place, ROWS_PER_SCAN)
            page = self.rows(sql, parameters)
            if only is None:
                self._check_versions(stream, [row[0] for row in page], after)
                after += len(page)
            yield from page
            if len(page) < ROWS_PER_SCAN:
                break
            after_place = page[-1][place]
        if only is None and after < end:
            raise self._unreadable(f"version {after + 1} of {stream} is missing")

    def head(self) -> Head:
        """Return the end of the log; position 0 and 32 zero bytes when it is empty."""
        rows = self.rows(_HEAD)
        if rows and not isinstance(rows[0][1], bytes):
            raise self._unreadable("the hash of the last event is no hash")
        return Head(*rows[0]) if rows else START

    def streams(self) -> dict[str, int]:
        """Return every stream's name with its last version, in order of name."""
        rows = self.rows(_STREAMS)
        if any(type(name) is not str or type(version) is not int for name, version in rows):
            raise self._unreadable("a stream's name or version is damaged")
        return dict(rows)

    def version(self, stream: str) -> int:
        """Return the stream's last version; 0 when it does not exist."""
        ((version,),) = self.rows(_VERSION, (stream,))
        if not isinstance(version, int):
            raise self._unreadable(f"the last version of {stream} is no number")
        return version

    def _check_versions(self, stream: str, versions: list[Any], after: int) -> None:
        """Raise `UnreadableError` unless versions follow one another from there on."""
        if versions != list(range(after + 1, after + 1 + len(versions))):
            raise self._unreadable(f"the versions of {stream} do not follow one another")

    def _unreadable(self, problem: str) -> UnreadableError:
        """Return an error that names the first event whose columns are damaged."""
        for page in self.pages():
            for row in page:
                if wrong := misfit(row):
                    position = row[0] if isinstance(row[0], int) else None
                    return UnreadableError(wrong, position=position, hint=RESCUE)
        return UnreadableError(problem, hint=RESCUE)

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement to its end and return its rows, waiting for others.

        Raise `BusyError` when they take longer than we may wait. The caches of the
        projections are read and written through this.
        """
        if self._doubted and (failure := no_locks(self.path)):
            # SQLite waits ten seconds by itself for a lock that fails.
            raise failure
        self._doubted = False
        patience: Patience | None = None
        while True:
            try:
                return self.connection.execute(sql, parameters).fetchall()
            except sqlite3.Error as error:
                self._doubted = True
                patience = patience or Patience(
                    self.wait, entropy=self._entropy, path=self.path
                )
                patience.after(error)
