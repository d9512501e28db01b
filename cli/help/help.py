"""`sprintlog help`: the first screen, a section or a command, and all commands."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from .. import typed
from ..output import print_text
from ..typed import summary_of

PAGES = Path(__file__).with_name("pages")


class Section(NamedTuple):
    """A group of commands in the help: the summary of each by its name."""

    title: str
    first: dict[str, str]
    """On the first screen."""
    more: dict[str, str]
    """Only on the section's page and in the list of all commands."""

    @property
    def commands(self) -> dict[str, str]:
        """Return all commands; none for a page about options or terms."""
        return {**self.first, **self.more}


SECTIONS = {
    "record": Section(
        "recording the work",
        {
            "wrap": "Run a command unchanged and record it as an iteration.",
            "run": "Drive a sprint with an agent's command until it is done.",
            "iteration": "Record, measure, compare and judge iterations.",
            "note": "Add a note to the log.",
        },
        {"wait": "Wait until the limit that ended the last run has expired."},
    ),
    "look": Section(
        "progress, quality and history",
        {
            "status": "Show the progress of a sprint.",
            "list": "List the iterations: class, score, tests, errors, cost.",
            "log": "List the events.",
            "show": "Print a state file or an event, now or at an earlier point.",
            "diff": "Compare the plan at two points.",
            "why": "Show who wrote a line of a file or set a field, and why.",
            "report": "Report on a sprint or on one iteration.",
            "serve": "Serve a live view of the sprints to a browser.",
        },
        {
            "best": "Show the best iteration so far: `iteration best`.",
            "query": "Query the log with SQL.",
            "replay": "Replay a sprint and show the effect of each event.",
        },
    ),
    "go-back": Section(
        "restoring an earlier state",
        {
            "rollback": "Roll back to an earlier point: plan, files or both.",
            "undo": "Undo the latest rollback, decision or other change.",
            "restore": "Copy the files of an iteration to a folder or a branch.",
            "fork": "Create a sprint from any point of an existing one.",
            "rebuild": "Rebuild the state files from the log.",
        },
        {
            "redo": "Redo the latest undone change.",
            "adopt": "Record an observed edit of a state file as events.",
        },
    ),
    "plan": Section(
        "sprints, phases and goals",
        {
            "sprint": "Create, start, pause, resume or complete a sprint.",
            "phase": "Start, complete, fail, retry, skip or inject phases.",
            "step": "Add, inject, update or complete steps.",
            "gate": "Run the gate of a phase, or record its result.",
            "queue": "Add requests to the operator queue and decide on them.",
            "goal": "Set the goal of a sprint, or mark it as reached.",
            "compile": "Compile a SPRINT.yaml and its workflows into a sprint.",
            "import": "Import records of other tools.",
        },
        {},
    ),
    "journal": Section(
        "attempts and learnings",
        {"journal": "Record attempts, learnings and patterns; search them."},
        {
            "prepare": "Print the context for the next iteration of a PRD.",
            "recover": "Suggest how to recover from a failure of a PRD.",
        },
    ),
    "trust": Section(
        "evidence and secrets",
        {
            "verify": "Verify the log and the state files; sign and prove events.",
            "audit": "List decisions: who, when, on what evidence.",
            "redact": "Erase text from events, snapshots and caches.",
        },
        {"scan": "Search all stored data for secrets."},
    ),
    "set-up": Section(
        "the log, hooks and settings",
        {
            "init": "Create a log for this work tree and suggest what to import.",
            "config": "Show the settings and their sources; trust a file.",
            "doctor": "Diagnose problems, and salvage a damaged log.",
            "store": "Back up, copy, export, import or prune the log.",
        },
        {
            "hooks": "Install hooks that record what an agent does.",
            "extensions": "List, check and run extensions from other packages.",
            "demo": "Play a short sprint in a new folder to show every command.",
            "completion": "Print the completion script of a shell.",
            "uninstall": "Remove installed files and, on request, the log.",
            "help": "Explain a section or a command.",
        },
    ),
    "plumbing": Section(
        "commands for programs",
        {},
        {
            "next": "Show the next action of a sprint.",
            "append": "Append events: one by its type, or a stream of JSON lines.",
            "hook": "Record a hook call that an agent passes on stdin.",
            "hook-task": "Record tasks that run in parallel with iterations.",
            "schema": "Print the JSON Schema of a file or of the events.",
            "rpc": "Serve other programs over JSON-RPC.",
            "mcp": "Serve tools for agents over MCP.",
            "session": "Reconcile recorded sessions with an agent's transcripts.",
        },
    ),
    "recording": Section("options of every command that records events", {}, {}),
    "reading": Section("options of every command that prints an answer", {}, {}),
    "points": Section("naming a point in the past", {}, {}),
    "scripts": Section("guarantees for scripts", {}, {}),
}
"""Every section by its id, and the pages about options and terms."""

LINES = {name: line for one in SECTIONS.values() for name, line in one.commands.items()}
"""The summary of every command."""
FOOTER = "`sprintlog help --all` lists the others; `sprintlog help SECTION` explains one."
ALSO = {"setup": "set-up", "back": "go-back", "start": "plan", "events": "scripts"}
"""Other words for sections."""


def page(section: str) -> str:
    """Return the text of a section; a line that begins with `$` is an example."""
    return (PAGES / f"{section}.txt").read_text(encoding="utf-8")


def write_first(context: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the first screen: common commands with their summaries, by section."""
    command = context.command
    usage = " ".join(["Usage: sprintlog", *command.collect_usage_pieces(context)])
    options = ", ".join("/".join(x.opts) for x in command.get_params(context))
    lines = [usage, "", summary_of(command), "", *_first_rows(), ""]
    lines += [f"Options: {options}", FOOTER]
    formatter.write("".join(f"{line}\n" for line in lines))


def _first_rows() -> Iterator[str]:
    for section, (_, first, _) in SECTIONS.items():
        label = section.replace("-", " ")
        for row in _rows(first, width=max(map(len, LINES))):
            yield f"{label.ljust(7)}{row}"
            label = ""


def _rows(rows: dict[str, str], width: int = 0) -> Iterator[str]:
    width = width or max(map(len, rows))
    for name, line in rows.items():
        yield f"  {name.ljust(width)}  {line}"


def section_screen(section: str) -> list[str]:
    """Return the lines of a section: its text with examples, and its commands."""
    found = SECTIONS[section]
    lines = [f"{section.replace('-', ' ')}: {found.title}", ""]
    lines += page(section).rstrip("\n").split("\n")
    if found.commands:
        lines += ["", "Commands:", *_rows(found.commands)]
        lines += ["", "`sprintlog help COMMAND` shows the options of a command."]
    return lines


def whole_screen(root: click.Context) -> Iterator[str]:
    """Yield every section with its commands and subcommands, and the options."""
    yield "All commands, by section."
    for section, found in SECTIONS.items():
        if found.commands:
            yield from ("", f"{section.replace('-', ' ')}: {found.title}")
        for name, line in found.commands.items():
            yield f"  {name}  {line}"
            yield from _below(root, name)
    yield from ("", "Options:")
    shown = [p.get_help_record(root) for p in root.command.get_params(root)]
    yield from _rows(dict(row for row in shown if row))


def _below(context: click.Context, name: str) -> Iterator[str]:
    """Yield the subcommands of a command, on all levels."""
    found = typed.below(context, name)
    if found is None or not isinstance(group := found.command, click.Group):
        return
    for word in group.list_commands(found):
        command = group.get_command(found, word)
        assert command is not None
        yield f"    {' '.join(typed.words_of(found))} {word}  {summary_of(command)}"
        yield from _below(found, word)


@typed.command(
    "help",
    epilog="Examples: sprintlog help go back\n\nsprintlog help phase complete\n\n"
    "sprintlog help --all",
)
@typed.argument("words", nargs=-1, metavar="[SECTION|COMMAND…]")
@typed.option("--all", "is_whole", is_flag=True, help="List all commands, by section.")
def command(words: tuple[str, ...], is_whole: bool) -> None:
    """Explain a section or a command; without an argument, show the first screen.

    A section is explained with examples. A command is shown with its options, as by -h.
    """
    root = click.get_current_context().find_root()
    section = ALSO.get(" ".join(words), "-".join(words))
    if is_whole:
        print_text(*whole_screen(root))
    elif section in SECTIONS:
        print_text(*section_screen(section))
    else:
        print_text(*_named(root, words).get_help().split("\n"))


def _named(root: click.Context, words: Sequence[str]) -> click.Context:
    """Return the context of a command; raise `typed.UnknownWordError` if unknown."""
    context, left = root, [*words]
    while left:
        group = context.command
        if isinstance(group, typed.TypedGroup):
            left = group.current(context, left)
        word = left.pop(0)
        found = typed.below(context, word)
        if found is None:
            known = group.list_commands(context) if isinstance(group, click.Group) else []
            what = "section or command" if context is root else "command"
            among = [*known, *SECTIONS] if context is root else known
            raise typed.UnknownWordError(
                f"there is no {what} {' '.join(words)[:60]!r}", word, among
            )
        context = found
    return context
