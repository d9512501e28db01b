"""Every module with a terminal command can be reached from the command line."""

from collections.abc import Iterator

import click

from sprintlog.cli.main import COMMANDS, FOLDERS, cli, module_of
from sprintlog.cli.typed import TypedGroup

from .tree import ROOT


def lazy_modules(group: TypedGroup) -> Iterator[str]:
    """Yield the modules of the commands that a group and its subgroups import."""
    context = click.Context(group)
    for name in group.list_commands(context):
        yield group.lazy.get(name, "").partition(":")[0]
        if isinstance(command := group.get_command(context, name), TypedGroup):
            yield from lazy_modules(command)


def test_no_terminal_command_is_forgotten() -> None:
    """A module that defines a command is listed in the table of commands or in a group."""
    made = {
        f"{path.parent.name}.{path.stem}"
        for folder in FOLDERS
        for path in (ROOT / "cli" / folder).glob("*.py")
        if "\ndef command(" in path.read_text(encoding="utf-8")
    }
    assert isinstance(cli, TypedGroup)
    named = {module_of(name) for name in COMMANDS} | {"work.injection", *lazy_modules(cli)}
    assert made - named == set(), "name each in FOLDERS, `cli/main.py`, or in a group"
