"""Questions in SQL to the read model: reading only, bounded in time and memory."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from sprintlog.engine.errors import InvalidInputError, RefusedError

from ..workspace import Workspace
from .read_model import in_memory, opened

SQL_CHARS_MAX = 100_000
VALUE_BYTES_MAX = 32 * 1024 * 1024
CACHE_KIB_MAX = 64 * 1024
HEAP_BYTES_MAX = 512 * 1024 * 1024
"""What SQLite may hold in all of the process, sorting and recursion included."""
STEPS_PER_LOOK = 10_000
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: VALUE_BYTES_MAX,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: SQL_CHARS_MAX,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 250_000,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
_FORBIDDEN_FUNCTIONS = {"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"}

Value = str | int | float | bytes | None


class Answer(NamedTuple):
    """What a question is answered with; the rows come as they are read."""

    columns: list[str]
    rows: Iterator[tuple[Value, ...]]


@contextmanager
def ask(
    workspace: Workspace,
    sql: str,
    *,
    seconds_max: float,
    fresh: bool = False,
    progress: Callable[[int], None] = lambda count: None,
) -> Iterator[Answer]:
    """Give the answer to one SELECT about the log as it is now.

    Raise `InvalidInputError` for what is no SQL, `RefusedError` for what does more than
    read, and for a question that takes longer than it may.
    """
    connection = _open(workspace, fresh=fresh, progress=progress)
    try:
        _restrict(connection, seconds_max)
        with _explaining(seconds_max):
            cursor = connection.execute(sql)
        if cursor.description is None:
            raise InvalidInputError("give a SELECT", field="SQL")
        columns = [column[0] for column in cursor.description]
        yield Answer(columns, _rows(cursor, seconds_max))
    finally:
        connection.close()


def _rows(cursor: sqlite3.Cursor, seconds_max: float) -> Iterator[tuple[Value, ...]]:
    while True:
        with _explaining(seconds_max):
            rows = cursor.fetchmany(256)
        if not rows:
            return
        yield from rows


def _open(
    workspace: Workspace, *, fresh: bool, progress: Callable[[int], None]
) -> sqlite3.Connection:
    try:
        return opened(workspace, fresh=fresh, progress=progress)
    except RefusedError:
        # A log in a folder that cannot be written is read all the same.
        return in_memory(workspace, progress=progress)


def _restrict(connection: sqlite3.Connection, seconds_max: float) -> None:
    """Leave a connection no more than to read, for a while, in bounded memory."""
    for statement in (
        "PRAGMA trusted_schema=OFF",
        "PRAGMA query_only=ON",
        "PRAGMA temp_store=MEMORY",
        f"PRAGMA cache_size=-{CACHE_KIB_MAX}",
        f"PRAGMA hard_heap_limit={HEAP_BYTES_MAX}",
    ):
        connection.execute(statement)
    connection.text_factory = lambda text: text.decode(errors="replace")
    for limit, value in _LIMITS.items():
        connection.setlimit(limit, value)
    end = time.monotonic() + seconds_max
    connection.set_progress_handler(lambda: time.monotonic() > end, STEPS_PER_LOOK)
    connection.set_authorizer(_may)


def _may(
    action: int,
    first: str | None,
    second: str | None,
    database: str | None,
    source: str | None,
) -> int:
    is_function = action == sqlite3.SQLITE_FUNCTION
    if action in _ALLOWED and not (is_function and second in _FORBIDDEN_FUNCTIONS):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


@contextmanager
def _explaining(seconds_max: float) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, MemoryError, OverflowError) as error:
        text = " ".join(str(error).split())
        if "interrupted" in text:
            raise RefusedError(
                f"the question took longer than {seconds_max:g} seconds",
                hint="--timeout allows it more",
            ) from error
        if "not authorized" in text or "prohibited" in text:
            raise RefusedError(
                f"a question only reads the tables of the record ({text})",
                hint="`sprintlog query --tables` lists them",
            ) from error
        if isinstance(error, MemoryError):
            raise RefusedError("the question needs too much memory") from error
        raise InvalidInputError(
            text, field="SQL", hint="`sprintlog query --tables` lists tables and columns"
        ) from error
