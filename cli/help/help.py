"""`sprintlog help`: the first screen, a topic or a command, and all commands."""

from collections.abc import Iterator
from textwrap import wrap

import click

from .. import typed
from ..output import print_text
from ..typed import summary_of
from .topics import DAILY, LINES, TOPICS, page

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
@click.argument("words", nargs=-1, metavar="[TOPIC|COMMAND…]")
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
