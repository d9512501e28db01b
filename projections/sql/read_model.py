"""The read model: the log as plain tables in a separate SQLite file.

The file is stored next to the log as `query.db`, updated by each query, and readable with
any SQLite tool. Nothing else in sprintlog reads it. If another program has changed any
byte, the file is rebuilt (ADR 0016).
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.erasures import PayloadErased
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_of
from sprintlog.engine.sessions.names import session_of
from sprintlog.engine.sprint.state.sprint import STATE_FORMAT

from ..runner import Mark, catch_up
from ..workspace import Workspace
from .proof import BLOCK_BYTES, BUSY_SECONDS, Digests, plain_file, prove, proven, remove
from .schema import APPLICATION_ID, STATEMENTS, TABLES, Row, inserting
from .sprint_rows import write_sprint

NAME = "query.db"
LOCK = "query.lock"
EVENTS_A_STEP = 512
FORMAT = (STATE_FORMAT + 6) % 2**31
"""Increase the summand when the contents of the tables are computed differently."""

Progress = Callable[[int], None]
_COLUMNS = [column.name for column in TABLES["v_events"].columns]


def refreshed(
    workspace: Workspace, *, fresh: bool = False, progress: Progress = lambda count: None
) -> Path:
    """Bring the file up to date with the log, and return its path.

    Raise `RefusedError` if the file cannot be written; `in_memory` requires no file.
    """
    with _up_to_date(workspace, fresh=fresh, progress=progress) as target:
        return target


def opened(
    workspace: Workspace, *, fresh: bool = False, progress: Progress = lambda count: None
) -> sqlite3.Connection:
    """Return a read-only connection to the verified, up-to-date file."""
    with _up_to_date(workspace, fresh=fresh, progress=progress) as target:
        uri = f"{target.absolute().as_uri()}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None)
        # The transaction fixes the contents that later queries read.
        connection.execute("BEGIN")
        connection.execute("SELECT position FROM upto").fetchone()
        return connection


def joined(
    logs: Mapping[str, Workspace],
    *,
    fresh: bool = False,
    progress: Progress = lambda count: None,
) -> sqlite3.Connection:
    """Return a connection to the tables of several logs, whose first column is `log`.

    Raise `InvalidInputError` if SQLite cannot attach so many files.
    """
    connection = sqlite3.connect(":memory:", uri=True, isolation_level=None)
    # A later change of this setting would drop the views.
    connection.execute("PRAGMA temp_store=MEMORY")
    limit = connection.getlimit(sqlite3.SQLITE_LIMIT_ATTACHED)
    if len(logs) > limit:
        raise InvalidInputError(f"at most {limit} logs can be queried", field="--log")
    for n, workspace in enumerate(logs.values()):
        try:
            with _up_to_date(workspace, fresh=fresh, progress=progress) as target:
                uri = f"{target.absolute().as_uri()}?mode=ro"
                connection.execute(f"ATTACH ? AS log{n}", (uri,))
                connection.execute(f"SELECT position FROM log{n}.upto").fetchone()
        except RefusedError:
            with closing(in_memory(workspace, progress=progress)) as made:
                connection.execute(f"ATTACH ':memory:' AS log{n}")
                connection.deserialize(made.serialize(), name=f"log{n}")
    for table in TABLES:
        parts = (f"SELECT '{x}' AS log, * FROM log{n}.{table}" for n, x in enumerate(logs))
        connection.execute(f"CREATE TEMP VIEW {table} AS {' UNION ALL '.join(parts)}")
    return connection


@contextmanager
def _up_to_date(workspace: Workspace, *, fresh: bool, progress: Progress) -> Iterator[Path]:
    """Yield the up-to-date file while holding its lock."""
    target = workspace.location.folder / NAME
    try:
        with workspace.log.locks.hold(LOCK):
            known = None if fresh else proven(target)
            if known is None:
                remove(target)
            try:
                _refresh(workspace, target, progress, known)
            except sqlite3.DatabaseError:
                # The file belongs to another log or another version; it is only a copy.
                remove(target)
                _refresh(workspace, target, progress, None)
            yield target
    except (OSError, sqlite3.Error) as error:
        problem = f"{target} cannot be written: {error}"
        raise RefusedError(problem, file=str(target)) from error


def in_memory(
    workspace: Workspace, *, progress: Progress = lambda count: None
) -> sqlite3.Connection:
    """Return the tables in memory, for a log in a read-only folder."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    _make(connection)
    _catch_up(workspace, connection, progress)
    return connection


def _refresh(
    workspace: Workspace, target: Path, progress: Progress, known: Digests | None
) -> None:
    if not target.exists():
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        os.close(os.open(target, flags, 0o600))
        target.chmod(0o600)
    connection = sqlite3.connect(target, isolation_level=None, timeout=BUSY_SECONDS)
    with closing(connection):
        connection.execute("PRAGMA trusted_schema=OFF")
        # After a power failure, the digests do not match, and the file is rebuilt.
        connection.execute("PRAGMA synchronous=OFF")
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            _make(connection)
        _check(connection)
        head = workspace.log.head().position
        is_behind = connection.execute("SELECT position <> ? FROM upto", (head,))
        noting = known is not None and is_behind.fetchone()[0]
        notes = noted_changes(connection, target) if noting else nullcontext(set[int]())
        with notes as blocks:
            changed = _catch_up(workspace, connection, progress)
    if changed:
        prove(target, known if noting else None, blocks)


def _make(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={FORMAT}")
    for statement in STATEMENTS:
        connection.execute(statement)
    connection.execute("INSERT INTO upto VALUES (0, x'')")
    connection.execute("COMMIT")


def _check(connection: sqlite3.Connection) -> None:
    """Raise `sqlite3.DatabaseError` unless the tables match the current schema."""
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    texts = {sql for (sql,) in rows}
    if (application_id, version, texts) != (APPLICATION_ID, FORMAT, set(STATEMENTS)):
        raise sqlite3.DatabaseError("not our tables")


class ReadModel:
    """The tables of the read model: a projection of the complete log."""

    version, stream = FORMAT, None

    def __init__(
        self, workspace: Workspace, connection: sqlite3.Connection, progress: Progress
    ) -> None:
        self._workspace = workspace
        self._connection = connection
        self._progress = progress

    def mark(self) -> Mark:
        """Return the log position of the tables, whose version `_check` has verified."""
        row = self._connection.execute("SELECT position, hash FROM upto").fetchone()
        return Mark(FORMAT, *row)

    def begin(self) -> None:
        """Raise `sqlite3.DatabaseError`, because the tables belong to another log."""
        raise sqlite3.DatabaseError("of another log")

    def evolve(self, events: Iterable[RecordedEvent]) -> None:
        """Add later events, which become valid when the mark is stored."""
        self._connection.execute("BEGIN IMMEDIATE")
        taking, read = _Events(self._connection), iter(events)
        while page := list(islice(read, EVENTS_A_STEP)):
            taking.take(page)
            self._progress(page[-1].position)
        for name, version in sorted(taking.touched.items()):
            write_sprint(self._workspace, self._connection, name, version)
        for stream, after in sorted(taking.sessions.items()):
            _write_session(self._connection, stream, after)

    def keep(self, mark: Mark) -> None:
        """Commit the added events with their mark."""
        self._connection.execute("UPDATE upto SET position = ?, hash = ?", mark[1:])
        self._connection.execute("COMMIT")


def _catch_up(
    workspace: Workspace, connection: sqlite3.Connection, progress: Progress
) -> bool:
    """Add later events in one transaction; return whether there were any.

    Raise `sqlite3.DatabaseError` if the tables belong to another log.
    """
    model = ReadModel(workspace, connection, progress)
    is_empty = not model.mark().place
    try:
        return catch_up(workspace.log, model) or is_empty
    except BaseException:
        connection.rollback()
        raise


def _write_session(connection: sqlite3.Connection, stream: str, after: int) -> None:
    """Add a session's events after a version, and update its summary."""
    named = {"stream": stream, "after": after}
    connection.execute(inserting("v_tool_calls"), named)
    connection.execute("DELETE FROM v_sessions WHERE session = substr(?, 9)", (stream,))
    connection.execute(inserting("v_sessions"), named)


class _Events:
    """Inserts new events into their table."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.touched: dict[str, int] = {}
        """The sprints with new events, and their latest versions."""
        self.sessions: dict[str, int] = {}
        """The session streams with new events, and the versions before these events."""
        self._connection = connection
        self._is_new = not connection.execute("SELECT position FROM upto").fetchone()[0]
        self._iterations: dict[str, int | None] = {}

    def take(self, events: list[RecordedEvent]) -> None:
        """Insert the next events.

        Raise `sqlite3.DatabaseError` if stored events have since been erased; the tables
        must then be rebuilt.
        """
        if not self._is_new and any(event.type == PayloadErased.type for event in events):
            raise sqlite3.DatabaseError("events were erased since")
        self._connection.executemany(inserting("v_events"), map(self._row, events))

    def _row(self, event: RecordedEvent) -> Row:
        payload = CODEC.today(event)
        data = {} if payload is None else msgspec.json.decode(payload)
        sprint, iteration = sprint_of(event.stream), None
        if sprint is not None:
            self.touched[sprint] = event.version
            iteration = self._iteration(event, sprint, data)
        elif session_of(event.stream) is not None:
            self.sessions.setdefault(event.stream, event.version - 1)
        phase = data.get("phase")
        said = {
            "sprint": sprint,
            "observed": int(event.observed),
            "phase": phase if isinstance(phase, str) else None,
            "iteration": iteration,
            "in_force": 1,
            "data": None if payload is None else payload.decode(),
            "hash": event.hash.hex(),
        }
        return tuple(said[n] if n in said else getattr(event, n) for n in _COLUMNS)

    def _iteration(
        self, event: RecordedEvent, sprint: str, data: dict[str, Any]
    ) -> int | None:
        """Return the iteration that an event belongs to; None after a rollback."""
        if sprint not in self._iterations:
            found = self._connection.execute(
                "SELECT iteration FROM v_events WHERE stream = ? "
                "ORDER BY version DESC LIMIT 1",
                (event.stream,),
            ).fetchone()
            self._iterations[sprint] = found[0] if found else 0
        if event.type == "iteration-started":
            self._iterations[sprint] = data.get("number")
        if event.type == "rolled-back":
            self._iterations[sprint] = None
        return self._iterations[sprint]


_HEADER, _FRAME_HEADER = 32, 24


@contextmanager
def noted_changes(connection: sqlite3.Connection, copy: Path) -> Iterator[set[int]]:
    """Yield a set that, on exit, contains the blocks changed within this context.

    The database uses write-ahead logging only within this context, so any tool can open it
    afterwards.
    """
    changed: set[int] = set()
    # No other process reads this file's write-ahead log, so it needs no shared memory.
    connection.execute("PRAGMA locking_mode=EXCLUSIVE")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA wal_autocheckpoint=0")
    yield changed
    changed |= _blocks_of(copy.with_name(f"{copy.name}-wal"))
    connection.execute("PRAGMA journal_mode=DELETE")
    # The first page contains the journal mode.
    changed.add(0)


def _blocks_of(log: Path) -> set[int]:
    """Return the numbers of all blocks that have pages in a write-ahead log.

    The format is specified in https://www.sqlite.org/fileformat2.html#the_write_ahead_log.
    """
    blocks: set[int] = set()
    with plain_file(log) as file:
        descriptor, size = file.fileno(), os.fstat(file.fileno()).st_size
        page_bytes = int.from_bytes(os.pread(descriptor, 4, 8))
        for frame in range(_HEADER, size, _FRAME_HEADER + page_bytes):
            first = (int.from_bytes(os.pread(descriptor, 4, frame)) - 1) * page_bytes
            blocks |= {first // BLOCK_BYTES, (first + page_bytes - 1) // BLOCK_BYTES}
    return blocks
