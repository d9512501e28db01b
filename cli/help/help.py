"""The `sprintlog help` command: the first screen, a section, a command or all commands."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from .. import typed
from ..output import print_text

PAGES = Path(__file__).with_name("pages")


class Section(NamedTuple):
    """A group of commands in the help, with the commands' summaries by name."""

    title: str
    first: dict[str, str]
    """Commands on the first screen."""
    more: dict[str, str]
    """Commands shown only on the section's page and in the list of all commands."""

    @property
    def commands(self) -> dict[str, str]:
        """Return all commands; a page about options or terms has none."""
        return {**self.first, **self.more}


def _sections() -> dict[str, Section]:
    """Return the sections in the table; commands indented by 4 spaces go into `more`."""
    found = {}
    for block in PAGES.with_name("sections.txt").read_text(encoding="utf-8").split("\n\n"):
        head, *rows = block.strip().split("\n")
        first: dict[str, str] = {}
        more: dict[str, str] = {}
        for row in rows:
            name, _, line = row.strip().partition(" ")
            (more if row.startswith("    ") else first)[name] = line.strip()
        name, _, title = head.partition(": ")
        found[name] = Section(title, first, more)
    return found


SECTIONS = _sections()
"""All sections by id, including the pages about options and terms."""
LINES = {name: line for one in SECTIONS.values() for name, line in one.commands.items()}
"""The summary of every command."""
FOOTER = "`sprintlog help --all` lists the others; `sprintlog help SECTION` explains one."
ALSO = {"setup": "set-up", "back": "go-back", "start": "plan", "events": "scripts"}
"""Aliases of sections."""


def page(section: str) -> str:
    """Return the text of a section, in which lines starting with `$` are examples."""
    return (PAGES / f"{section}.txt").read_text(encoding="utf-8")


def write_first(context: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the first screen: the common commands with their summaries, by section."""
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


def summary_of(command: click.Command) -> str:
    """Return the first paragraph of a command's help, on one line."""
    return " ".join((command.help or "").partition("\n\n")[0].split())


def section_screen(section: str) -> list[str]:
    """Return the lines of a section: its text with examples, then its commands."""
    found = SECTIONS[section]
    lines = [f"{section.replace('-', ' ')}: {found.title}", ""]
    lines += page(section).rstrip("\n").split("\n")
    if found.commands:
        lines += ["", "Commands:", *_rows(found.commands)]
        lines += ["", "`sprintlog help COMMAND` shows the options of a command."]
    return lines


def whole_screen(root: click.Context) -> Iterator[str]:
    """Yield all sections with their commands and subcommands, then the options."""
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
    """Yield the subcommands of a command at all levels."""
    found = typed.below(context, name)
    if found is None or not isinstance(group := found.command, click.Group):
        return
    for word in group.list_commands(found):
        command = group.get_command(found, word)
        assert command is not None
        yield f"    {' '.join(typed.words_of(found))} {word}  {summary_of(command)}"
        yield from _below(found, word)


@typed.command("help")
@typed.argument("words", nargs=-1, metavar="[SECTION|COMMAND…]")
@typed.flag("--all", "is_whole", help="List all commands, by section.")
def command(words: tuple[str, ...], is_whole: bool) -> None:
    """Explain a section or a command; without an argument, show the first screen.

    A section is explained with examples. A command is shown with its options, as with -h.

    Examples: sprintlog help go back

    sprintlog help phase complete

    sprintlog help --all
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
    """Return a command's context; raise `typed.UnknownWordError` for an unknown command."""
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
