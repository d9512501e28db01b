"""Events as the rows of one table, named as `v_events` of `query` names its columns."""

from collections.abc import Iterator
from itertools import islice

import msgspec

from sprintlog.engine.service.streams.catalogue import sprint_of

from ..sql.schema import Row, row_of
from .csv_lines import csv_lines
from .told import EVENTS_A_STEP, LogTold, ToldEvent, who

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
