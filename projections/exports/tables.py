"""Events as rows with the columns of the SQL view `v_events`, and as CSV."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from sprintlog.exports import ExportedEvent, ExportedLog
from sprintlog.formatting import visible

EVENTS_A_STEP = 512
Value = str | int | float | bytes | None

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "|", "%")
"""Characters that a spreadsheet may interpret as the start of a formula or command."""


def text_of(value: Value) -> str:
    """Return a value as text that can be printed safely; bytes become hexadecimal."""
    if value is None:
        return ""
    return value.hex() if isinstance(value, bytes) else visible(str(value))


def csv_lines(rows: Iterable[Sequence[Value]]) -> str:
    """Return rows as CSV; text is quoted, numbers are not, and null is empty.

    Text that a spreadsheet would interpret as a formula is prefixed with an apostrophe.
    """
    return "".join(f"{','.join(map(_csv_cell, row))}\n" for row in rows)


def _csv_cell(value: Value) -> str:
    if value is None or isinstance(value, int | float):
        return "" if value is None else repr(value)
    text = csv_text(text_of(value)).replace('"', '""')
    return f'"{text}"'


def csv_text(text: str) -> str:
    """Return the text in a format that no spreadsheet interprets as a formula."""
    return f"'{text}" if text.lstrip().startswith(_FORMULA) or text[:1] == "\t" else text


COLUMNS = (
    "position",
    "stream",
    "sprint",
    "version",
    "id",
    "type",
    "at",
    "recorded_at",
    "actor",
    "correlation_id",
    "causation_id",
    "observed",
    "phase",
    "iteration",
    "in_force",
    "erased",
    "data",
    "hash",
)


def csv(telling: ExportedLog) -> Iterator[bytes]:
    """Yield the table as CSV, starting with the column names; booleans are 1 or 0."""
    yield csv_lines([COLUMNS]).encode()
    rows = map(_row, telling.events())
    while page := list(islice(rows, EVENTS_A_STEP)):
        plain = [[int(x) if isinstance(x, bool) else x for x in row] for row in page]
        yield csv_lines(plain).encode()


def _row(told: ExportedEvent) -> tuple[Any, ...]:
    event = told.recorded
    phase = told.data.get("phase") if isinstance(told.data, dict) else None
    said = {
        "sprint": told.sprint,
        "actor": told.actor,
        "phase": phase if isinstance(phase, str) else None,
        "iteration": told.iteration,
        "in_force": told.is_in_force,
        "erased": told.is_erased,
        "data": None if told.data is None else msgspec.json.encode(told.data).decode(),
        "hash": event.hash.hex(),
    }
    return tuple(said[name] if name in said else getattr(event, name) for name in COLUMNS)
