"""The page of the tools that `sprintlog mcp` offers."""

from sprintlog.cli.mcp.answers import (
    BRIEF_NAME,
    BRIEF_SAYS,
    HOW,
    QUERY_ROWS_MAX,
    QUERY_SECONDS_MAX,
)
from sprintlog.cli.mcp.arguments import LINES_MAX
from sprintlog.cli.mcp.pages import ANSWER_BYTES_MAX
from sprintlog.cli.mcp.tools import TOOLS, Tool
from sprintlog.engine.sprint.agent.prompt import TOOL_ANSWER

HEAD = """\
# The tools of MCP

{note}

What [`sprintlog mcp`](cli.md#sprintlog-mcp) offers to an agent's program
([how to give an agent MCP tools](../how-to/give-an-agent-mcp-tools.md)): tools and one
prompt, no resources. It speaks the Model Context Protocol on standard input and output,
from version 2024-11-05 to 2026-07-28."""

ANSWERS = f"""\
## Answers

One text of JSON of at most {ANSWER_BYTES_MAX:,} bytes. Where there is more, it has `more`
and a `cursor`: the same call with that cursor answers what follows. A cursor is refused
once what was shown before it is not what it was; that of a `log` never is. `query` computes
for {QUERY_SECONDS_MAX:g} seconds and turns over {QUERY_ROWS_MAX:,} rows at most, `history`
has up to {LINES_MAX} entries an answer. Longer texts and lists inside are cut, and say so.

A refusal is an answer with `isError`: `error: …` and, where there is one, `hint: …`, as on
a terminal. Nothing was recorded then.

An event's actor is `agent:` and the name that the client gives itself, or the
`SPRINTLOG_ACTOR` of the loop that started it, if that is an agent. All that a server
records has one correlation id: `SPRINTLOG_CORRELATION`, or one of its own."""


def tools_page(note: str) -> str:
    """Return the page: each tool with its arguments, then what all have in common."""
    parts = [HEAD.format(note=note)]
    for tool in TOOLS.values():
        parts.append(f"## `{tool.name}`")
        parts.append(tool.says + ("" if tool.writes else " It only reads."))
        parts.append(_arguments(tool))
    rows = ["| `do` | what an agent does |", "|---|---|"]
    rows += [f"| `{word}` | {said} |" for word, said in HOW.items()]
    parts += ["## What `next` answers", "\n".join(rows)]
    told = "\n".join(f"> {line}" for line in TOOL_ANSWER.split("\n"))
    parts += ["The prompt for a phase ends with:", told]
    return (
        "\n\n".join([*parts, f"## The prompt `{BRIEF_NAME}`", BRIEF_SAYS, ANSWERS]) + "\n"
    )


def _arguments(tool: Tool) -> str:
    schema = tool.schema
    rows = ["| argument | is | what it is |", "|---|---|---|"]
    for name, one in schema["properties"].items():
        needed = "" if name in schema.get("required", ()) else "?"
        words = ", ".join(f"`{word}`" for word in one.get("enum", ()))
        kind = words or one.get("type", "")
        rows.append(f"| `{name}`{needed} | {kind} | {one.get('description', '')} |")
    return "\n".join(rows)
