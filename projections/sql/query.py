"""Read-only SQL queries of the read model, with limits on time and memory."""

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import NamedTuple

from sprintlog.engine.errors import InvalidInputError, RefusedError

from ..workspace import Workspace
from .read_model import in_memory, joined, opened

SQL_CHARS_MAX = 100_000
COLUMNS_MAX = 200
VALUE_BYTES_MAX = ROW_BYTES_MAX = 16 * 1024 * 1024
"""Twice the largest document that an event can hold."""
CACHE_KIB_MAX = 64 * 1024
HEAP_BYTES_MAX = 256 * 1024 * 1024
"""The memory limit for SQLite in the whole process, including sorting and recursion."""
PAGE_ROWS_MAX, PAGE_BYTES_MAX = 256, 1024 * 1024
"""The maximum number of rows and bytes that are read before they are passed on."""
STEPS_PER_LOOK = 10_000
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: VALUE_BYTES_MAX,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: SQL_CHARS_MAX,
    sqlite3.SQLITE_LIMIT_COLUMN: COLUMNS_MAX,
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


Row = tuple[Value, ...]


class QueryAnswer(NamedTuple):
    """The answer to a query; rows are read lazily."""

    columns: list[str]
    pages: Iterator[list[Row]]
    """Pages of rows, read one at a time; reading may raise an error."""


class _Budget:
    """A limit on computing time, excluding the time spent by the reader of an answer."""

    def __init__(self, seconds_max: float) -> None:
        self._seconds_max = self._left = seconds_max
        self._since = 0.0

    @contextmanager
    def spent(self) -> Iterator[None]:
        """Count the time spent in this context, and translate SQLite errors."""
        self._since = time.monotonic()
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, MemoryError, OverflowError) as error:
            raise _explained(error, self._seconds_max) from error
        finally:
            self._left -= time.monotonic() - self._since

    def is_over(self) -> bool:
        """Return whether the time limit has been exceeded."""
        return time.monotonic() - self._since > self._left


@contextmanager
def ask(
    workspace: Workspace | Mapping[str, Workspace],
    sql: str,
    *,
    seconds_max: float,
    fresh: bool = False,
    progress: Callable[[int], None] = lambda count: None,
) -> Iterator[QueryAnswer]:
    """Yield the answer to a SELECT statement about a log, or about several logs by name.

    Raise `InvalidInputError` for invalid SQL, and `RefusedError` if a query does more than
    read or requires too much time or memory.
    """
    if isinstance(workspace, Mapping):
        connection = joined(workspace, fresh=fresh, progress=progress)
    else:
        try:
            connection = opened(workspace, fresh=fresh, progress=progress)
        except RefusedError:
            # Logs in read-only folders can be queried, too.
            connection = in_memory(workspace, progress=progress)
    budget = _Budget(seconds_max)
    with closing(connection):
        _restrict(connection, budget)
        with budget.spent():
            cursor = connection.execute(sql)
        if cursor.description is None:
            raise InvalidInputError("must be a SELECT", field="SQL")
        columns = [column[0] for column in cursor.description]
        yield QueryAnswer(columns, _pages(cursor, budget))


def _pages(cursor: sqlite3.Cursor, budget: _Budget) -> Iterator[list[Row]]:
    while True:
        with budget.spent():
            page = _page(cursor)
        if not page:
            return
        yield page


def _page(cursor: sqlite3.Cursor) -> list[Row]:
    page: list[Row] = []
    held = 0
    while len(page) < PAGE_ROWS_MAX and held < PAGE_BYTES_MAX:
        row: Row | None = cursor.fetchone()
        if row is None:
            break
        held += (size := sum(len(v) for v in row if isinstance(v, str | bytes)))
        if size > ROW_BYTES_MAX:
            raise MemoryError
        page.append(row)
    return page


def _restrict(connection: sqlite3.Connection, budget: _Budget) -> None:
    """Restrict a connection to reading, with limits on time and memory."""
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
    connection.set_progress_handler(budget.is_over, STEPS_PER_LOOK)
    connection.set_authorizer(_may)


def _may(action: int, _: str | None, name: str | None, *places: str | None) -> int:
    is_function = action == sqlite3.SQLITE_FUNCTION
    if action in _ALLOWED and not (is_function and name in _FORBIDDEN_FUNCTIONS):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _explained(error: Exception, seconds_max: float) -> RefusedError | InvalidInputError:
    """Return the sprintlog error that corresponds to a SQLite error."""
    text = " ".join(str(error).split())
    if "interrupted" in text:
        return RefusedError(
            f"the query took longer than {seconds_max:g} seconds",
            hint="use --timeout to allow more time",
        )
    if "not authorized" in text or "prohibited" in text:
        return RefusedError(
            f"a query can only read sprintlog's tables ({text})",
            hint="run `sprintlog query --tables` to list the tables",
        )
    if isinstance(error, MemoryError):
        return RefusedError("the query needs too much memory")
    return InvalidInputError(
        text, field="SQL", hint="run `sprintlog query --tables` to list tables and columns"
    )
