"""The read model: what the log says, as plain tables in a SQLite file of their own.

It lies beside the log as `query.db`, is brought up to date when somebody asks, and can be
opened by any SQLite tool. Nothing else reads it, and one that is not byte for byte as we
left it is thrown away and made anew (ADR 0016).
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Kind
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_of
from sprintlog.engine.sprint.iterations.rollback import path as path_to
from sprintlog.engine.sprint.state.sprint import STATE_FORMAT, Sprint
from sprintlog.engine.sprint.state.tree import gate_status

from ..history.decisions import decisions
from ..runner import Mark, catch_up
from ..workspace import Workspace
from .proof import BUSY_SECONDS, is_proven, prove, remove
from .schema import APPLICATION_ID, STATEMENTS, TABLES, inserting

NAME = "query.db"
LOCK = "query.lock"
EVENTS_A_STEP = 512
FORMAT = (STATE_FORMAT + 1) % 2**31
"""Raise the summand when what is in the tables is computed in another way."""

Progress = Callable[[int], None]
Row = tuple[Any, ...]

_KNOWLEDGE = {
    tag for tag, event in CODEC.events.items() if event.kind is not Kind.EXECUTION
}


def refreshed(
    workspace: Workspace, *, fresh: bool = False, progress: Progress = lambda count: None
) -> Path:
    """Bring the file up to date with the log, and return where it is.

    Raise `RefusedError` where it cannot be written; `in_memory` does without it.
    """
    with _up_to_date(workspace, fresh=fresh, progress=progress) as target:
        return target


def opened(
    workspace: Workspace, *, fresh: bool = False, progress: Progress = lambda count: None
) -> sqlite3.Connection:
    """Return a connection that reads the file, up to date and as we left it."""
    with _up_to_date(workspace, fresh=fresh, progress=progress) as target:
        uri = f"{target.absolute().as_uri()}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None)
        # What is read from here on is what is there now.
        connection.execute("BEGIN")
        connection.execute("SELECT position FROM upto").fetchone()
        return connection


@contextmanager
def _up_to_date(workspace: Workspace, *, fresh: bool, progress: Progress) -> Iterator[Path]:
    """Give the file while nobody else of us changes it."""
    target = workspace.location.folder / NAME
    try:
        with workspace.log.locks.hold(LOCK):
            if fresh or not is_proven(target):
                remove(target)
            try:
                _refresh(workspace, target, progress)
            except sqlite3.DatabaseError:
                # Of another log, or made by other code: it is only a copy.
                remove(target)
                _refresh(workspace, target, progress)
            yield target
    except (OSError, sqlite3.Error) as error:
        raise RefusedError(f"{target} cannot be written: {error}", file=str(target)) from (
            error
        )


def in_memory(
    workspace: Workspace, *, progress: Progress = lambda count: None
) -> sqlite3.Connection:
    """Return the tables in memory, for a log in a folder that cannot be written."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    _make(connection)
    _catch_up(workspace, connection, progress)
    return connection


def _refresh(workspace: Workspace, target: Path, progress: Progress) -> None:
    if not target.exists():
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        os.close(os.open(target, flags, 0o600))
        target.chmod(0o600)
    connection = sqlite3.connect(target, isolation_level=None, timeout=BUSY_SECONDS)
    try:
        connection.execute("PRAGMA trusted_schema=OFF")
        # What a power cut makes of it is not as we left it.
        connection.execute("PRAGMA synchronous=OFF")
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            _make(connection)
        _check(connection)
        changed = _catch_up(workspace, connection, progress)
    finally:
        connection.close()
    if changed:
        prove(target)


def _make(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={FORMAT}")
    for statement in STATEMENTS:
        connection.execute(statement)
    connection.execute("INSERT INTO upto VALUES (0, x'')")
    connection.execute("COMMIT")


def _check(connection: sqlite3.Connection) -> None:
    """Raise `sqlite3.DatabaseError` unless the tables are exactly ours."""
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    texts = {sql for (sql,) in rows}
    if (application_id, version, texts) != (APPLICATION_ID, FORMAT, set(STATEMENTS)):
        raise sqlite3.DatabaseError("not our tables")


class ReadModel:
    """The tables of the read model: a projection of the whole log."""

    name, version, stream = NAME, FORMAT, None

    def __init__(
        self, workspace: Workspace, connection: sqlite3.Connection, progress: Progress
    ) -> None:
        self._workspace = workspace
        self._connection = connection
        self._progress = progress

    def mark(self) -> Mark:
        """Return up to where the tables go; `_check` has seen to their version."""
        row = self._connection.execute("SELECT position, hash FROM upto").fetchone()
        return Mark(FORMAT, *row)

    def begin(self) -> None:
        """Raise `sqlite3.DatabaseError`: the tables are of another log."""
        raise sqlite3.DatabaseError("of another log")

    def evolve(self, events: Iterable[RecordedEvent]) -> None:
        """Take in what came since; it counts once its mark is kept."""
        self._connection.execute("BEGIN IMMEDIATE")
        taking, read = _Events(self._connection), iter(events)
        while page := list(islice(read, EVENTS_A_STEP)):
            taking.take(page)
            self._progress(page[-1].position)
        for name, version in sorted(taking.touched.items()):
            rolled = name in taking.rolled
            _write_sprint(self._workspace, self._connection, name, version, rolled=rolled)

    def keep(self, mark: Mark) -> None:
        """Commit what was taken in, with its mark."""
        self._connection.execute("UPDATE upto SET position = ?, hash = ?", mark[1:])
        self._connection.execute("COMMIT")


def _catch_up(
    workspace: Workspace, connection: sqlite3.Connection, progress: Progress
) -> bool:
    """Take in what came since, in one transaction, and tell whether there is news.

    Raise `sqlite3.DatabaseError` for the tables of another log.
    """
    model = ReadModel(workspace, connection, progress)
    is_empty = not model.mark().place
    try:
        return catch_up(workspace.log, model) or is_empty
    except BaseException:
        connection.rollback()
        raise


class _Events:
    """New events on their way into their table."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.touched: dict[str, int] = {}
        """The sprints that have new events, with their last versions."""
        self.rolled: set[str] = set()
        """Those that were rolled back."""
        self._connection = connection
        self._iterations: dict[str, int | None] = {}

    def take(self, events: list[RecordedEvent]) -> None:
        """Insert events that come next."""
        self._connection.executemany(inserting("v_events"), map(self._row, events))

    def _row(self, event: RecordedEvent) -> Row:
        payload = CODEC.today(event)
        data = {} if payload is None else msgspec.json.decode(payload)
        sprint, iteration = sprint_of(event.stream), None
        if sprint is not None:
            self.touched[sprint] = event.version
            iteration = self._iteration(event, sprint, data)
        phase = data.get("phase")
        return (
            event.position,
            event.stream,
            sprint,
            event.version,
            event.id,
            event.type,
            event.at,
            event.recorded_at,
            event.actor,
            event.correlation_id,
            event.causation_id,
            event.key,
            int(event.observed),
            phase if isinstance(phase, str) else None,
            iteration,
            1,
            None if payload is None else payload.decode(),
            event.hash.hex(),
        )

    def _iteration(
        self, event: RecordedEvent, sprint: str, data: dict[str, Any]
    ) -> int | None:
        """Return the iteration that an event is in, until the next or a rollback."""
        if sprint not in self._iterations:
            found = self._connection.execute(
                "SELECT iteration FROM v_events WHERE sprint = ? ORDER BY version DESC",
                (sprint,),
            ).fetchone()
            self._iterations[sprint] = found[0] if found else 0
        if event.type == "iteration-started":
            self._iterations[sprint] = data.get("number")
        if event.type == "rolled-back":
            self.rolled.add(sprint)
            self._iterations[sprint] = None
        return self._iterations[sprint]


def _write_sprint(
    workspace: Workspace,
    connection: sqlite3.Connection,
    name: str,
    version: int,
    *,
    rolled: bool,
) -> None:
    sprint = workspace.repository.at_version(name, version)
    rollbacks = [r for r in sprint.knowledge.rollbacks if r[0] <= version]
    for table in TABLES.keys() - {"v_events"}:
        connection.execute(f"DELETE FROM {table} WHERE sprint = ?", (name,))
    connection.execute(inserting("v_sprints"), _sprint_row(sprint))
    connection.executemany(inserting("v_phases"), _phase_rows(sprint))
    events = workspace.log.read_stream(f"sprint/{name}", until=version)
    rows = (
        (name, *msgspec.structs.astuple(decision))
        for decision in decisions(events, rollbacks, version)
    )
    connection.executemany(inserting("v_decisions"), rows)
    if rolled:
        _mark(connection, name, path_to(rollbacks, version))
    for table in ("v_gates", "v_iterations"):
        sql = inserting(table)
        connection.execute(sql, (name,) * sql.count("?"))


def _sprint_row(sprint: Sprint) -> Row:
    """Return a sprint as a row of `v_sprints`."""
    document = sprint.document
    figures = document.get("stats")
    stats = figures if isinstance(figures, dict) else {}
    fields = [document.get("mode"), document.get("goal"), document.get("last-activity")]
    names = ("started-at", "completed-at", "total-phases", "completed-phases")
    fields += [stats.get(name) for name in names]
    place = sprint.plan.place
    path = place.path if place else None
    return sprint.id, sprint.version, sprint.plan.status, *map(_plain, fields), path


def _phase_rows(sprint: Sprint) -> Iterator[Row]:
    """Yield all phases, steps and sub-phases as rows of `v_phases`."""
    names = (
        *("prompt", "model", "started-at", "completed-at"),
        *("summary", "error", "next-retry-at"),
    )
    pointed = sprint.plan.pointed()
    for number, node in enumerate(sprint.plan.tree.root.walk(), start=1):
        data = node.data
        tracking = data.get("gate-tracking")
        attempts = tracking.get("attempts") if isinstance(tracking, dict) else None
        yield (
            sprint.id,
            node.address,
            node.address.rpartition("/")[0] or None,
            number,
            node.level,
            int(node.leaf >= 0),
            int(node is pointed),
            _plain(data.get("id")),
            _plain(data.get("status")),
            *(_plain(data.get(name)) for name in names),
            int(data.get("injected") is True),
            gate_status(data),
            _plain(attempts),
        )


def _plain(value: Any) -> str | int | float | None:
    """Return a value that a column takes; what has parts as JSON."""
    if value is None or isinstance(value, str | int | float):
        return value
    return msgspec.json.encode(value).decode()


def _mark(connection: sqlite3.Connection, name: str, live: list[tuple[int, int]]) -> None:
    """Say of every execution event of a sprint anew whether it counts."""
    known = ", ".join("?" * len(_KNOWLEDGE))
    connection.execute(
        f"UPDATE v_events SET in_force = 0 WHERE sprint = ? AND type NOT IN ({known})",
        (name, *_KNOWLEDGE),
    )
    connection.executemany(
        "UPDATE v_events SET in_force = 1 WHERE sprint = ? AND version BETWEEN ? AND ?",
        ((name, first, last) for first, last in live),
    )
