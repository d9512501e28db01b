"""The page of the SQL tables."""

from sprintlog.projections.history.decisions import KINDS
from sprintlog.projections.sql.schema import TABLES

HEAD = """\
# SQL tables

{note}

This page lists the tables for `sprintlog query`, and of the file for `query --file`. They
are a copy of [the log](envelope.md). Times are ISO 8601 in UTC, so they sort as text;
booleans are 1 or
0. `v_events.data` has the fields of [each event](events.md), for `json_extract(data,
   '$.summary')`."""


def query_page(note: str) -> str:
    """Return the page of the read model's tables."""
    parts = [HEAD.format(note=note)]
    for name, table in TABLES.items():
        rows = [f"| `{c.name}` | {c.type.lower()} | {c.meaning} |" for c in table.columns]
        head = ["| column | type | meaning |", "|---|---|---|"]
        parts.append(f"## `{name}`\n\n{table.meaning}")
        parts.append("\n".join([*head, *rows]))
    rows = [f"| `{kind}` | {meaning} |" for kind, meaning in KINDS.items()]
    parts.append("## Kinds of decisions")
    parts.append("\n".join(["| kind | meaning |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"
