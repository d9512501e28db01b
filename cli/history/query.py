"""The `sprintlog query` command: SQL queries on the log."""

import sys
from collections.abc import Sequence
from itertools import chain

import click
from msgspec.structs import astuple

from sprintlog.engine.errors import InvalidInputError, SprintlogError
from sprintlog.engine.readable import check_utf8
from sprintlog.projections.exports.tables import csv_lines, text_of
from sprintlog.projections.sql.query import SQL_CHARS_MAX, QueryAnswer, Value, ask
from sprintlog.projections.sql.read_model import refreshed
from sprintlog.projections.sql.schema import TABLES

from .. import output, typed
from ..context import open_logs, with_json, with_logs
from ..screen.pager import paged
from ..screen.tables import FittedTable
from ..screen.terminal import terminal

SECONDS_MAX = 10.0


@typed.command("query")
@typed.argument("sql", required=False)
@typed.flag("--csv", "as_csv", help="Print CSV with a header.")
@typed.flag("--tables", help="List the tables and their columns.")
@typed.option(
    "--timeout",
    type=click.FloatRange(0.001, 86_400),
    default=SECONDS_MAX,
    metavar="SECONDS",
    help="Timeout in seconds. [10]",
)
@typed.flag("--fresh", help="Rebuild the tables from the log.")
@typed.flag("--file", "says_file", help="Print only the path of query.db.")
@with_logs
@with_json
def command(
    sql: str | None,
    as_csv: bool,
    tables: bool,
    timeout: float,
    fresh: bool,
    says_file: bool,
    logs: dict[str, str],
    as_json: bool,
) -> None:
    """Run a SELECT on events, sprints, phases, gates, iterations and decisions.

    The command updates and reads query.db, a file in the log's folder that any SQLite tool
    can open. The query cannot change the log. If SQL is -, the query is read from stdin.
    --json prints each row as an object on one line. With --log, the tables contain the rows
    of all specified logs, and their first column `log` is the log's name.

    Examples: sprintlog query 'SELECT type, count(*) FROM v_events GROUP BY type'

    sprintlog query 'SELECT log, count(*) FROM v_sprints GROUP BY 1' --log . --log ../web
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv cannot be combined")
    if logs and says_file:
        raise click.UsageError("--log and --file cannot be combined")
    if (sql is None) + (not tables) + (not says_file) != 2:
        raise click.UsageError("specify a SELECT statement, --tables or --file")
    if tables:
        _print_tables(as_json=as_json)
        return
    progress = output.counting("events read")
    with open_logs(logs) as opened:
        if sql is None:
            path = str(refreshed(opened[""], fresh=fresh, progress=progress))
            output.print_json({"file": path}) if as_json else output.print_text(path)
            return
        asked = opened if logs else opened[""]
        with ask(
            asked, _read(sql), seconds_max=timeout, fresh=fresh, progress=progress
        ) as found:
            try:
                show = _print_csv if as_csv else _print_table
                (_print_json if as_json else show)(found)
            except SprintlogError as error:
                _print_cut(error, found, as_json=as_json, as_csv=as_csv)
                raise


def _read(sql: str) -> str:
    if sql == "-":
        with open(0, encoding="utf-8", errors="surrogateescape", closefd=False) as file:
            sql = file.read(SQL_CHARS_MAX + 1)
    if len(sql) > SQL_CHARS_MAX:
        raise InvalidInputError(f"is longer than {SQL_CHARS_MAX} characters", field="SQL")
    check_utf8(sql, "SQL")
    return sql


def _print_cut(
    error: SprintlogError, found: QueryAnswer, *, as_json: bool, as_csv: bool
) -> None:
    """Terminate an incomplete answer with a line that cannot be mistaken for a row.

    The reader of a pipe sees neither stderr nor the exit status.
    """
    text = f"error: the answer is incomplete: {error.message}"
    if as_json:
        output.print_json(output.error_answer(error))
    elif as_csv:
        # With one cell more than the header, the line cannot be mistaken for a row.
        output.print_bytes(csv_lines([[text, *[None] * len(found.columns)]]).encode())
    elif not sys.stdout.isatty():
        output.print_text(text)


def _print_json(found: QueryAnswer) -> None:
    names = _told_apart(found.columns)
    for row in chain.from_iterable(found.pages):
        shown = (value.hex() if isinstance(value, bytes) else value for value in row)
        output.print_json(dict(zip(names, shown, strict=True)))


def _told_apart(columns: Sequence[str]) -> list[str]:
    """Return the column names, modified so that none occurs twice."""
    names: list[str] = []
    for column in columns:
        name, number = column, 1
        while name in names:
            number += 1
            name = f"{column}_{number}"
        names.append(name)
    return names


def _print_csv(found: QueryAnswer) -> None:
    output.print_bytes(csv_lines([found.columns]).encode())
    for rows in found.pages:
        output.print_bytes(csv_lines(rows).encode())


def _print_table(found: QueryAnswer) -> None:
    made: FittedTable | None = None
    # Request the first page before starting the pager, so that the pager shows no errors.
    pages = iter(found.pages)
    rows = next(pages, None)
    with paged():
        while rows is not None:
            head: list[Sequence[Value]] = [] if made else [found.columns]
            made = made or FittedTable(terminal(), right=_numbers(rows))
            shown = [[text_of(value) for value in row] for row in [*head, *rows]]
            output.print_text(*made.lines(shown))
            rows = next(pages, None)
        if made is None:
            output.print_text(*output.table([found.columns]))
    if made and made.is_cut:
        output.note("cut to fit: use --csv, --json or a pipe to see all columns")


def _numbers(rows: Sequence[Sequence[Value]]) -> frozenset[int]:
    """Return the indices of numeric columns, which are right-aligned."""
    return frozenset(
        index
        for index, column in enumerate(zip(*rows, strict=True))
        if all(value is None or isinstance(value, int | float) for value in column)
    )


def _print_tables(*, as_json: bool) -> None:
    if as_json:
        for one in TABLES.values():
            output.print_json(one)
        return
    for name, one in TABLES.items():
        output.print_text(f"{name}: {one.meaning}")
        columns = output.table([*map(astuple, one.columns)])
        output.print_text(*(f"  {line}" for line in columns))
