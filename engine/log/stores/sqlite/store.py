"""A log in a SQLite database: many processes share one file, with one INSERT per append."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Self

from ....errors import RefusedError, SprintlogError
from ...append import PreparedAppend, Stamping
from ...chain import START
from ...envelope import Appended, Head, NewEvent, RecordedEvent, Span
from ...port import WAIT, Clock, Entropy, Expect, Expected, OwnLeases, Take, Wait
from ..descriptors import FileLocks
from ..head_file import HeadFile, Identity
from ..head_file import check_head as compare
from . import database
from .caches import SqliteCheckpoints, SqliteDigests
from .errors import explained, is_busy
from .journal_mode import Growth, checkpoint, checkpoint_if_large
from .queries import Queries
from .rows import ROWS_PER_INSERT, insert, insert_each, insert_many
from .schema import rows_holding, tables_of, tables_of_litestream

LOOKS_FIRST = 4
"""The number of appends that read the end first after an append met other writers."""


class SqliteLog(Queries):
    """A log in a SQLite database; it belongs to the thread and process that opened it.

    Raise `UnreadableError` for a database that is not a log, and for a log whose end is
    missing. With `check_head=False`, a log with a missing end is opened for examination.
    """

    leases = OwnLeases()

    def __init__(
        self,
        path: str | Path,
        *,
        clock: Clock,
        entropy: Entropy,
        readonly: bool = False,
        check_head: bool = True,
        wait: Wait = WAIT,
    ) -> None:
        self.path = path = Path(path)
        self._stamping = Stamping(clock, entropy)
        self._head_file = HeadFile(database.head_path(path))
        self._head: Head | None = None
        self._versions: dict[str, int] = {}
        self._looks_first, self._growth = 0, Growth()
        self._together: list[RecordedEvent] | None = None
        self._closed = False
        known = self._head_file.read() if check_head else None
        self.connection = database.open_database(
            path, readonly=readonly, wait=wait, entropy=entropy
        )
        self.journal_mode = self.connection.mode
        self.readonly = readonly or self.connection.only_read is not None
        # One cursor for all statements: creating one takes as long as hashing an event.
        cursor = self.connection.raw.cursor()
        self._write = cursor.execute
        # Closed in this order: a cursor's statement keeps SQLite's files open.
        self._held = (self._head_file, cursor, self.connection.raw)
        super().__init__(self.connection)
        self.checkpoints = SqliteCheckpoints(self.connection)
        self.digests = SqliteDigests(self.connection)
        self.locks = FileLocks(path.parent, wait)
        try:
            self._identity = Identity(path)
            compare(known, self.hash_at)
            # The first append need not read the end: the insert fails unless this is the
            # end.
            self._head = known
            if not self.readonly and os.path.exists(database.mark_path(path)):
                # An erasure was interrupted, or a reader delayed it.
                from .erasure import clear

                self.connection.begin_to_write()
                clear(self.connection, seconds=0.0)
        except BaseException:
            for one in self._held:
                one.close()
            raise

    @classmethod
    def create(
        cls, path: str | Path, *, clock: Clock, entropy: Entropy, wait: Wait = WAIT
    ) -> Self:
        """Create and open a log; raise `RefusedError` if one already exists."""
        # Imported here: a log is created once.
        from .creation import create_database

        create_database(Path(path), wait=wait)
        log = cls(path, clock=clock, entropy=entropy, wait=wait)
        log._head_file.write(START)
        return log

    def append(
        self,
        stream: str,
        new_events: Sequence[NewEvent],
        *,
        expect: Expected,
        key: str | None = None,
        key_digest: bytes | None = None,
    ) -> Appended:
        """Append all events or none (see the port); they are on disk when this returns."""
        self._check_can_record()
        prepared = self._stamping.prepare(
            stream, new_events, expect=expect, key=key, key_digest=key_digest
        )
        head = self._head
        version = self._versions.get(stream, expect if isinstance(expect, int) else None)
        if (
            head is not None
            and version is not None
            and not self._looks_first
            and (expect == version or prepared.meets(version))
            and len(new_events) <= ROWS_PER_INSERT
        ):
            events = prepared.after(head, version)
            if self._insert_at_once(events):
                return self._recorded(events)
        return self._append_locked(prepared)

    def _check_can_record(self) -> None:
        if self.readonly:
            raise self.connection.only_read or RefusedError(
                "nothing recorded: the log was opened for reading only"
            )
        if self._closed:
            raise RefusedError("nothing recorded: the log is closed")
        if self.connection.raw.in_transaction != (self._together is not None):
            raise RuntimeError("an append inside another transaction is not durable")
        self.connection.begin_to_write()

    def erase(
        self,
        spans: Sequence[Span],
        *,
        stream: str,
        said: NewEvent,
        remainders: Sequence[bytes] = (),
    ) -> Appended | None:
        """Append an event and erase payloads (see the port)."""
        # Imported here: hardly any process erases events.
        from .erasure import clear, erase, erasing, has_payloads, mark

        self._check_can_record()
        if not has_payloads(self.connection, spans):
            return None
        prepared = self._stamping.prepare(stream, [said], expect=Expect.ANY)
        acknowledged = self._head
        self._forget()
        mark(self.path)
        with erasing(self.connection):
            if not has_payloads(self.connection, spans):
                return None
            erase(self.connection, spans, remainders)
            if remainders:
                # No process may read a state that contains erased text.
                self.checkpoints.clear()
            end = self.end(stream, acknowledged)
            compare(acknowledged, lambda position: end.known_hash)
            events = prepared.after(end.head, end.version)
            self._write(*insert(events))
        appended = self._recorded(events)
        clear(self.connection)
        return appended

    def give_back(self) -> None:
        """Compact the database to return unused space to the file system."""
        from .erasure import clear, mark

        self._check_can_record()
        mark(self.path)
        self.connection.rows("VACUUM")
        clear(self.connection)

    @contextmanager
    def taking_over(self) -> Iterator[Take]:
        """Yield a function that copies another log's events atomically."""
        last: list[RecordedEvent] = []

        def take(events: list[RecordedEvent]) -> None:
            try:
                self.connection.raw.executemany(*insert_each(events))
            except sqlite3.IntegrityError as error:
                first, end = events[0].position, events[-1].position
                raise RefusedError(
                    f"nothing recorded: error between positions {first} and {end}: {error}"
                ) from error
            last[:] = events

        with self.connection.transaction():
            yield take
        if last:
            self._recorded(last)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Commit all appends in the block together; none is durable before its end."""
        self._check_can_record()
        acknowledged = self._head
        self._forget()
        try:
            with self.connection.transaction():
                compare(acknowledged, self.hash_at)
                self._together = []
                yield
        except BaseException:
            self._forget()
            raise
        finally:
            events, self._together = self._together, None
        if events:
            self._settle(events)

    def _insert_at_once(self, events: list[RecordedEvent]) -> bool:
        """Insert after the remembered head; return False if another process interfered."""
        try:
            self._write(*insert(events))
        except sqlite3.IntegrityError:
            return False
        except sqlite3.Error as error:
            self._forget()
            self.connection.doubted = True
            if is_busy(error):
                return False
            raise explained(error, self.path) from error
        return True

    def _append_locked(self, prepared: PreparedAppend) -> Appended:
        """Check the expectation and append under the write lock."""
        acknowledged = self._head
        self._forget()
        alone = self.connection.transaction if self._together is None else nullcontext
        with alone():
            end = self.end(prepared.stream, acknowledged)
            compare(acknowledged, lambda position: end.known_hash)
            if prepared.key is not None and (before := self.find_key(prepared.key)):
                prepared.check_key(before[0])
                return Appended(before, duplicate=True)
            prepared.check_expected(end.version)
            events = prepared.after(end.head, end.version)
            self._insert_all(events)
        # If other writers append in between, an INSERT after the remembered end fails.
        is_disturbed = acknowledged not in (None, end.head)
        self._looks_first = LOOKS_FIRST if is_disturbed else max(self._looks_first - 1, 0)
        return self._recorded(events)

    def _insert_all(self, events: list[RecordedEvent]) -> None:
        """Insert events after the end of the log that this transaction has read."""
        if len(events) <= ROWS_PER_INSERT:
            self._write(*insert(events))
            return
        # The trigger would check the same again, at a third of the total cost.
        with self.connection.triggers_off():
            for statement, values in insert_many(events):
                self._write(statement, values)

    def _recorded(self, events: list[RecordedEvent]) -> Appended:
        """Remember the new end and return the result; within `together`, defer settling."""
        last = events[-1]
        self._head = Head(last.position, last.hash)
        self._versions[last.stream] = last.version
        if self._together is None:
            self._settle(events)
        else:
            self._together += events
        return Appended(events)

    def _settle(self, events: list[RecordedEvent]) -> None:
        """Check the database's identity, write the head file, and checkpoint if due."""
        last = events[-1]
        self._identity.check(wal=self.journal_mode.wal)
        self._head_file.write(Head(last.position, last.hash))
        size = len(last.payload or b"")
        if len(events) > 1:
            size = sum([len(event.payload or b"") for event in events])
        if self._growth.is_due(events[0].position, last.position, size):
            self._growth.carried_over(is_all=checkpoint(self.connection.raw))

    def _forget(self) -> None:
        self._head = None
        self._versions.clear()

    def acknowledged(self) -> Head | None:
        """Return the stored head; None if its file is missing or damaged."""
        return self._head_file.read()

    def holds(self, head: Head) -> bool:
        """Return whether the log contains the given head's event; true for position 0."""
        return not head.position or self.hash_at(head.position) == head.hash

    def check_acknowledged(self) -> None:
        """Raise `UnreadableError` if the log lacks an acknowledged event."""
        compare(self.acknowledged(), self.hash_at)

    def problems(self) -> Iterator[str]:
        """Yield the problems that SQLite's integrity check finds."""
        try:
            rows = self.connection.rows("PRAGMA integrity_check(20)")
        except SprintlogError as error:
            yield error.message
            return
        yield from (" ".join(str(x).split())[:200] for (x,) in rows if x != "ok")

    def risks(self) -> Iterator[str]:
        """Yield nothing, because every append waits for the disk."""
        return iter(())

    def parts(self) -> list[str]:
        """Return the names of the tables."""
        return tables_of(self.connection.rows)

    def holding(self, forms: Sequence[bytes], parts: Sequence[str]) -> Iterator[str]:
        """Yield each row that contains a given byte string: its table and first columns."""
        return rows_holding(self.connection.rows, forms, parts)

    def described(self) -> dict[str, str]:
        """Return the journal mode, and why it was chosen."""
        journal = "wal" if self.journal_mode.wal else "rollback"
        return {"journal": journal, "why": self.journal_mode.reason}

    def tables_of_litestream(self) -> list[str]:
        """Return the names of Litestream's tables, which exist if it replicates the log."""
        return tables_of_litestream(self.connection.raw)

    def close(self) -> None:
        """Close the database; the last process to close it lets SQLite clean up."""
        if self._closed:
            return
        self._closed = True
        try:
            if not self.readonly and not self.connection.is_behind:
                checkpoint_if_large(self.connection.raw, database.wal_path(self.path))
        finally:
            for one in self._held:
                one.close()
