"""Rows about a log on a server, each compared with a bare statement there."""

import os
import threading
from collections.abc import Callable
from contextlib import closing
from functools import cache
from importlib import import_module
from typing import Any
from uuid import uuid4

import msgspec
import psycopg

from sprintlog.engine.log.chain import Row
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.memory import MemoryLog
from sprintlog.engine.log.stores.postgres.store import PostgresLog
from sprintlog.projections.health.exchange import copy_log
from sprintlog.projections.workspace import wall_clock
from tests.postgres.server import NEWEST, NoServerError, Server, programs_of, server

from ..logs import Bench
from ..measure import WALL, Figure, Skip, rate, side_by_side
from .rows_log import the_draft

ROUNDS = 5
HOT_WRITERS = 32
_BARE = """CREATE TABLE IF NOT EXISTS bare (
  position bigserial PRIMARY KEY, stream text, version bigint, id text, type text,
  schema_version int, at text, recorded_at text, actor text, correlation_id text,
  causation_id text, key text, key_digest bytea, remaining int, observed bool, salt bytea,
  payload bytea, payload_digest bytea, hash bytea)"""
_COLUMNS = """stream, version, id, type, schema_version, at, recorded_at, actor,
  correlation_id, causation_id, key, key_digest, remaining, observed, salt, payload,
  payload_digest, hash"""
_INSERT = f"INSERT INTO bare ({_COLUMNS}) VALUES ({', '.join(['%b'] * 18)})"

Write = Callable[[], object]


SLOWER_DISK_MICROSECONDS = 1000
"""What a commit takes longer in some rows: a cloud's disk needs about so much, and the disk
of the machine that measures perhaps a fifth."""


def _server(delay: int = 0) -> Server:
    try:
        return _delayed(delay) if delay else server()
    except NoServerError as error:
        raise Skip(str(error)) from error


@cache
def _delayed(microseconds: int) -> Server:
    # The delay before the process that writes the log for others.
    said = f"commit_delay = {microseconds}\ncommit_siblings = 0\n"
    return Server(programs_of(NEWEST), settings=said)


def _new_log(pg: Server) -> PostgresLog:
    return PostgresLog.create(pg.new_url(), clock=wall_clock, entropy=os.urandom)


def _bare(pg: Server) -> psycopg.Connection[Any]:
    raw = psycopg.connect(pg.url(), autocommit=True, prepare_threshold=0)
    with raw.transaction():
        raw.execute("SELECT pg_advisory_xact_lock(1)")
        raw.execute(_BARE)
    return raw


def _close(logs: list[PostgresLog], raws: list[psycopg.Connection[Any]]) -> None:
    for log in logs:
        log.close()
    for raw in raws:
        raw.close()


def _row() -> Row:
    """Return the fields of an event, as an append makes them."""
    log = MemoryLog(clock=wall_clock, entropy=os.urandom)
    (event,) = log.append("sprint/one", [the_draft()], expect=0).events
    return msgspec.structs.astuple(event)[1:]


def _appending(log: PostgresLog, stream: str) -> Write:
    wanted = [the_draft()]
    return lambda: log.append(stream, wanted, expect=Expect.ANY)


def _inserting(raw: psycopg.Connection[Any]) -> Write:
    row = _row()
    return lambda: raw.execute(_INSERT, row)


def _together(writes: list[Write], count: int) -> None:
    """Let each writer write its share, all at the same time."""
    share = count // len(writes)

    def write(one: Write) -> None:
        for _ in range(share):
            one()

    threads = [threading.Thread(target=write, args=(one,)) for one in writes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _compare(ours: list[Write], theirs: list[Write], count: int, against: str) -> Figure:
    """Measure two groups of writers side by side."""
    sides = side_by_side(
        lambda: _together(ours, count),
        lambda: _together(theirs, count),
        rounds=ROUNDS if count > 100 else 1,
        by=WALL,
        units=(count, count),
    )
    return rate(sides, against)


def one_writer(bench: Bench, delay: int = 0) -> Figure:
    """Measure one writer's appends against bare durable inserts of the same row."""
    pg, count = _server(delay), bench.sizes.appends // 10
    with closing(_new_log(pg)) as log, _bare(pg) as raw:
        ours, theirs = [_appending(log, "sprint/one")], [_inserting(raw)]
        return _compare(ours, theirs, count, "bare durable INSERT on the server")


def own_logs(bench: Bench) -> Figure:
    """Measure eight writers on separate logs against eight that insert."""
    pg, count = _server(), bench.sizes.appends // 2
    logs = [_new_log(pg) for _ in range(8)]
    raws = [_bare(pg) for _ in range(8)]
    ours = [_appending(log, "sprint/one") for log in logs]
    try:
        theirs = [_inserting(raw) for raw in raws]
        return _compare(ours, theirs, count, "8 writers of bare durable INSERTs")
    finally:
        _close(logs, raws)


def one_hot_log(bench: Bench, delay: int = 0) -> Figure:
    """Measure 32 writers of one log against a design that locks its row from the client."""
    pg, count = _server(delay), bench.sizes.appends // 4
    first = _new_log(pg)
    logs = [first, *(_again(first) for _ in range(HOT_WRITERS - 1))]
    raws = [_bare(pg) for _ in range(HOT_WRITERS)]
    name = _counter(raws[0])
    ours = [_appending(log, f"sprint/{n}") for n, log in enumerate(logs)]
    theirs = [_locking(raw, name) for raw in raws]
    try:
        return _compare(ours, theirs, count, "lock row, INSERT, UPDATE from the client")
    finally:
        _close(logs, raws)


def _again(log: PostgresLog) -> PostgresLog:
    return PostgresLog(log.address.given_with_log, clock=wall_clock, entropy=os.urandom)


def _counter(raw: psycopg.Connection[Any]) -> str:
    raw.execute("CREATE TABLE IF NOT EXISTS counters (name text PRIMARY KEY, n bigint)")
    name = uuid4().hex
    raw.execute("INSERT INTO counters VALUES (%s, 0)", (name,))
    return name


def _locking(raw: psycopg.Connection[Any], name: str) -> Write:
    """Return a function that appends like a client that locks, counts and chains itself."""
    row = _row()
    lock = "SELECT n FROM counters WHERE name = %s FOR UPDATE"
    count = "UPDATE counters SET n = n + 1 WHERE name = %s"

    def write() -> None:
        with raw.pipeline():
            raw.execute("BEGIN")
            found = raw.execute(lock, (name,))
        found.fetchall()
        with raw.pipeline():
            raw.execute(_INSERT, row)
            raw.execute(count, (name,))
            raw.execute("COMMIT")

    return write


def eventsourcing_recorder(bench: Bench, delay: int = 0) -> Figure:
    """Measure 32 writers of one log against the recorder of `eventsourcing`."""
    pg, count = _server(delay), bench.sizes.appends // 8
    try:
        # Imported dynamically, because types are checked without the library.
        persistence = import_module("eventsourcing.persistence")
        postgres = import_module("eventsourcing.postgres")
    except ImportError as error:
        raise Skip("eventsourcing with psycopg is not installed") from error
    store = postgres.PostgresDatastore(
        dbname="postgres", host=str(pg.folder), port=str(pg.port), user="owner",
        password="", pool_size=HOT_WRITERS, max_overflow=4,
    )  # fmt: skip
    named = f"es_{uuid4().hex[:8]}"
    recorder = postgres.PostgresApplicationRecorder(store, events_table_name=named)
    recorder.create_table()
    payload = the_draft().payload
    first = _new_log(pg)
    logs = [first, *(_again(first) for _ in range(HOT_WRITERS - 1))]

    def recording() -> Write:
        originator, version = uuid4(), iter(range(10**9))

        def write() -> None:
            event = persistence.StoredEvent(
                originator, next(version), "note-added", payload
            )
            recorder.insert_events([event])

        return write

    ours = [_appending(log, f"sprint/{n}") for n, log in enumerate(logs)]
    try:
        theirs = [recording() for _ in logs]
        return _compare(ours, theirs, count, "`eventsourcing` recorder, 32 writers")
    finally:
        for log in logs:
            log.close()
        store.close()


def fold(bench: Bench) -> Figure:
    """Measure reading a stream to be folded, payloads decoded, against a cursor's scan."""
    return _reading(bench, lambda log: sum(_decoded(log)))


def replay(bench: Bench) -> Figure:
    """Measure reading whole events, payloads decoded, against a cursor's scan."""
    decode = msgspec.json.decode
    return _reading(
        bench, lambda log: sum(1 for e in log.read() if decode(e.payload or b""))
    )


def _decoded(log: PostgresLog) -> Any:
    decode = msgspec.json.decode
    for page in log.scan("sprint/one"):
        yield len([decode(payload or b"") for _, _, payload in page.rows])


def _reading(bench: Bench, read: Callable[[PostgresLog], int]) -> Figure:
    pg, count = _server(), bench.sizes.fold // 10
    with closing(_filled(pg, count)) as log, psycopg.connect(pg.url()) as raw:
        number, decode = log._log, msgspec.json.decode

        def scan() -> None:
            with raw.transaction(), raw.cursor("scan", binary=True) as cursor:
                cursor.itersize = 2000
                cursor.execute(
                    "SELECT at, type, payload FROM sprintlog.events WHERE log = %s"
                    " ORDER BY position",
                    (number,),
                )
                for _, _, payload in cursor:
                    decode(payload)

        sides = side_by_side(
            lambda: read(log), scan,
            rounds=bench.sizes.rounds, by=WALL, units=(count, count),
        )  # fmt: skip
        return rate(sides, "a cursor's scan on the server + decode")


def _filled(pg: Server, count: int) -> PostgresLog:
    log = _new_log(pg)
    draft = the_draft()
    for version in range(0, count, 1000):
        part = min(1000, count - version)
        log.append("sprint/one", [draft] * part, expect=version)
    return log


def copied(bench: Bench) -> Figure:
    """Measure `copy` into a server, chain checked on both ends, against COPY BINARY."""
    pg, count = _server(), bench.sizes.fold // 20
    source = MemoryLog(clock=wall_clock, entropy=os.urandom)
    for version in range(0, count, 1000):
        part = min(1000, count - version)
        source.append("sprint/one", [the_draft()] * part, expect=version)
    rows = [msgspec.structs.astuple(event)[1:] for event in source.read()]
    kinds = ["text", "int8", "text", "text", "int4", *["text"] * 6, "bytea", "int4", "bool"]
    kinds += ["bytea"] * 4

    def ours() -> None:
        with closing(_new_log(pg)) as target:
            copy_log(source, target)

    with _bare(pg) as raw:

        def theirs() -> None:
            named = f"COPY bare ({_COLUMNS}) FROM STDIN (FORMAT BINARY)"
            with raw.cursor() as cursor, cursor.copy(named) as copy:
                copy.set_types(kinds)
                for row in rows:
                    copy.write_row(row)

        sides = side_by_side(
            ours, theirs, rounds=bench.sizes.rounds, by=WALL, units=(count, count)
        )
        return rate(sides, "COPY BINARY of the same rows")
