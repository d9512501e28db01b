"""The page of all formats, and the table of the data that each agent provides."""

import inspect
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import click

from sprintlog.cli.begin.import_ import command as importing
from sprintlog.cli.importers.markdown import READERS as MARKDOWN
from sprintlog.cli.upkeep.export import FORMATS as EXPORTS
from sprintlog.engine.adapters.agents.items import (
    AgentEnded,
    Called,
    CallsCounted,
    FileChanged,
    Item,
    Said,
)
from sprintlog.engine.adapters.agents.output import READERS, OutputReader
from sprintlog.engine.adapters.measurement.formats import FORMATS as REPORTS
from sprintlog.engine.adapters.measurement.formats import TABLE

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "agents"
AGENTS = tuple(dict.fromkeys(name for name, _ in READERS))
COLUMNS = ("outcome", "final answer", "tokens", "cost", "tool calls", "changed files")
TRANSCRIPTS = re.compile(r"-(?:chat|transcript|rollout|session|events|plugin|subagent)\b")
"""Names of the fixtures that an agent keeps on disk; the others are printed."""
_TOKENS = re.compile(r".*_tokens")

IGNORED = {
    "antigravity": "thinking, output of tools, permissions",
    "claude": "thinking, output of tools except exit codes, hooks, system messages",
    "codex": "reasoning, output of tools except exit codes, world state, token limits",
    "copilot": "reasoning, system prompt, output of tools, lines marked `ephemeral`",
    "copilot-chat": "thinking, output of tools, references, edits, votes, `promptTokens`",
    "cursor": "thinking, output of tools",
    "droid": "reasoning, output of tools except exit codes, credits",
    "gemini": "thoughts, output of tools except exit codes, `$set` patches",
    "opencode": "reasoning, output of tools, snapshots",
    "pi": "thinking, output of tools except exit codes, summaries, partial messages",
}
"""The data of each agent that is not recorded."""
REPORTED = {
    "junit": ("test cases by outcome", "output, properties, durations"),
    "nunit": ("test cases by outcome", "output, categories, durations"),
    "trx": ("test cases by outcome", "output, run settings, durations"),
    "jest": ("test cases by outcome", "messages, snapshots, durations"),
    "playwright": ("test cases by outcome", "attachments, steps, durations"),
    "go": ("test cases by outcome", "output, durations"),
    "cargo": ("test cases by outcome", "output, durations, benchmarks"),
    "tap": ("test cases by outcome", "diagnostics"),
    "clover": ("covered and all statements", "methods, conditionals, complexity"),
    "jacoco": ("covered and all lines", "instructions, branches, methods, classes"),
    "cobertura": ("covered and all lines, line rate", "branches, complexity"),
    "lcov": ("covered and all lines", "functions, branches"),
    "coverage.py": ("covered and all lines, percentage", "contexts, functions, classes"),
    "sarif": ("errors and warnings", "messages, fixes, flows"),
    "ruff": ("errors and warnings", "messages, fixes"),
    "eslint": ("errors and warnings", "messages, fixes"),
    "tsc": ("errors", "messages"),
    "mypy": ("errors", "messages, notes"),
    "agent": ("tokens, cost, turns, duration", "everything else"),
    "json": ("numbers at the declared pointers", "everything else"),
}
"""The data of each report that is imported, and the data that is ignored."""
LEFT_OUT = {
    "aiwg": "output and analysis of each iteration",
    "journal": "unknown keys, which are reported",
    "orchestrator": "diagnostics, memories, scratch files",
    "prd": "nothing: unknown keys stay on the phase or the sprint",
    "progress": "nothing: unknown keys are preserved",
    "ralph-loop": "the id of the session",
    "transcript": "prompts, output of tools; see the agents above",
}
"""The data that each importer ignores; what it imports is in its description."""
STATE = (
    ("`PROGRESS.yaml`, `.checksum`", "written and read", "the whole document of a sprint"),
    (
        "`progress.json`",
        "written and read",
        "entries, learnings and patterns of the journal",
    ),
    (
        "files of a loop id in `.aiwg`",
        "written",
        "tracker, measurements and report of a loop",
    ),
    ("`SPRINT.yaml`, workflows", "read", "the definition that `compile` makes a plan of"),
    ("plans, `--data`, rules", "read", "YAML or JSON, every field validated"),
    ("`sprintlog.toml`", "read", "settings; unknown keys are refused"),
    (
        "`HEAD.txt`, proofs",
        "written and read",
        "the head of the log, and proofs of an event",
    ),
    ("hook settings of agents", "written and read", "entries of sprintlog; others remain"),
)
EXPORTED = {
    "log": "every event with its envelope; `store import` restores the log",
    "cloudevents": "CloudEvents 1.0, one JSON object a line",
    "otlp-json": "traces of OpenTelemetry",
    "csv": "one table of all events",
    "openmetrics": "figures of each sprint",
}


HEAD = """\
The formats that sprintlog reads and writes, with the imported and the ignored data.
Ignored data is not an error. Lines that are not understood are counted; those of
transcripts and other loops are also kept in `not-understood` in the folder of the log."""


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _table(head: tuple[str, ...], rows: list[str]) -> str:
    return "\n".join([_row(*head), "|" + "---|" * len(head), *rows])


@cache
def provided() -> dict[tuple[str, str], tuple[bool, ...]]:
    """Return the data of each agent and form, as decoded from all its fixtures."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path in sorted(FIXTURES.glob("*.json*")):
        owner = max((x for x in AGENTS if path.name.startswith(f"{x}-")), key=len)
        kind = "transcript" if TRANSCRIPTS.search(path.name) else "output"
        found[owner, kind] |= _data_of(path.read_bytes())
    return {
        (agent, kind): tuple(column in found[agent, kind] for column in COLUMNS)
        for agent in sorted(AGENTS)
        for kind in ("output", "transcript")
        if (agent, kind) in found
    }


def _data_of(content: bytes) -> set[str]:
    """Return the names of the data that is decoded from an output."""
    items: list[Item] = []
    hearing = OutputReader(also=lambda _, item: items.append(item))
    hearing.feed(content)
    answer, _ = hearing.heard()
    usage: Any = answer.usage
    figures = {x for x in usage.__struct_fields__ if getattr(usage, x)} if usage else set()
    return {
        *(["outcome"] if any(isinstance(x, AgentEnded) for x in items) else []),
        *(["final answer"] if answer.text and any(map(_is_said, items)) else []),
        *(["tokens"] if any(map(_TOKENS.fullmatch, figures)) else []),
        *(["cost"] if "cost_usd" in figures else []),
        *(
            ["tool calls"]
            if any(isinstance(x, Called | CallsCounted) for x in items)
            else []
        ),
        *(["changed files"] if any(isinstance(x, FileChanged) for x in items) else []),
    }


def _is_said(item: Item) -> bool:
    return isinstance(item, Said) or (isinstance(item, AgentEnded) and bool(item.text))


def agents_table() -> str:
    """Return the data that each agent provides."""
    rows = [
        _row(f"`{agent}`", kind, *("yes" if one else "no" for one in data))
        for (agent, kind), data in provided().items()
    ]
    return _table(("agent", "form", *COLUMNS), rows)


def pages(note: str) -> dict[str, Callable[[], str]]:
    """Return the pages of this module by their places."""
    return {"formats.md": lambda: formats_page(note)}


def formats_page(note: str) -> str:
    """Return the page about every format that is read or written."""
    parts = [
        "# Formats",
        note,
        HEAD,
        "## Agents",
        "The table is computed from recorded files; [agents.md](agents.md) states\n"
        "commands, versions and places. A figure that is not stated is unknown, never 0.",
        agents_table(),
        "Sessions, models and versions are recorded if they are stated. Not recorded:",
        _table(("agent", "ignored"), [_row(f"`{x}`", IGNORED[x]) for x in sorted(AGENTS)]),
        "## Reports",
        "Read by `--report` and from their usual places; [reports.md](reports.md) states\n"
        "how they are counted.",
        _table(
            ("format", "imported", "ignored", "usual places"),
            [_row(f"`{x}`", *REPORTED[x], _places(x)) for x in REPORTS],
        ),
        "## Files of other tools",
        "`sprintlog import PATH` detects the format; each importer is also a subcommand.\n"
        "Extensions add [importers](../how-to/add-an-importer.md).",
        _table(("`import`", "imported", "ignored"), [*_importers()]),
        *_task_lists(),
        "## State files and input",
        _table(("file", "direction", "data"), [_row(*one) for one in STATE]),
        "## Exports",
        "`store export --format` writes them; only `--with-content` includes text.",
        _table(("format", "data"), [_row(f"`{x}`", EXPORTED[x]) for x in EXPORTS]),
    ]
    return "\n\n".join(parts) + "\n"


def _places(name: str) -> str:
    places = TABLE[name].places.split() if name in TABLE else []
    return ", ".join(f"`{place}`" for place in places)


def _importers() -> list[str]:
    assert isinstance(importing, click.Group)
    described = {name: inspect.getdoc(read) for name, read in MARKDOWN.items()}
    described |= {name: one.help for name, one in sorted(importing.commands.items())}
    return [
        _row(f"`{name}`", _imported(text or ""), _ignored(name))
        for name, text in described.items()
    ]


def _imported(text: str) -> str:
    summary = " ".join(text.partition("\n\n")[0].split())
    return re.sub(r"^(?:Import|Return) ", "", summary).removesuffix(".")


def _ignored(name: str) -> str:
    return LEFT_OUT.get(name, "")


def _task_lists() -> list[str]:
    """Return the table of the shapes of task lists."""
    file = resources.files("sprintlog.cli.importers") / "task_lists.toml"
    if not file.is_file():
        return []
    shapes = tomllib.loads(file.read_text("utf-8"))["shapes"]
    rows = [
        _row(f"`{one['key']}`" if one["key"] else "the file", one["noun"], one["files"])
        for one in shapes
    ]
    return [
        "Task lists are read in these shapes; an unknown key stays on the phase.",
        _table(("list", "its leaves", "files"), rows),
    ]
