"""What can be typed: options and commands as click has them, but for their help.

Click cleans every help text up when an option is made, and translates its own. Both would
take a recording command longer than reading the log, so help waits until it is asked for.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


class TypedOption(click.Option):
    """An option whose help stays as it is written here."""

    def __init__(self, names: Sequence[str], **given: Any) -> None:
        help_text = given.pop("help", None)
        super().__init__(names, **given)
        self.help = help_text


def _show_help(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        click.echo(context.get_help(), color=context.color)
        context.exit()


HELP = TypedOption(
    ("-h", "--help", "_help"),
    help="Show this message and exit.",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_help,
)
"""The option that every command has."""


class TypedCommand(click.Command):
    """A command with our option for its help."""

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """Return the same option for every command."""
        return HELP


class TypedGroup(click.Group):
    """A group of such commands."""

    command_class = TypedCommand

    def get_help_option(self, ctx: click.Context) -> click.Option:
        """Return the same option for every command."""
        return HELP


def option(*names: str, **given: Any) -> Callable[[Function], Function]:
    """Add an option to a command; several commands have the same one."""
    made = TypedOption(names, **given)
    return click.option(*names, cls=lambda *_, **__: made)  # type: ignore[arg-type]


def command(name: str | None = None, **given: Any) -> Callable[..., TypedCommand]:
    """Make a command of a function."""
    return click.command(name, cls=TypedCommand, **given)


def group(
    name: str | None = None, cls: type[TypedGroup] = TypedGroup, **given: Any
) -> Callable[..., TypedGroup]:
    """Make a group of a function."""
    return click.group(name, cls=cls, **given)
