"""The tables of the read model, with descriptions of their columns (`tables.sql`)."""

import re
from itertools import starmap
from typing import Any

from msgspec import Struct

from sprintlog.engine.own_files import own_text

Row = tuple[Any, ...]
APPLICATION_ID = 0x73706C71
"""`splq` in the header of the database."""


class ColumnAnswer(Struct, frozen=True):
    """A column that can be queried."""

    name: str
    type: str
    meaning: str


class TableAnswer(Struct, frozen=True):
    """A table that can be queried."""

    table: str
    meaning: str
    columns: list[ColumnAnswer]


_TEXT = own_text(__name__, "tables.sql")
_TABLE = re.compile(r"-- (.+)\nCREATE TABLE (v_\w+) \(\n((?:  .+\n)+)")
_COLUMN = re.compile(r"  (\w+) ([A-Z]+), -- (.+)")

TABLES = {
    name: TableAnswer(name, meaning, [*starmap(ColumnAnswer, _COLUMN.findall(columns))])
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
