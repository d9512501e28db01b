"""Rows about appending: single events, many at once, and their size in bytes."""

import re
import sqlite3
from itertools import repeat
from os import urandom
from platform import python_version

from msgspec import structs

from sprintlog.engine.log.append import Stamping, place
from sprintlog.engine.log.chain import START as GENESIS
from sprintlog.engine.log.envelope import Head, NewEvent, RecordedEvent
from sprintlog.engine.log.stores.sqlite.schema import EVENTS
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.projections.workspace import wall_clock

from ..logs import COPIED_PRAGMAS, Bench, append_all, copy_pragmas
from ..measure import (
    PROCESSOR,
    PROCESSOR_BY_PAIRS,
    WALL,
    By,
    Figure,
    Sides,
    rate,
    side_by_side,
)
from ..samples import START, STREAM, event_of_300_bytes, loop_events, new_events

BATCH = 1_000
# Short turns, so that some are undisturbed even on a busy machine.
TURN, DURABLE_TURN = 100, 20
_CHECKS = re.compile(r" CHECK \((?:[^()]|\([^()]*\))*\)")
_INSERT = (
    f"INSERT INTO events VALUES ({', '.join(['?'] * len(RecordedEvent.__struct_fields__))})"
)
_PAYLOAD = RecordedEvent.__struct_fields__.index("payload")


class OurLog:
    """A log to which the same draft is appended repeatedly.

    It is new, and measured without a pause: in its first milliseconds, a log checks more
    files before it acknowledges than later.
    """

    def __init__(self, bench: Bench, name: str, *, is_durable: bool) -> None:
        self.log = bench.new_log(f"{name}-ours")
        if not is_durable:
            self.log.connection.raw.execute("PRAGMA synchronous=OFF")
        self.version = 0
        self.append([the_draft()])

    def append(self, new_events: list[NewEvent]) -> None:
        """Append the events together, expecting the exact version."""
        self.log.append(STREAM, new_events, expect=self.version)
        self.version += len(new_events)


class BareTable:
    """A table of the same shape without our checks, and rows that are ready for it."""

    def __init__(self, bench: Bench, name: str, like: SqliteLog) -> None:
        path = bench.new_folder(f"{name}-bare") / "bare.db"
        self.connection = sqlite3.connect(path, isolation_level=None)
        copy_pragmas(like, self.connection)
        for statement in (_CHECKS.sub("", EVENTS[0]), EVENTS[1]):
            self.connection.execute(statement)
        self.rows: list[tuple[object, ...]] = []
        self._head, self._version = GENESIS, 0

    def make_ready(self, count: int) -> None:
        """Create the rows of the next events, exactly as the log would store them."""
        placed = place(
            STREAM,
            list(repeat(the_draft(), count)),
            self._head,
            self._version,
            Stamping(wall_clock, urandom).stamp(count),
            None,
            None,
        )
        rows = [list(structs.astuple(event)) for event in placed]
        self._head = Head(rows[-1][0], rows[-1][-1])
        self._version = rows[-1][2]
        for row in rows:
            row[_PAYLOAD] = bytes(row[_PAYLOAD]).decode()
        self.rows = [tuple(row) for row in rows]

    def insert_each(self) -> None:
        """Insert every row in a separate transaction."""
        execute = self.connection.execute
        for row in self.rows:
            execute(_INSERT, row)

    def insert_all(self) -> None:
        """Insert all rows in one transaction."""
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany(_INSERT, self.rows)
        self.connection.execute("COMMIT")


def the_draft() -> NewEvent:
    """Return an event of 300 bytes that has no position yet."""
    return new_event(event_of_300_bytes(), at=START, actor="agent:bench")


def durable(bench: Bench) -> Figure:
    """Measure one durable append against a bare durable INSERT."""
    return rate(_one_by_one(bench, "durable", is_durable=True), "bare durable INSERT")


def durable_processor(bench: Bench) -> Figure:
    """Measure one durable append against a bare durable INSERT, without waiting."""
    name, by = "durable-processor", PROCESSOR_BY_PAIRS
    return rate(_one_by_one(bench, name, is_durable=True, by=by), "bare durable INSERT")


def undurable(bench: Bench) -> Figure:
    """Measure one append without waiting for the disk against a bare INSERT."""
    return rate(_one_by_one(bench, "undurable", is_durable=False), "bare INSERT")


def _one_by_one(
    bench: Bench, name: str, *, is_durable: bool, by: By | None = None
) -> Sides:
    ours = OurLog(bench, name, is_durable=is_durable)
    bare = BareTable(bench, name, ours.log)
    count = DURABLE_TURN if is_durable else TURN
    wanted = [the_draft()]

    def append_each() -> None:
        for _ in range(count):
            ours.append(wanted)

    sides = side_by_side(
        append_each,
        bare.insert_each,
        rounds=bench.sizes.appends // TURN,
        by=by or (WALL if is_durable else PROCESSOR),
        units=(count, count),
        before=lambda: bare.make_ready(count),
    )
    ours.log.close()
    bare.connection.close()
    return sides


def batches(bench: Bench) -> Figure:
    """Measure durable batches of 1,000 against a bare executemany of ready rows."""
    ours = OurLog(bench, "batches", is_durable=True)
    bare = BareTable(bench, "batches", ours.log)
    wanted = list(repeat(the_draft(), BATCH))
    sides = side_by_side(
        lambda: ours.append(wanted),
        bare.insert_all,
        rounds=bench.sizes.appends // TURN,
        by=WALL,
        units=(BATCH, BATCH),
        before=lambda: bare.make_ready(BATCH),
    )
    ours.log.close()
    bare.connection.close()
    found = rate(sides, "bare executemany, rows ready")
    # The goal depends on the Python version.
    return found._replace(note=f"on CPython {python_version()}")


def library(bench: Bench) -> Figure:
    """Measure one append against `eventsourcing`, both without waiting for the disk."""
    return _against_library(bench, "library", is_durable=False)


def library_durable(bench: Bench) -> Figure:
    """Measure one durable append against `eventsourcing`."""
    return _against_library(bench, "library-durable", is_durable=True)


def library_store(bench: Bench) -> Figure:
    """Measure one append against the library's event store, bypassing the application."""
    return _against_library(bench, "library-store", is_durable=False, past_application=True)


def _against_library(
    bench: Bench, name: str, *, is_durable: bool, past_application: bool = False
) -> Figure:
    from .eventsourcing_structs import VERSION, Saving

    ours = OurLog(bench, name, is_durable=is_durable)
    path = bench.new_folder(f"{name}-theirs") / "theirs.db"
    theirs = Saving(path, configure=lambda to: copy_pragmas(ours.log, to))
    theirs_each = theirs.put_each if past_application else theirs.save_each
    count = DURABLE_TURN if is_durable else TURN
    event = event_of_300_bytes()

    def append_each() -> None:
        for _ in range(count):
            # Timed from the event, because the other side starts with an unencoded event.
            ours.append([new_event(event, at=START, actor="agent:bench")])

    sides = side_by_side(
        append_each,
        lambda: theirs_each(count, event),
        rounds=bench.sizes.appends // TURN,
        by=WALL if is_durable else PROCESSOR,
        units=(count, count),
    )
    for pragma in COPIED_PRAGMAS:
        (our_value,) = ours.log.connection.raw.execute(f"PRAGMA {pragma}").fetchone()
        assert theirs.pragma(pragma) == our_value, pragma
    ours.log.close()
    theirs.close()
    called = "event store" if past_application else "Application.save"
    return rate(sides, f"eventsourcing {VERSION} {called}, msgspec")


def bytes_of_300(bench: Bench) -> Figure:
    """Measure the database of events of 300 bytes against their payloads."""
    log = bench.new_log("bytes")
    events = bench.sizes.appends
    append_all(log, repeat(the_draft(), events), version=0)
    return _bytes(log)._replace(note="no goal: ADR 0035")


def bytes_of_loop(bench: Bench) -> Figure:
    """Measure the database of a loop's events, most of them small."""
    log = bench.new_log("bytes-loop")
    events = bench.sizes.appends
    append_all(log, new_events(loop_events(events)), version=0)
    return _bytes(log)


def _bytes(log: SqliteLog) -> Figure:
    events = payloads = 0
    for event in log.read():
        events += 1
        payloads += len(event.payload or b"")
    log.connection.raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    log.close()
    size = log.path.stat().st_size
    against = f"the payload of {payloads // events} B"
    return Figure(size / events, payloads / events, "B", against, size / payloads)
