"""Rows as CSV, in which text stays text."""

from collections.abc import Iterable, Sequence

from ..markdown import visible

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
