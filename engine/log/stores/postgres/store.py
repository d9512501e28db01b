"""The log in a PostgreSQL database: many machines, one call of a function an append."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ....errors import NotFoundError, RefusedError, UnreadableError
from ...append import Stamping, Stamps, check_expected, check_key, check_limits, place
from ...chain import START
from ...envelope import Appended, Head, NewEvent, RecordedEvent, Span
from ...port import WAIT, Clock, Entropy, Expected, Take, Wait
from ..head_file import HeadFile, check_head
from ..locks import FileLocks
from ..memory import MemoryLocks
from .address import parse
from .caches import NAME, TABLES, LocalCaches
from .connection import ServerConnection
from .leases import ServerLeases
from .pace import Pace
from .queries import ServerQueries
from .rows import (
    APPEND,
    ERASE,
    append_answer,
    append_values,
    bounds,
    span_values,
)
from .schema import check_applied, check_settings, migrate
from .takeover import Takeover

if TYPE_CHECKING:
    from .upkeep import ServerFacts

_LOCK_MILLISECONDS_MIN = 10
_OPEN = """SELECT l.id, l.identity, current_setting('fsync'),
  current_setting('full_page_writes'), current_setting('server_version'),
  (SELECT array_agg(number ORDER BY number) FROM sprintlog.migrations),
  (SELECT array_agg(digest ORDER BY number) FROM sprintlog.migrations)
FROM (SELECT 1) AS one LEFT JOIN sprintlog.logs l ON l.name = %b"""


class PostgresLog:
    """A log in a PostgreSQL database; belongs to the thread and process that opened it.

    What a machine keeps for itself (saved states, digests of its files, locks of them, the
    head it was told last) is in the folder `beside`; without one it goes with the process.
    """

    def __init__(
        self,
        url: str,
        *,
        clock: Clock,
        entropy: Entropy,
        readonly: bool = False,
        check_head: bool = True,
        wait: Wait = WAIT,
        beside: Path | None = None,
    ) -> None:
        self.address = address = parse(url)
        self.readonly = readonly
        self._stamping = Stamping(clock, entropy)
        self._closed = False
        self._head: Head | None = None
        self._pace = Pace()
        self._head_file = None if beside is None else HeadFile(beside / f"{NAME}-head")
        known = None if self._head_file is None else self._head_file.read()
        self.connection = ServerConnection(address, wait=wait, entropy=entropy)
        try:
            self._log, identity, self.server = self._look()
            self._caches = LocalCaches(beside, identity, entropy=entropy, wait=wait)
        except BaseException:
            self.connection.close()
            raise
        queries = self._queries = ServerQueries(self.connection, self._log)
        self.find_key, self.find_id = queries.find_key, queries.find_id
        self.read, self.pages = queries.read, queries.pages
        self.read_stream, self.scan = queries.read_stream, queries.scan
        self.streams, self.version = queries.streams, queries.version
        self.hash_of = queries.hash_of
        self.head, self.last_position = queries.head, queries.last_position
        self.checkpoints = self._caches.checkpoints
        self.digests = self._caches.digests
        self.leases = ServerLeases(self.connection, self._log, entropy=entropy)
        # What is locked are files of this machine.
        self.locks = MemoryLocks(wait) if beside is None else FileLocks(beside, wait)
        self._wait = max(_LOCK_MILLISECONDS_MIN, round(wait.seconds * 1000))
        if check_head:
            try:
                self._check_head(known)
            except BaseException:
                self.close()
                raise
            self._head = known

    @classmethod
    def create(
        cls,
        url: str,
        *,
        clock: Clock,
        entropy: Entropy,
        wait: Wait = WAIT,
        beside: Path | None = None,
    ) -> Self:
        """Make a new log, and the schema where it is missing, and return it open.

        Raise `RefusedError` where there is a log of this name.
        """
        address = parse(url)
        connection = ServerConnection(address, wait=wait, entropy=entropy)
        try:
            migrate(connection)
            ((made,),) = connection.rows("SELECT sprintlog.create_log(%b)", (address.log,))
        finally:
            connection.close()
        if made is None:
            raise RefusedError(
                f"there is a log {address.log} already at {address.shown}",
                hint="name another one: ?log=NAME",
            )
        log = cls(url, clock=clock, entropy=entropy, wait=wait, beside=beside)
        log._acknowledge(START)
        return log

    def _look(self) -> tuple[int, str, str]:
        """Return number and identity of the log, and the version of its server."""
        rows = self.connection.rows(_OPEN, (self.address.log,))
        ((log, identity, fsync, pages, server, numbers, digests),) = rows
        check_applied([*zip(numbers or (), digests or (), strict=True)])
        check_settings(self.address, fsync=fsync, full_page_writes=pages)
        if log is None:
            raise NotFoundError(
                f"there is no log {self.address.log} at {self.address.shown}",
                hint="`sprintlog init --log ADDRESS` makes it",
            )
        return log, identity, server

    def append(
        self,
        stream: str,
        new_events: Sequence[NewEvent],
        *,
        expect: Expected,
        key: str | None = None,
        key_digest: bytes | None = None,
    ) -> Appended:
        """Append all events or none, as the port says; on return they are committed."""
        self._check_can_record()
        check_limits(stream, new_events, key=key, key_digest=key_digest)
        count = len(new_events)
        stamps = self._stamping.stamp(count)
        token = self.leases.tokens.get(stream)
        settles = self._pace.is_shared
        before = (*self._known(), token and stream, token or 0, settles)
        rest = (
            self._wait, stream, *bounds(expect), key, key_digest, stamps.recorded_at,
            *append_values(new_events, stamps, count),
        )  # fmt: skip
        (answer,) = self.connection.call(
            APPEND, (*before, False, *rest), again=(*before, True, *rest), settles=settles
        )
        outcome, position, hash_, version, last = append_answer(answer)
        if outcome == "known":
            first = self.find_key(str(key))
            check_key(first[0], key_digest)
            return Appended(first, duplicate=True)
        if outcome == "conflict":
            check_expected(stream, expect=expect, actual=version)
        if outcome == "fenced":
            raise RefusedError(
                f"nothing recorded: the lease of {stream} was lost to another worker",
                hint="`sprintlog status` says who works on it",
            )
        if outcome == "done":
            # Its answer was lost: what it did is what the log says.
            return Appended(list(self.read(after=position - 1, until=position + count - 1)))
        self._check_outcome(outcome)
        self._pace.found(is_alone=position == before[1])
        head = Head(position, hash_)
        events = place(stream, new_events, head, version, stamps, key, key_digest)
        return self._recorded(events, last)

    def _known(self) -> tuple[int, int, bytes]:
        """Return which log, and the head it must hold."""
        head = self._head or START
        return self._log, head.position, head.hash

    def _check_outcome(self, outcome: str) -> None:
        if outcome == "lost":
            assert self._head is not None
            check_head(self._head, self._queries.hash_at)
        if outcome != "appended":
            raise UnreadableError(
                f"the log {self.address.log} is no longer the one that was opened"
            )

    def _recorded(self, events: list[RecordedEvent], last: bytes) -> Appended:
        """Compare what the server made of an append with our own, and answer."""
        if events[-1].hash != last:
            raise UnreadableError(
                "the server chained the event in another way than we do: its functions are "
                "not those of this sprintlog",
                position=events[-1].position,
                hint="`sprintlog verify`, and ask the server's owner who changed them",
            )
        self._acknowledge(Head(events[-1].position, last))
        return Appended(events)

    def _acknowledge(self, head: Head) -> None:
        self._head = head
        if self._head_file is not None:
            self._head_file.write(head)

    def _check_can_record(self) -> None:
        if self.readonly:
            raise RefusedError("nothing recorded: the log was opened for reading only")
        if self._closed:
            raise RefusedError("nothing recorded: the log is closed")

    @contextmanager
    def taking_over(self) -> Iterator[Take]:
        """Give what takes the events that come next, of another log, all or none."""
        self._check_can_record()
        takeover = Takeover(self.connection, self._log)
        with self.connection.transaction():
            try:
                yield takeover.take
            except BaseException:
                takeover.give_up()
                raise
            takeover.end()
        if takeover.last is not None:
            self._acknowledge(Head(takeover.last.position, takeover.last.hash))

    def erase(
        self,
        spans: Sequence[Span],
        *,
        stream: str,
        said: NewEvent,
        remainders: Sequence[bytes] = (),
    ) -> Appended | None:
        """Append an event and erase payloads, as the port says.

        Their bytes leave the server's files with its next VACUUM, its own log and its
        backups as those are recycled.
        """
        self._check_can_record()
        check_limits(stream, [said], key=None, key_digest=None)
        stamps = self._stamping.stamp(1)
        left = [*remainders]
        rest = (self._wait, *span_values(spans), left, stream, *_said(said, stamps))
        ((outcome, position, hash_, version, last),) = self.connection.rows(
            ERASE, (*self._known(), False, *rest), again=(*self._known(), True, *rest)
        )
        if outcome == "nothing":
            return None
        if remainders:
            self.checkpoints.clear()
        if outcome == "done":
            return Appended(list(self.read(after=position - 1, until=position)))
        self._check_outcome(outcome)
        head = Head(position, hash_)
        return self._recorded(
            place(stream, [said], head, version, stamps, None, None), last
        )

    def give_back(self) -> None:
        """Let the server reuse the space of what was erased, where this role may."""
        self._check_can_record()
        self.connection.run("VACUUM sprintlog.events")

    def acknowledged(self) -> Head | None:
        """Return the head that this machine was told last; None where it is not known."""
        return self._head_file.read() if self._head_file else self._head or START

    def holds(self, head: Head) -> bool:
        """Return whether the log has this very event; it has the head of an empty log."""
        return not head.position or self._queries.hash_at(head.position) == head.hash

    def check_acknowledged(self) -> None:
        """Raise `UnreadableError` when the log lacks an event once acknowledged."""
        self._check_head(self.acknowledged())

    def _check_head(self, known: Head | None) -> None:
        check_head(known, self._queries.hash_at)

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with triggers, indexes, the counter and the caches."""
        # Imported here: only who looks after a log asks.
        from .upkeep import problems

        yield from problems(self.connection, self._log)
        yield from self._caches.problems()

    def facts(self) -> "ServerFacts":
        """Return who this is for the server, and what time it has."""
        from .upkeep import facts

        return facts(self.connection)

    def settings(self) -> dict[str, str]:
        """Return the server's settings that say what an acknowledged event survives."""
        from .upkeep import settings

        return settings(self.connection)

    def standbys(self) -> list[tuple[str, str]]:
        """Return the standbys that this role hears of, and whether one waits for them."""
        from .upkeep import standbys

        return standbys(self.connection)

    def risks(self) -> Iterator[str]:
        """Yield what the server's settings, and those of its standbys, can cost."""
        from .upkeep import risks

        return risks(self.connection)

    def parts(self) -> list[str]:
        """Return the names of all that is kept, here and there."""
        return sorted(("events", *TABLES))

    def holding(self, forms: Sequence[bytes], parts: Sequence[str]) -> Iterator[str]:
        """Yield where some of the parts hold bytes that are one of the forms."""
        if "events" in parts:
            yield from self._queries.holding(forms)
        yield from self._caches.holding(forms, [part for part in parts if part in TABLES])

    def described(self) -> dict[str, str]:
        """Return which server keeps the log, and why."""
        why = f"the log is at {self.address.shown}"
        return {"journal": f"PostgreSQL {self.server}", "why": why}

    def close(self) -> None:
        """Give back connection and files."""
        if not self._closed:
            self._closed = True
            self._caches.close()
            self.connection.close()
            if self._head_file is not None:
                self._head_file.close()


def _said(said: NewEvent, stamps: Stamps) -> tuple[Any, ...]:
    """Return the event that says of an erasure, as the server's function is told it."""
    id_ = stamps.ids[0]
    return (
        stamps.recorded_at, id_, said.type, said.schema_version, said.at, said.actor,
        said.correlation_id or id_, said.causation_id or id_, stamps.salts, said.payload,
    )  # fmt: skip
