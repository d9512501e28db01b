"""A log in a PostgreSQL database; each append from any machine is one function call."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Self

import psycopg
from msgspec.structs import astuple

from sprintlog import stores
from sprintlog.errors import NotFoundError, RefusedError

from . import schema
from .address import parse
from .appends import ServerAppends
from .connection import PendingAnswer, ServerConnection
from .rows import TAKE, columns

EVENTS_A_CALL = 512
_WAIT = stores.Wait()


class Takeover:
    """Copies events from another log within a transaction.

    The server processes one batch while the next one is prepared.
    """

    def __init__(self, connection: ServerConnection, log: int) -> None:
        self._connection = connection
        self._log = log
        self._sent: list[stores.RecordedEvent] = []
        self._ahead: PendingAnswer | None = None
        self.last: stores.RecordedEvent | None = None

    def take(self, events: list[stores.RecordedEvent]) -> None:
        """Send events; raise `RefusedError` if the previous batch was rejected."""
        for start in range(0, len(events), EVENTS_A_CALL):
            part = events[start : start + EVENTS_A_CALL]
            ready = TAKE.encoded((self._log, *columns(map(astuple, part))))
            self.end()
            self._sent, self.last = part, part[-1]
            self._ahead = self._connection.ask_ahead(TAKE, ready)

    def end(self) -> None:
        """Await the answer to the last batch; raise `RefusedError` if it was rejected."""
        if self._ahead is None:
            return
        ahead, self._ahead = self._ahead, None
        if (problem := ahead.answer().get_value(0, 0)) is not None:
            first, end = self._sent[0].position, self._sent[-1].position
            raise RefusedError(
                f"nothing recorded: error between positions {first} and {end}: "
                f"{problem.decode()}"
            )

    def give_up(self) -> None:
        """Wait for the last answer, ignoring errors, so that a rollback is possible."""
        with suppress(psycopg.Error, RefusedError):
            self.end()


_OPEN = """SELECT l.id, l.identity, current_setting('fsync'),
  current_setting('full_page_writes'), current_setting('server_version'),
  (SELECT array_agg(number ORDER BY number) FROM sprintlog.migrations),
  (SELECT array_agg(digest ORDER BY number) FROM sprintlog.migrations)
FROM (SELECT 1) AS one LEFT JOIN sprintlog.logs l ON l.name = %b"""


class PostgresLog(ServerAppends):
    """A log in a PostgreSQL database; it belongs to the thread and process that opened it.

    This machine's local data (saved states, digests of its files, locks, the last
    acknowledged head) is stored in the folder `beside`, or in memory if there is no such
    folder.
    """

    def __init__(
        self,
        url: str,
        *,
        clock: stores.Clock,
        entropy: stores.Entropy,
        readonly: bool = False,
        check_head: bool = True,
        wait: stores.Wait = _WAIT,
        beside: Path | None = None,
    ) -> None:
        self.address = address = parse(url)
        self.readonly = readonly
        name = f"{stores.LocalCaches.NAME}-head"
        head_file = None if beside is None else stores.HeadFile(beside / name)
        known = None if head_file is None else head_file.read()
        self.connection = ServerConnection(address, wait=wait, entropy=entropy)
        try:
            log, identity, self.server = self._look()
            self._caches = stores.LocalCaches(beside, identity, entropy=entropy, wait=wait)
        except BaseException:
            self.connection.close()
            raise
        stamping = stores.Stamping(clock, entropy)
        super().__init__(self.connection, log, stamping=stamping, head_file=head_file)
        self.checkpoints = self._caches.checkpoints
        self.digests = self._caches.digests
        # Locks protect this machine's files.
        self.locks = (
            stores.MemoryLocks(wait) if beside is None else stores.FileLocks(beside, wait)
        )
        if check_head:
            try:
                stores.check_head(known, self.hash_at)
            except BaseException:
                self.close()
                raise
            self.acknowledged_head = known

    @classmethod
    def create(
        cls,
        url: str,
        *,
        clock: stores.Clock,
        entropy: stores.Entropy,
        wait: stores.Wait = _WAIT,
        beside: Path | None = None,
    ) -> Self:
        """Create a log, and the schema if it is missing; return the open log.

        Raise `RefusedError` if a log with this name already exists.
        """
        address = parse(url)
        with closing(ServerConnection(address, wait=wait, entropy=entropy)) as connection:
            schema.migrate(connection)
            ((made,),) = connection.rows("SELECT sprintlog.create_log(%b)", (address.log,))
        if made is None:
            raise RefusedError(
                f"the log {address.log} already exists at {address.shown}",
                hint="choose another name with `?log=NAME`",
            )
        log = cls(url, clock=clock, entropy=entropy, wait=wait, beside=beside)
        log.acknowledge(stores.START)
        return log

    def _look(self) -> tuple[int, str, str]:
        """Return the log's number and identity, and the server's version."""
        rows = self.connection.rows(_OPEN, (self.address.log,))
        ((log, identity, fsync, pages, server, numbers, digests),) = rows
        schema.check_applied([*zip(numbers or (), digests or (), strict=True)])
        schema.check_settings(self.address, {"fsync": fsync, "full_page_writes": pages})
        if log is None:
            raise NotFoundError(
                f"there is no log {self.address.log} at {self.address.shown}",
                hint="run `sprintlog init --log ADDRESS` to create it",
            )
        return log, identity, server

    @contextmanager
    def taking_over(self) -> Iterator[stores.Take]:
        """Yield a function that copies another log's events atomically."""
        self.check_can_record()
        takeover = Takeover(self.connection, self._log)
        with self.connection.transaction():
            try:
                yield takeover.take
            except BaseException:
                takeover.give_up()
                raise
            takeover.end()
        if takeover.last is not None:
            last = takeover.last
            self.acknowledge(stores.Head(last.position, last.hash))

    def give_back(self) -> None:
        """Allow the server to reuse the space of erased payloads, if the role may do so."""
        self.check_can_record()
        self.connection.run("VACUUM sprintlog.events")

    def holds(self, head: stores.Head) -> bool:
        """Return whether the log contains the given head's event; true for position 0."""
        return not head.position or self.hash_at(head.position) == head.hash

    def check_acknowledged(self) -> None:
        """Raise `UnreadableError` if the log lacks an acknowledged event."""
        stores.check_head(self.acknowledged(), self.hash_at)

    def problems(self) -> Iterator[str]:
        """Yield the problems with triggers, indexes and caches."""
        yield from schema.problems(self.connection)
        yield from self._caches.problems()

    def facts(self) -> schema.ServerFacts:
        """Return the role on the server, and the server's clock."""
        return schema.facts(self.connection)

    def settings(self) -> dict[str, str]:
        """Return the server's settings that affect the durability of events."""
        return schema.settings(self.connection)

    def standbys(self) -> list[tuple[str, str]]:
        """Return the visible standbys, and the state of each."""
        return schema.standbys(self.connection)

    def risks(self) -> Iterator[str]:
        """Yield the risks posed by the settings of the server and its standbys."""
        return schema.risks(self.connection)

    def parts(self) -> list[str]:
        """Return the names of the parts stored on the server and on this machine."""
        return sorted(("events", *stores.LocalCaches.TABLES))

    def holding(self, forms: Sequence[bytes], parts: Sequence[str]) -> Iterator[str]:
        """Yield the locations in the given parts that contain one of the byte strings."""
        if "events" in parts:
            yield from self.events_holding(forms)
        yield from self._caches.holding(
            forms, [part for part in parts if part in stores.LocalCaches.TABLES]
        )

    def described(self) -> dict[str, str]:
        """Return the storage method and the reason for it, as shown to operators."""
        why = f"the log is at {self.address.shown}"
        return {"journal": f"PostgreSQL {self.server}", "why": why}

    def close(self) -> None:
        """Close the connection and the local files."""
        if not self.is_closed:
            self.is_closed = True
            self._caches.close()
            self.connection.close()
            if self._head_file is not None:
                self._head_file.close()
