"""The tables of the read model, with descriptions of their columns (`tables.sql`)."""

import re
from itertools import starmap
from typing import Any, NamedTuple

from sprintlog.engine.own_files import own_text

Row = tuple[Any, ...]
APPLICATION_ID = 0x73706C71
"""`splq` in the header of the database."""


class Column(NamedTuple):
    """A column of a table."""

    name: str
    type: str
    """The declared type of the column."""
    meaning: str


class Table(NamedTuple):
    """A table that can be queried."""

    meaning: str
    columns: tuple[Column, ...]


_TEXT = own_text(__name__, "tables.sql")
_TABLE = re.compile(r"-- (.+)\nCREATE TABLE (v_\w+) \(\n((?:  .+\n)+)")
_COLUMN = re.compile(r"  (\w+) ([A-Z]+), -- (.+)")

TABLES = {
    name: Table(meaning, tuple(starmap(Column, _COLUMN.findall(columns))))
    for meaning, name, columns in _TABLE.findall(_TEXT)
}
"""All tables that can be queried, by name."""

_SQL = re.sub(r"(?m) ?-- .+$", "", _TEXT)
_ALL = [statement.strip() for statement in _SQL.split(";")]
STATEMENTS = tuple(one for one in _ALL if one.startswith("CREATE"))
"""The statements that create the file."""
_FILLING = {one.split()[2]: one for one in _ALL if one.startswith("INSERT")}
"""By table, if its rows derive from `v_events`."""


def inserting(name: str) -> str:
    """Return the statement that adds one row, or all new rows of a sprint, to a table."""
    marks = ", ".join("?" * len(TABLES[name].columns))
    return _FILLING.get(name, f"INSERT INTO {name} VALUES ({marks})")
