"""Appends to a log on a PostgreSQL server, and the stream leases that fence them.

If this writer's last event is still the end of the log, its next event requires no lock:
the event is inserted directly after the last one, and the table's keys reject a concurrent
insertion. All other appends queue for the log's lock. If there are other writers, the lock
is released before the commit reaches the disk, so that the writers share one wait for the
disk. A worker that has lost its lease can no longer append to the stream.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from sprintlog import stores
from sprintlog.errors import BusyError, RefusedError, SprintlogError, UnreadableError

from . import rows
from .connection import ServerConnection
from .queries import ServerQueries

_LOCK_MILLISECONDS_MIN = 10
LEASE_SECONDS = 60.0
HEARTBEATS_PER_LEASE = 4
_HELD = """SELECT host, to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  to_char(heartbeat AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  greatest(0, extract(epoch FROM expires - clock_timestamp()))::float8
FROM sprintlog.leases WHERE log = %b AND name = %b AND holder IS NOT NULL"""


class ServerLeases:
    """The leases of one log; only the server's clock determines when they expire."""

    def __init__(
        self, connection: ServerConnection, log: int, *, entropy: stores.Entropy
    ) -> None:
        self._connection = connection
        self._log = log
        self._entropy = entropy
        self.seconds = LEASE_SECONDS
        """The number of seconds without a heartbeat after which another worker may take
        over."""
        self.tokens: dict[str, int] = {}
        """The lease tokens by stream, which every append to the stream must include."""

    def of(self, stream: str) -> stores.LeaseHeld | None:
        """Return the holder of a stream's lease, or None."""
        rows = self._connection.rows(_HELD, (self._log, stream))
        return stores.LeaseHeld(*rows[0]) if rows else None

    @contextmanager
    def hold(self, stream: str, *, holder: str, host: str) -> Iterator[None]:
        """Hold a stream's lease; raise `BusyError` if another worker holds it.

        A worker that loses the lease in the meantime can no longer append to the stream.
        """
        asked = "SELECT granted, token FROM sprintlog.take_lease(%b, %b, %b, %b, %b)"
        given = (self._log, stream, holder, host, self.seconds)
        ((granted, token),) = self._connection.rows(asked, given)
        if not granted:
            raise self._busy(stream)
        self.tokens[stream] = token
        over = threading.Event()
        keeper = threading.Thread(
            target=self._keep, args=(stream, token, over), daemon=True
        )
        keeper.start()
        try:
            yield
        finally:
            over.set()
            keeper.join()
            del self.tokens[stream]
            with suppress(SprintlogError):
                self._connection.rows(
                    "SELECT sprintlog.release_lease(%b, %b, %b)::text",
                    (self._log, stream, token),
                )

    def _keep(self, stream: str, token: int, over: threading.Event) -> None:
        """Send the worker's heartbeats on a separate connection."""
        wait = stores.Wait(self.seconds / HEARTBEATS_PER_LEASE)
        address = self._connection.address
        connection = ServerConnection(address, wait=wait, entropy=self._entropy)
        given: tuple[Any, ...] = (self._log, stream, token, self.seconds)
        while not over.wait(self.seconds / HEARTBEATS_PER_LEASE):
            # Without heartbeats the lease expires, and the next append fails.
            with suppress(SprintlogError):
                connection.rows("SELECT sprintlog.beat_lease(%b, %b, %b, %b)", given)
        connection.close()

    def _busy(self, stream: str) -> BusyError:
        if (held := self.of(stream)) is None:
            return BusyError(f"another process is working on {stream}", hint="try again")
        return BusyError(
            f"{stream} is being worked on by {held.host} since {held.since}, last heartbeat"
            f" {held.heartbeat}",
            hint="stop it there, or wait: if it no longer runs, its lease expires in "
            f"{held.seconds_left:.0f} s",
            host=held.host,
        )


ALONE_UNTIL_SURE = 16
"""The number of consecutive appends after which other writers are assumed to be gone."""


class Pace:
    """Detects other writers from the positions of this writer's appends."""

    def __init__(self) -> None:
        self.is_shared = False
        """Whether to release the log's lock before waiting for the disk.

        This takes a second transaction on the server, which only helps waiting writers.
        """
        self._alone = 0

    def found(self, *, is_alone: bool) -> None:
        """Record whether other writers appended since this writer's previous append."""
        self._alone = self._alone + 1 if is_alone else 0
        if not is_alone:
            self.is_shared = True
        elif self._alone >= ALONE_UNTIL_SURE:
            self.is_shared = False


class ServerAppends(ServerQueries):
    """Appends to one log; an instance belongs to the thread that opened it."""

    readonly = False
    is_closed = False
    acknowledged_head: stores.Head | None = None
    """The last acknowledged head, which the log must contain."""
    _own: stores.RecordedEvent | None = None
    _caches: stores.LocalCaches

    def __init__(
        self,
        connection: ServerConnection,
        log: int,
        *,
        stamping: stores.Stamping,
        head_file: stores.HeadFile | None,
    ) -> None:
        super().__init__(connection, log)
        self.leases = ServerLeases(connection, log, entropy=stamping.entropy)
        self._stamping = stamping
        self._head_file = head_file
        patience = round(connection.wait.seconds * 1000)
        self._patience = str(max(_LOCK_MILLISECONDS_MIN, patience))
        """The maximum time that an append waits for other writers, in milliseconds."""
        self.pace = Pace()

    def check_can_record(self) -> None:
        """Raise `RefusedError` if the log is read-only or closed."""
        if self.readonly:
            raise RefusedError("nothing recorded: the log was opened for reading only")
        if self.is_closed:
            raise RefusedError("nothing recorded: the log is closed")

    def append(
        self,
        stream: str,
        new_events: Sequence[stores.NewEvent],
        *,
        expect: stores.Expected,
        key: str | None = None,
        key_digest: bytes | None = None,
    ) -> stores.Appended:
        """Append all events or none (see the port); they are committed on return."""
        self.check_can_record()
        wanted = self._stamping.prepare(
            stream, new_events, expect=expect, key=key, key_digest=key_digest
        )
        own = self._own_before(wanted)
        return self._queued(wanted) if own is None else self._next(own, wanted)

    def _own_before(self, wanted: stores.PreparedAppend) -> stores.RecordedEvent | None:
        """Return this writer's last event if a new event may follow it without a lock."""
        own, stream = self._own, wanted.stream
        if own is None or own.stream != stream or len(wanted.events) > 1:
            return None
        if self.pace.is_shared or stream in self.leases.tokens:
            return None
        return own if wanted.meets(own.version) else None

    def _next(
        self, own: stores.RecordedEvent, wanted: stores.PreparedAppend
    ) -> stores.Appended:
        """Append directly after this writer's last event, or queue after other writers."""
        values = (
            *(self._log, own.position, own.hash, self._patience, own.stream, own.version),
            *(wanted.key, wanted.key_digest, wanted.stamps.recorded_at),
            *rows.event_values(wanted),
        )
        again = [*values]
        ((hash_,),), is_again = self._connection.call(rows.APPEND_NEXT, values, again=again)
        self.pace.found(is_alone=hash_ is not None)
        if hash_ is None:
            # If the call was repeated, its first attempt may have succeeded.
            return self._queued(wanted, is_again=is_again)
        head = stores.Head(own.position, own.hash)
        return self._recorded(wanted.after(head, own.version), hash_)

    def _queued(
        self, wanted: stores.PreparedAppend, *, is_again: bool = False
    ) -> stores.Appended:
        """Append under the log's lock.

        If `is_again` is true, an earlier attempt may have succeeded.
        """
        stream, count = wanted.stream, len(wanted.events)
        token = self.leases.tokens.get(stream)
        before = (*self._known(), token and stream, token or 0)
        rest: tuple[Any, ...] = (
            *(self._patience, stream, *rows.bounds(wanted.expect)),
            *(wanted.key, wanted.key_digest, wanted.stamps.recorded_at),
            *rows.event_values(wanted),
        )
        asked = rows.APPEND_SHARED if self.pace.is_shared else rows.APPEND
        if count > 1:
            asked = rows.APPEND_MANY
            later = (rows.event_values(wanted, index) for index in range(1, count))
            rest += (*rows.columns(later),)
        ((answer,),), _ = self._connection.call(
            asked, (*before, False, *rest), again=(*before, True, *rest), is_again=is_again
        )
        outcome, position, hash_, version, last = rows.append_answer(answer)
        if outcome == "known":
            if not (first := self.find_key(str(wanted.key))):
                # The append was not yet on disk when the server crashed.
                return self._queued(wanted, is_again=is_again)
            wanted.check_key(first[0])
            return stores.Appended(first, duplicate=True)
        if outcome == "conflict":
            wanted.check_expected(version)
        if outcome == "fenced":
            raise RefusedError(
                f"nothing recorded: the lease of {stream} was lost to another worker",
                hint="run `sprintlog status` to see the worker",
            )
        if outcome == "done":
            # The answer was lost: read the result from the log.
            return self._found(position, count)
        self._check_outcome(outcome)
        self.pace.found(is_alone=position == before[1])
        return self._recorded(wanted.after(stores.Head(position, hash_), version), last)

    def erase(
        self,
        spans: Sequence[stores.Span],
        *,
        stream: str,
        said: stores.NewEvent,
        remainders: Sequence[bytes] = (),
    ) -> stores.Appended | None:
        """Append an event and erase payloads; return None if all were already erased.

        The server's files keep the bytes until the next VACUUM; its write-ahead log and
        backups keep them until they are recycled.
        """
        self.check_can_record()
        wanted = self._stamping.prepare(stream, [said], expect=stores.Expect.ANY)
        rest = (
            *(self._patience, *rows.span_values(spans), [*remainders], stream),
            *(wanted.stamps.recorded_at, *rows.event_values(wanted)),
        )
        ((outcome, position, hash_, version, last),) = self._connection.rows(
            rows.ERASE, (*self._known(), False, *rest), again=(*self._known(), True, *rest)
        )
        if outcome == "nothing":
            return None
        if remainders:
            self._caches.checkpoints.clear()
        if outcome == "done":
            return self._found(position, 1)
        self._check_outcome(outcome)
        return self._recorded(wanted.after(stores.Head(position, hash_), version), last)

    def acknowledge(self, head: stores.Head) -> None:
        """Save an acknowledged head, which the log must contain from now on."""
        self.acknowledged_head, self._own = head, None
        if self._head_file is not None:
            self._head_file.write(head)

    def acknowledged(self) -> stores.Head | None:
        """Return the last head acknowledged to this machine; None if it is unknown."""
        if self._head_file is not None:
            return self._head_file.read()
        return self.acknowledged_head or stores.START

    def _known(self) -> tuple[int, int, bytes]:
        """Return the log's id, and the position and hash of the head it must contain."""
        head = self.acknowledged_head or stores.START
        return self._log, head.position, head.hash

    def _found(self, position: int, count: int) -> stores.Appended:
        """Return the result of an append that is already in the log at a position."""
        return self._told(list(self.read(after=position - 1, until=position + count - 1)))

    def _told(self, events: list[stores.RecordedEvent]) -> stores.Appended:
        """Acknowledge the last event, and return the events as the append's result."""
        own = events[-1]
        self.acknowledge(stores.Head(own.position, own.hash))
        self._own = own
        return stores.Appended(events)

    def _check_outcome(self, outcome: str) -> None:
        if outcome == "lost":
            assert self.acknowledged_head is not None
            stores.check_head(self.acknowledged_head, self.hash_at)
        if outcome != "appended":
            raise UnreadableError(
                f"the log {self._connection.address.log} is no longer the one that was "
                "opened"
            )

    def _recorded(self, events: list[stores.RecordedEvent], last: bytes) -> stores.Appended:
        """Return an append's result after comparing its last hash with the server's."""
        if events[-1].hash != last:
            raise UnreadableError(
                "the server chained the event differently: its functions differ from "
                "those of this sprintlog",
                position=events[-1].position,
                hint="run `sprintlog verify`, and ask the server's owner who changed the "
                "functions",
            )
        return self._told(events)
