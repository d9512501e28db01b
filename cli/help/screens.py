"""The screens of the help: the first screen, a topic, and all commands."""

from collections.abc import Iterator
from textwrap import wrap

import click

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
