"""Click's options and commands, with deferred processing of help texts.

Click cleans up each help text when an option is created, and translates its own messages.
Both steps would take a recording command longer than reading the log, so help is processed
only on request.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from sprintlog.engine.errors import SprintlogError

from . import settings

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Function = TypeVar("Function", bound=Callable[..., Any])


class _Completed(click.Parameter):
    """A parameter whose values are completed by `ctx.obj` or else by its type."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Return the completions for a value."""
        found = ctx.obj(ctx, self, incomplete)
        return super().shell_complete(ctx, incomplete) if found is None else found


class TypedArgument(_Completed, click.Argument):
    """An argument that completes its values."""


class TypedOption(_Completed, click.Option):
    """An option with unprocessed help; `topic` is the help page that explains it."""

    def __init__(self, names: Sequence[str], **given: Any) -> None:
        help_text, self.setting = given.pop("help", None), given.pop("setting", None)
        self.topic: str | None = given.pop("topic", None)
        self.may_be_empty: bool = given.pop("may_be_empty", False)
        super().__init__(names, **given)
        self.help = help_text


class ValueOption(TypedOption):
    """An option whose value defaults to a `setting` in the settings file.

    A value without visible characters is rejected unless `may_be_empty` is set.
    """

    def consume_value(
        self, ctx: click.Context, opts: Mapping[str, Any]
    ) -> tuple[Any, ParameterSource]:
        """Return the given value, or else the settings file's value, or else the default.

        Raise `click.BadParameter` for an empty value on the command line.
        """
        value, source = super().consume_value(ctx, opts)
        if source is ParameterSource.COMMANDLINE and not self.may_be_empty:
            _check_not_empty(value, ctx, self)
        is_asked = source is ParameterSource.DEFAULT and not ctx.resilient_parsing
        if self.setting is not None and is_asked:
            told = settings.setting(self.setting)
            if told is not None:
                return told, ParameterSource.DEFAULT_MAP
        return value, source


def _check_not_empty(value: Any, ctx: click.Context, of: click.Parameter) -> None:
    for text in value if isinstance(value, list | tuple) else (value,):
        if isinstance(text, str) and not text.strip():
            raise click.BadParameter("the value must not be empty", ctx, of)


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


class UnknownWordError(click.UsageError):
    """Raised for an unknown word; contains the known words."""

    def __init__(
        self, said: str, word: str, known: Iterable[str], ctx: click.Context | None = None
    ) -> None:
        super().__init__(said, ctx)
        self.unknown = word, known


class Choice(click.Choice[str]):
    """A choice of words; the error for an unknown word suggests a similar word."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the word; raise `UnknownWordError` if it is unknown."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            said, known = error.format_message(), map(str, self.choices)
            raise UnknownWordError(said, str(value), known, ctx) from error


READING, RECORDING = "reading", "recording"
"""The help topics about options shared by many commands."""
COLOR, UTC_TIMES, NO_PAGER = "sprintlog.color", "sprintlog.utc", "sprintlog.no_pager"
"""Keys in the context's `meta` for the global output options."""
FIELDS = "sprintlog.fields"
"""The key for the requested fields of an answer."""


SHOWN = (
    TypedOption(
        ("--color",),
        type=Choice(("auto", "always", "never")),
        help="When to use colours. [auto: on a terminal]",
    ),
    TypedOption(("--utc",), is_flag=True, help="Show times as ISO 8601 in UTC."),
    TypedOption(("--no-pager",), is_flag=True, help="Do not page long output."),
)
"""The global options, shown in the root help; they may precede or follow a command."""
HIDDEN = [*map(copy, SHOWN)]
for _option in HIDDEN:
    _option.hidden, _option.topic = True, READING


def words_of(context: click.Context) -> list[str]:
    """Return the words of a command's name, without the program's name."""
    before = context.parent
    return [] if before is None else [*words_of(before), str(context.info_name)]


def below(context: click.Context, word: str) -> click.Context | None:
    """Return the context of a subcommand, or None if there is no such subcommand."""
    group = context.command
    command = group.get_command(context, word) if isinstance(group, click.Group) else None
    if command is None:
        return None
    given = {"parent": context, **command.context_settings}
    return click.Context(command, info_name=word, **given)


def sort_options(
    params: list[click.Parameter],
) -> tuple[list[click.Parameter], list[TypedOption], str]:
    """Return a command's own options, and its options on the help page of a topic."""
    options = [p for p in params if isinstance(p, TypedOption)]
    topics = {option.topic for option in options}
    topic = RECORDING if RECORDING in topics else READING
    shared = [option for option in options if option.topic in (topic, READING)]
    if topic == RECORDING:
        # A point in the log is not the time of an event, so that option is not shared.
        shared = [option for option in shared if option.metavar != "POINT"]
    known = {id(option) for option in shared}
    return [p for p in params if id(p) not in known], shared, topic


class _Typed(click.Command):
    """A command or group with the common options; its docstring ends with examples."""

    def __init__(self, *positional: Any, **given: Any) -> None:
        super().__init__(*positional, **given)
        said, word, examples = (self.help or "").partition("Example")
        self.help = said.rstrip()
        self.epilog = f"{word}{examples}".rstrip() or self.epilog

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters; options of all commands are shown in the root's help."""
        is_root = ctx.parent is None and isinstance(self, click.Group)
        shown = SHOWN if is_root or ctx.resilient_parsing else HIDDEN
        return [*self.params, *shown, HELP]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; output options given before a subcommand apply to it."""
        left = super().parse_args(ctx, args)
        for key in (COLOR, UTC_TIMES, NO_PAGER):
            if value := ctx.params.pop(key.removeprefix("sprintlog."), None):
                ctx.meta[key] = value
        return left


class TypedCommand(_Typed):
    """A command whose help lists the options that it shares with other commands."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command.

        If recording is off, nothing is recorded. If the user specified a sprint, hints in
        errors specify it as well. Raise `click.UsageError` for --fields without --json, or
        for an argument without visible characters; arguments for another program are passed
        on unchanged.
        """
        for one in self.params:
            if isinstance(one, click.Argument) and one.type is click.STRING:
                _check_not_empty(ctx.params[str(one.name)], ctx, one)
        if FIELDS in ctx.meta and not ctx.params.get("as_json"):
            raise click.UsageError("--fields requires --json", ctx)
        when_off = getattr(self.callback, "when_off", None)
        if when_off is not None and (off := settings.off_by()) is not None:
            return when_off(off, **ctx.params)
        try:
            return super().invoke(ctx)
        except SprintlogError as error:
            # Imported here: only errors have hints.
            from .named_sprint import with_it

            error.hint = with_it(error.hint)
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, and where the other options are explained."""
        own, shared, topic = sort_options(self.get_params(ctx))
        options = [p for p in own if isinstance(p, click.Option)]
        shown = [p.get_help_record(ctx) for p in options]
        with formatter.section("Options"):
            formatter.write_dl([row for row in shown if row])
        first = [option.opts[0] for option in shared]
        names = ", ".join(f"{x} (with --json)" if x == "--fields" else x for x in first)
        formatter.write_paragraph()
        formatter.write_text(
            f"{topic.capitalize()} options, the same everywhere: {names}; "
            f"`sprintlog help {topic}` explains them."
        )


class TypedGroup(_Typed, click.Group):
    """A command group; `lazy` commands (`module:function`) are imported on first use."""

    command_class = TypedCommand

    def __init__(
        self, *positional: Any, lazy: Mapping[str, str] | None = None, **given: Any
    ) -> None:
        super().__init__(*positional, **given)
        self.lazy = lazy or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in alphabetical order."""
        return sorted([*super().list_commands(ctx), *self.lazy])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command in the group; a lazy command is imported first."""
        if cmd_name not in self.lazy:
            return super().get_command(ctx, cmd_name)
        return self.imported(self.lazy[cmd_name])

    def imported(self, name: str) -> click.Command:
        """Import and return the command specified as `module:function`."""
        module, _, function = name.partition(":")
        command: click.Command = getattr(import_module(f".{module}", __package__), function)
        # Versions of click differ in handling a group without a subcommand.
        command.no_args_is_help = False
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Return the group's completions, or none after an unknown command."""
        is_unknown = bool(ctx._protected_args or ctx.args)
        return [] if is_unknown else super().shell_complete(ctx, incomplete)

    def current(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Return the words with an alias replaced; raise an error for a former name."""
        if args[0] in self.list_commands(ctx):
            return args
        # Imported here: only unknown commands require it.
        from .suggest import current

        return current(ctx.find_root(), [*words_of(ctx), *args])[len(words_of(ctx)) :]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command specified by the first word; raise `UnknownWordError`."""
        args = self.current(ctx, args)
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchOption:
            raise
        except click.UsageError as error:
            # Imported here: only unknown commands require it.
            from .suggest import elsewhere

            known = self.list_commands(ctx)
            said = f"there is no command {args[0]!r}{elsewhere(ctx, args[0])}"
            raise UnknownWordError(said, args[0], known, ctx) from error


class CommandGroup(TypedCommand, TypedGroup):
    """A group that acts as a command if no subcommand is given."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the group's options and commands."""
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


def argument(*names: str, **given: Any) -> Callable[[Function], Function]:
    """Add an argument to a command."""
    return click.argument(*names, cls=TypedArgument, **given)


def path_argument(*names: str, **given: Any) -> Callable[[Function], Function]:
    """Add an argument whose value is a path."""
    return argument(*names, type=click.Path(path_type=Path), **given)


def option(*names: str, **given: Any) -> Callable[[Function], Function]:
    """Add an option to a command; several commands can share the option."""
    return _adding(ValueOption(names, **given))


def flag(*names: str, **given: Any) -> Callable[[Function], Function]:
    """Add an option without a value."""
    return _adding(TypedOption(names, is_flag=True, **given))


def _adding(made: TypedOption) -> Callable[[Function], Function]:
    return click.option(cls=lambda *_, **__: made)  # type: ignore[arg-type]


def choice_option(
    *names: str, of: Sequence[str], **given: Any
) -> Callable[[Function], Function]:
    """Add an option whose value is one of several words."""
    return option(*names, type=Choice(of), **given)


def list_option(*names: str, **given: Any) -> Callable[[Function], Function]:
    """Add an option that can be repeated."""
    return option(*names, multiple=True, **given)


def several(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Return a decorator that adds several options, in the order shown in the help."""

    def add(function: Function) -> Function:
        for one in reversed(options):
            function = one(function)
        return function

    return add


def file_option(
    *names: str, metavar: str = "FILE", **given: Any
) -> Callable[[Function], Function]:
    """Add an option whose value is a path."""
    return option(*names, type=click.Path(path_type=Path), metavar=metavar, **given)


def folder_option(*names: str, **given: Any) -> Callable[[Function], Function]:
    """Add an option whose value is the path of a folder."""
    return file_option(*names, metavar="DIR", **given)


def number_option(*names: str, least: int, **given: Any) -> Callable[[Function], Function]:
    """Add an option with an integer value of at least `least`."""
    return option(*names, type=click.IntRange(least), metavar="N", **given)


def seconds_option(
    *names: str, takes_zero: bool = True, **given: Any
) -> Callable[[Function], Function]:
    """Add an option whose value is a duration in seconds."""
    kind = click.FloatRange(min=0, min_open=not takes_zero)
    return option(*names, type=kind, metavar="SECONDS", **given)


def command(
    name: str | None = None, cls: type[TypedCommand] = TypedCommand, **given: Any
) -> Callable[..., TypedCommand]:
    """Turn a function into a command."""
    return click.command(name, cls=cls, **given)


def group(
    name: str | None = None, cls: type[TypedGroup] | None = None, **given: Any
) -> Callable[..., TypedGroup]:
    """Turn a function into a group."""
    kind = CommandGroup if given.get("invoke_without_command") else TypedGroup
    return click.group(name, cls=cls or kind, **given)
