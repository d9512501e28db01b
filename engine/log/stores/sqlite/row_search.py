"""Looking for bytes in the rows of a SQLite database, whatever its tables are."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

Ask = Callable[[str, Sequence[Any]], Iterable[Any]]
"""Runs one statement with its parameters and answers its rows."""


PARAMETERS_MAX = 500
"""SQLite allows a condition to be no deeper than 1,000."""


def tables_of(ask: Ask) -> list[str]:
    """Return the names of the tables that keep rows of their own."""
    rows = ask(
        "SELECT name FROM sqlite_master WHERE type = 'table'"
        " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        " AND sql NOT LIKE 'CREATE VIRTUAL %' ORDER BY name",
        (),
    )
    return [str(name) for (name,) in rows]


def rows_holding(ask: Ask, forms: Sequence[bytes], tables: Iterable[str]) -> Iterator[str]:
    """Yield table and first columns of every row in which some column holds a form."""
    for table in tables:
        about = ask(f'PRAGMA table_info("{table}")', ())
        columns = [f'"{name}"' for _, name, *_ in about]
        first = ", ".join(columns[:2])
        found: dict[str, None] = {}
        step = max(PARAMETERS_MAX // len(columns), 1)
        for start in range(0, len(forms), step):
            some = forms[start : start + step]
            holds = " OR ".join(
                f"instr(CAST({column} AS BLOB), ?)" for _ in some for column in columns
            )
            given = [form for form in some for _ in columns]
            rows = ask(f'SELECT {first} FROM "{table}" WHERE {holds}', given)
            found |= dict.fromkeys(" ".join(map(str, (table, *row))) for row in rows)
        yield from found
