"""`sprintlog help`: the first screen, a topic or a command, and all commands."""

from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

import click

from .. import typed
from ..output import print_text
from ..typed import summary_of

PAGES = Path(__file__).with_name("pages")


class Topic(NamedTuple):
    """A group of commands in the help."""

    title: str
    commands: dict[str, str]
    """The summary of each command by its name; empty for a topic about options or terms."""


TOPICS = {
    "beginning": Topic(
        "getting started",
        {
            "init": "Create a log for this work tree and suggest what to import.",
            "help": "Explain a topic or a command.",
            "demo": "Play a short sprint in a new folder to show every command.",
            "import": "Import records of other tools, or an exported log.",
            "compile": "Compile a SPRINT.yaml and its workflows into a sprint.",
            "sprint": "Create, start, pause, resume or complete a sprint.",
            "goal": "Set the goal of a sprint, or mark it as reached.",
        },
    ),
    "working": Topic(
        "recording the work",
        {
            "wrap": "Run a command unchanged and record it as an iteration.",
            "hook": "Record a hook call that an agent passes on stdin.",
            "run": "Drive a sprint with an agent's command until it is done.",
            "next": "Show the next action of a sprint.",
            "status": "Show the progress of a sprint.",
            "phase": "Start, complete, fail, retry, skip or inject phases.",
            "step": "Add, inject, update or complete steps.",
            "gate": "Run the gate of a phase, or record its result.",
            "queue": "Add requests to the operator queue and decide on them.",
            "hook-task": "Record tasks that run in parallel with iterations.",
            "note": "Add a note to the log.",
            "append": "Append events: one by its type, or a stream of JSON lines.",
        },
    ),
    "judging": Topic(
        "measuring, comparing and judging iterations",
        {
            "iteration": "Record, measure and list iterations.",
            "best": "Show the best iteration so far.",
            "compare": "Compare iterations side by side.",
            "decide": "Decide whether to continue, stop, roll back or ask.",
            "alerts": "List regressions and other alerts.",
            "report": "Report on a sprint or on one iteration.",
            "rules": "Show or change the rules for judging iterations.",
        },
    ),
    "lessons": Topic(
        "a journal of attempts and learnings",
        {
            "entry": "Record the outcome of an iteration of a PRD.",
            "learning": "Add, use, list or retire learnings.",
            "pattern": "Add or list patterns of the codebase.",
            "prepare": "Print the context for the next iteration of a PRD.",
            "recover": "Suggest how to recover from a failure of a PRD.",
            "journal": "Open, search or summarize the journal.",
        },
    ),
    "looking-back": Topic(
        "the history: who did what, when and why",
        {
            "log": "List the events.",
            "show": "Print a state file or an event, now or at an earlier point.",
            "diff": "Compare the plan at two points.",
            "blame": "Show who set a field, when and why.",
            "why": "Show which iteration wrote a line of a file, and why.",
            "replay": "Replay a sprint and show the effect of each event.",
            "audit": "List decisions: who, when, on what evidence.",
            "query": "Query the log with SQL.",
            "serve": "Serve a live view of the sprints to a browser.",
        },
    ),
    "going-back": Topic(
        "restoring an earlier state",
        {
            "rollback": "Roll back to an earlier point: plan, files or both.",
            "undo": "Undo the latest rollback, decision or other change.",
            "redo": "Redo the latest undone change.",
            "extract": "Copy the files of an iteration to a folder or a branch.",
            "fork": "Create a sprint from any point of an existing one.",
            "adopt": "Record an observed edit of a state file as events.",
        },
    ),
    "agents": Topic(
        "connecting agents and other programs",
        {
            "wait": "Wait until the limit that ended the agent's last run has expired.",
            "hooks": "Install hooks that record what an agent does.",
            "session": "Reconcile recorded sessions with an agent's transcripts.",
            "mcp": "Serve tools for agents over MCP.",
            "rpc": "Serve other programs over JSON-RPC.",
        },
    ),
    "upkeep": Topic(
        "maintaining the log",
        {
            "rebuild": "Rebuild the state files from the log.",
            "verify": "Verify the log, its payloads and the state files.",
            "doctor": "Diagnose problems, and salvage a damaged log.",
            "backup": "Back up the log to one verified file.",
            "copy": "Copy a log, or its new events, to another store.",
            "export": "Export the whole log, or convert it for other tools.",
            "schema": "Print the JSON Schema of a file or of the events.",
            "config": "Show the settings and their sources; trust a file.",
            "prune": "Remove old snapshots to free their space.",
            "redact": "Erase text from events, snapshots and caches.",
            "scan": "Search all stored data for secrets.",
            "head": "Print or sign the head of the log.",
            "prove": "Write a proof of one event to a file.",
            "completion": "Print the completion script of a shell.",
            "uninstall": "Remove installed files and, on request, the log.",
            "extensions": "List, check and run extensions from other packages.",
        },
    ),
    "recording": Topic("options of every command that records events", {}),
    "reading": Topic("options of every command that prints an answer", {}),
    "points": Topic("naming a point in the past", {}),
    "scripts": Topic("guarantees for scripts", {}),
}
"""Every topic by its id."""

DAILY = (
    "init",
    "wrap",
    "run",
    "status",
    "log",
    "best",
    "rollback",
    "undo",
    "diff",
    "blame",
)
"""Commands that the first screen summarizes; it lists the others by topic."""

LINES = {name: line for topic in TOPICS.values() for name, line in topic.commands.items()}
"""The summary of every command."""


def page(topic: str) -> str:
    """Return the text of a topic; a line that begins with `$` is an example."""
    return (PAGES / f"{topic}.txt").read_text(encoding="utf-8")


WIDTH = 80
WIDTH_OF_IDS = max(map(len, TOPICS))


def write_first(context: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the first screen: common commands with summaries, the others by topic."""
    command = context.command
    command.format_usage(context, formatter)
    command.format_help_text(context, formatter)
    by_topic = "By topic (`sprintlog help TOPIC` explains one with examples):"
    lines = ["", *_daily(), "", by_topic, *_by_topic(), "", *_options(context)]
    formatter.write("".join(f"{line}\n" for line in lines))
    command.format_epilog(context, formatter)


def _daily() -> Iterator[str]:
    yield "Common commands:"
    yield from _rows({name: LINES[name] for name in DAILY})


def _by_topic() -> Iterator[str]:
    """Yield the topics with the names of their less common commands."""
    for topic, (title, commands) in TOPICS.items():
        names = ", ".join(name for name in commands if name not in DAILY)
        start = f"  {topic.ljust(WIDTH_OF_IDS)}  "
        indent = " " * len(start)
        yield from wrap(
            names or title, WIDTH, initial_indent=start, subsequent_indent=indent,
            break_on_hyphens=False,
        )  # fmt: skip


def _options(context: click.Context) -> Iterator[str]:
    shown = [p.get_help_record(context) for p in context.command.get_params(context)]
    yield "Options:"
    yield from _rows(dict(row for row in shown if row))


def _rows(rows: dict[str, str]) -> Iterator[str]:
    width = max(map(len, rows))
    for name, line in rows.items():
        yield f"  {name.ljust(width)}  {line}"


def topic_screen(topic: str) -> list[str]:
    """Return the lines of a topic: its text with examples, and its commands."""
    title, commands = TOPICS[topic]
    lines = [f"{topic}: {title}", "", *page(topic).rstrip("\n").split("\n")]
    if commands:
        lines += ["", "Commands:", *_rows(commands)]
        lines += ["", "`sprintlog help COMMAND` shows the options of a command."]
    return lines


def whole_screen(root: click.Context) -> Iterator[str]:
    """Yield every topic with its commands and subcommands."""
    yield "All commands, by topic."
    for topic, (title, commands) in TOPICS.items():
        if not commands:
            continue
        yield from ("", f"{topic}: {title}")
        for name, line in commands.items():
            yield f"  {name}  {line}"
            yield from _below(root, name)


def _below(root: click.Context, name: str) -> Iterator[str]:
    group = root.command
    assert isinstance(group, click.Group)
    command = group.get_command(root, name)
    if not isinstance(command, click.Group):
        return
    context = click.Context(command, parent=root, info_name=name)
    for below in command.list_commands(context):
        found = command.get_command(context, below)
        assert found is not None
        yield f"    {name} {below}  {summary_of(found)}"


ALSO = {"plan": "beginning", "start": "beginning", "loop": "working", "events": "scripts"}
"""Other words for topics."""


@typed.command(
    "help",
    epilog="Examples: sprintlog help going-back\n\nsprintlog help phase complete\n\n"
    "sprintlog help --all",
)
@typed.argument("words", nargs=-1, metavar="[TOPIC|COMMAND…]")
@typed.option("--all", "is_whole", is_flag=True, help="List all commands, by topic.")
def command(words: tuple[str, ...], is_whole: bool) -> None:
    """Explain a topic or a command; without an argument, show the first screen.

    A topic is explained with examples. A command is shown with its options, as by -h.
    """
    root = click.get_current_context().find_root()
    if is_whole:
        print_text(*whole_screen(root))
    elif len(words) == 1 and (topic := ALSO.get(words[0], words[0])) in TOPICS:
        print_text(*topic_screen(topic))
    else:
        print_text(*_named(root, words).get_help().split("\n"))


def _named(root: click.Context, words: tuple[str, ...]) -> click.Context:
    """Return the context of a command; raise `typed.UnknownWordError` if unknown."""
    context = root
    for word in words:
        group = context.command
        known = group.list_commands(context) if isinstance(group, click.Group) else []
        found = group.get_command(context, word) if isinstance(group, click.Group) else None
        if found is None:
            what = "topic or command" if context is root else "command"
            among = [*known, *TOPICS] if context is root else known
            raise typed.UnknownWordError(
                f"there is no {what} {' '.join(words)[:60]!r}", word, among
            )
        context = click.Context(
            found, info_name=word, parent=context, **found.context_settings
        )
    return context
