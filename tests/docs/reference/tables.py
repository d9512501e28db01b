"""The page of the tables that can be asked with SQL."""

from sprintlog.projections.history.decisions import KINDS
from sprintlog.projections.sql.schema import TABLES

HEAD = """\
# Tables to ask with SQL

{note}

What `sprintlog query` answers about, and what the file that `query --file` names holds.
Times are ISO 8601 in UTC, so they sort as text; truth is 1 or 0. What an event says is in
`v_events.data`, by the fields of [events.md](events.md): `json_extract(data, '$.summary')`.
The tables are a copy; the truth is [the log](envelope.md)."""


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
