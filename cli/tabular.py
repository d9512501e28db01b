"""Rows as CSV and as a Markdown table, in which text stays text."""

import re
from collections.abc import Iterable, Sequence

from .output import visible

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


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[Value]]) -> list[str]:
    """Return rows as the lines of a Markdown table, every text as code."""
    lines = [_line(columns), _line(["---"] * len(columns))]
    lines += [_line([_cell(value) for value in row]) for row in rows]
    return lines


def code(text: str) -> str:
    """Return a text as code, in which nothing means anything: no link, tag or mention.

    The marks around it are longer than any in it.
    """
    shown = text_of(text)
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    marks = "`" * (longest + 1)
    is_padded = shown[:1] in ("`", " ") or shown[-1:] in ("`", " ")
    return f"{marks} {shown} {marks}" if is_padded else f"{marks}{shown}{marks}"


def _cell(value: Value) -> str:
    """Return a value as a cell; before a bar there is an odd number of backslashes.

    An even number would let the cell, and with it the code, end at that bar.
    """
    if not isinstance(value, str):
        return text_of(value)
    if not value:
        return ""
    return re.sub(r"\\*\|", lambda m: "\\" * (2 - len(m[0]) % 2) + m[0], code(value))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
