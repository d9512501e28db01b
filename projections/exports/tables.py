"""Events as rows of one table, with the columns of `v_events` of `query`, and as CSV."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from sprintlog.engine.service.streams.catalogue import sprint_of

from ..markdown import visible
from ..sql.schema import Row, row_of
from .exported_events import EVENTS_A_STEP, LogTold, ToldEvent, who

Value = str | int | float | bytes | None

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "|", "%")
"""What a spreadsheet takes for the beginning of a formula or a command."""


def text_of(value: Value) -> str:
    """Return a value as text that cannot act on a terminal; bytes in hexadecimal."""
    if value is None:
        return ""
    return value.hex() if isinstance(value, bytes) else visible(str(value))


def csv_lines(rows: Iterable[Sequence[Value]]) -> str:
    """Return rows as CSV: every text in quotes, numbers bare, nothing where null is.

    What a spreadsheet would take for a formula gets an apostrophe before it.
    """
    return "".join(f"{','.join(map(_csv_cell, row))}\n" for row in rows)


def _csv_cell(value: Value) -> str:
    if value is None or isinstance(value, int | float):
        return "" if value is None else repr(value)
    text = csv_text(text_of(value)).replace('"', '""')
    return f'"{text}"'


def csv_text(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.lstrip().startswith(_FORMULA) or text[:1] == "\t" else text


NUMBER, TEXT, TIME, TRUTH = "number", "text", "time", "truth"

COLUMNS: dict[str, str] = {
    "position": NUMBER,
    "stream": TEXT,
    "sprint": TEXT,
    "version": NUMBER,
    "id": TEXT,
    "type": TEXT,
    "at": TIME,
    "recorded_at": TIME,
    "actor": TEXT,
    "correlation_id": TEXT,
    "causation_id": TEXT,
    "observed": TRUTH,
    "phase": TEXT,
    "iteration": NUMBER,
    "in_force": TRUTH,
    "erased": TRUTH,
    "data": TEXT,
    "hash": TEXT,
}
"""Each column, and what is in it; times are texts in CSV and moments in Parquet."""


def rows(telling: LogTold, step: int = EVENTS_A_STEP) -> Iterator[list[Row]]:
    """Yield the events of a log as rows, many at a time."""
    found = map(_row, telling.events())
    while page := list(islice(found, step)):
        yield page


def csv(telling: LogTold) -> Iterator[bytes]:
    """Yield the table as CSV, the names of its columns first; truth is 1 or 0."""
    yield csv_lines([tuple(COLUMNS)]).encode()
    for page in rows(telling):
        plain = [[int(x) if isinstance(x, bool) else x for x in row] for row in page]
        yield csv_lines(plain).encode()


def _row(told: ToldEvent) -> Row:
    event = told.recorded
    phase = told.data.get("phase") if isinstance(told.data, dict) else None
    said = {
        "sprint": sprint_of(event.stream),
        "actor": who(event),
        "phase": phase if isinstance(phase, str) else None,
        "iteration": told.iteration,
        "in_force": told.is_in_force,
        "erased": told.is_erased,
        "data": None if told.data is None else msgspec.json.encode(told.data).decode(),
        "hash": event.hash.hex(),
    }
    return row_of(event, COLUMNS, said)
