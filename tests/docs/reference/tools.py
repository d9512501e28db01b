"""The page of the MCP tools."""

from sprintlog.cli.mcp.answers import HOW, QUERY_ROWS_MAX, QUERY_SECONDS_MAX
from sprintlog.cli.mcp.arguments import LINES_MAX
from sprintlog.cli.mcp.pages import ANSWER_BYTES_MAX
from sprintlog.cli.mcp.resources import ITERATION, PROMPTS, RESOURCES, SCHEME
from sprintlog.cli.mcp.tools import TOOLS, Tool
from sprintlog.engine.sprint.agent.prompt import TOOL_ANSWER

HEAD = """\
# MCP tools

{note}

This page lists what [`sprintlog mcp`](cli.md#sprintlog-mcp) offers to agents ([how to
give an agent MCP tools](../how-to/give-an-agent-mcp-tools.md)). It supports the Model
Context Protocol from version 2024-11-05 to 2026-07-28, on standard input and output."""

CUT = """\
Texts are cut to about 64 KiB. The server does not offer skills (SEP-2640), because none of
Claude Code 2.1.197, Codex 0.171.0, Copilot 1.0.102 and Gemini CLI 0.61.0 requests them:
`sprintlog setup` and the [plugins](../clients/README.md) install the skill as a file."""

ANSWERS = f"""\
## Answers

An answer is one JSON text of at most {ANSWER_BYTES_MAX:,} bytes. A longer one has `more`
and a `cursor`; the same call with the cursor returns the rest. A cursor is refused if the
earlier part has changed, except for `log`. `query` runs for at most {QUERY_SECONDS_MAX:g}
seconds and {QUERY_ROWS_MAX:,} rows, `history` returns up to {LINES_MAX} entries. Longer
texts and lists are cut and marked.

A refusal is an answer with `isError`: `error: …` and possibly `hint: …`. Nothing was
recorded.

The actor is `agent:` and the client's name, or the `SPRINTLOG_ACTOR` of the loop that
started the server if that is an agent. Events of a server share one correlation id:
`SPRINTLOG_CORRELATION`, or a new one."""


def tools_page(note: str) -> str:
    """Return the page: each tool with its arguments, then the common parts."""
    parts = [HEAD.format(note=note)]
    for tool in TOOLS.values():
        parts.append(f"## `{tool.name}`")
        parts.append(tool.says + ("" if tool.writes else " Read-only."))
        parts.append(_arguments(tool))
    rows = ["| `do` | action of the agent |", "|---|---|"]
    rows += [f"| `{word}` | {said} |" for word, said in HOW.items()]
    parts += ["## Answers of `next`", "\n".join(rows)]
    told = "\n".join(f"> {line}" for line in TOOL_ANSWER.split("\n"))
    parts += ["The prompt for a phase ends with:", told]
    rows = ["| resource | contents |", "|---|---|"]
    rows += [f"| `{SCHEME}{name}` | {says} |" for name, (says, _) in RESOURCES.items()]
    rows.append(f"| `{ITERATION['uriTemplate']}` | One iteration. |")
    parts += ["## Resources", "\n".join(rows), CUT]
    rows = ["| prompt | purpose |", "|---|---|"]
    rows += [f"| `{name}` | {says} |" for name, (says, _) in PROMPTS.items()]
    parts += ["## Prompts", "\n".join(rows), ANSWERS]
    return "\n\n".join(parts) + "\n"


def _arguments(tool: Tool) -> str:
    schema = tool.schema
    rows = ["| argument | type | meaning |", "|---|---|---|"]
    for name, one in schema["properties"].items():
        needed = "" if name in schema.get("required", ()) else "?"
        words = ", ".join(f"`{word}`" for word in one.get("enum", ()))
        kind = words or one.get("type", "")
        rows.append(f"| `{name}`{needed} | {kind} | {one.get('description', '')} |")
    return "\n".join(rows)
