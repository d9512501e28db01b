"""Rows as a Markdown table, in which text stays text."""

from collections.abc import Iterable, Sequence

from sprintlog.projections.exports.csv_lines import Value, text_of
from sprintlog.projections.markdown import code_cell, line


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[Value]]) -> list[str]:
    """Return rows as the lines of a Markdown table, every text as code."""
    lines = [line(columns), line(["---"] * len(columns))]
    return [*lines, *(line([_cell(value) for value in row]) for row in rows)]


def _cell(value: Value) -> str:
    """Return a value as a cell."""
    return code_cell(value) if isinstance(value, str) else text_of(value)
