"""The entry point: a command group that imports a command only when it is used."""

import _thread
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from sprintlog.engine.errors import InvalidInputError, SprintlogError

from . import typed
from .output import USAGE, clear_counting, print_error, print_text

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

FOLDERS = {
    "begin": ("init", "setup", "demo", "import", "compile", "sprint", "goal"),
    "work": (
        *("next", "run", "status", "phase", "step", "gate", "queue", "hook-task"),
        *("note", "append", "wrap", "wait", "hook"),
    ),
    "racing": ("race",),
    "iterations": ("iteration", "list", "report"),
    "journal": ("journal", "prepare", "recover"),
    "history": ("log", "show", "diff", "replay", "audit", "query", "why", "serve"),
    "back": ("rollback", "undo", "redo", "restore", "fork", "adopt"),
    "agents": ("session", "watch", "mcp", "rpc", "uninstall"),
    "upkeep": (
        *("rebuild", "verify", "doctor", "store", "schema", "config", "redact", "scan"),
        "completion",
    ),
    "extending": ("extensions",),
    "help": ("help",),
}
"""The commands by the folder of their modules; help.py describes the commands."""

COMMANDS = {name: folder for folder, names in FOLDERS.items() for name in names}
"""The folder of each command's module."""
MODULES = {"import": "import_", "list": "judgements"}
"""The modules whose names differ from their commands."""


def module_of(command: str) -> str:
    """Return the module that contains a command, relative to `sprintlog.cli`."""
    return f"{COMMANDS[command]}.{MODULES.get(command, command.replace('-', '_'))}"


class LazyGroup(typed.TypedGroup):
    """A group that knows its commands' names and imports only the requested command."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name not in COMMANDS:
            # Imported here: only unknown commands require it.
            from .programs import program_command

            return program_command(cmd_name)
        return self.imported(f"{module_of(cmd_name)}:command")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Return the completions of a command without importing any command."""
        if ctx._protected_args or ctx.args or incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        from .completion import commands

        return commands(incomplete)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first screen without importing any command."""
        from .help.help import write_first

        write_first(ctx, formatter)


def _show_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        # Imported here: it reads the installed packages.
        from importlib.metadata import version

        print_text(f"sprintlog, version {version('sprintlog')}")
        context.exit()


@typed.group(
    cls=LazyGroup,
    no_args_is_help=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96},
)
@typed.flag(
    "-v",
    "--verbose",
    envvar="SPRINTLOG_VERBOSE",
    help="Log details to stderr. [SPRINTLOG_VERBOSE]",
)
@typed.flag(
    "--version",
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show the version and exit.",
)
def cli(verbose: bool) -> None:
    """Record every agent run in an append-only log; rebuild state files from it."""
    if click.get_current_context().invoked_subcommand is None:
        # Imported here: it is shown only if no command is given.
        from .work.overview import print_overview

        print_overview()


def main() -> None:
    """Run the command line; all errors are handled here."""
    try:
        _hold_standard_files()
        if "_SPRINTLOG_COMPLETE" in os.environ:
            # Imported here: only shells request completions.
            from .completion import print_offers

            print_offers(cli)
            return
        try:
            with _interrupts_between_imports():
                cli.main(prog_name="sprintlog", standalone_mode=False)
        finally:
            clear_counting()
    except SprintlogError as error:
        sys.exit(print_error(error, as_json="--json" in sys.argv))
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except click.ClickException as error:
        sys.exit(_print_usage(error))
    except UnicodeEncodeError as error:
        # An argument or a path contains bytes that are not UTF-8.
        piece = error.object[max(error.start - 20, 0) : error.start + 20]
        refused = InvalidInputError(f"{piece!r} is not valid UTF-8 text")
        sys.exit(print_error(refused, as_json="--json" in sys.argv))
    except BrokenPipeError:
        # The reader of the output has closed the pipe.
        _close_stdout()
        sys.exit(1)
    except OSError as error:
        failed = SprintlogError(f"{error.filename or 'output'}: {error.strerror}")
        _close_stdout()
        sys.exit(print_error(failed, as_json="--json" in sys.argv))
    except Exception as error:
        if os.environ.get("SPRINTLOG_DEBUG"):
            raise
        unexpected = SprintlogError(
            f"{type(error).__name__}: {error}",
            hint="this is a bug in sprintlog; set SPRINTLOG_DEBUG=1 for a traceback",
        )
        sys.exit(print_error(unexpected, as_json="--json" in sys.argv))


def _print_usage(error: click.ClickException) -> int:
    hint, unknown = None, getattr(error, "unknown", None)
    context: Any = getattr(error, "ctx", None)
    if context is not None:
        if _is_alone(context, error):
            print_text(*context.get_help().splitlines())
            return USAGE
        hint = getattr(error, "hint", None) or f"`{context.command_path} -h` shows how"
    said = error.format_message()
    if isinstance(error, click.NoSuchOption):
        # click's message would repeat the suggestion in other words.
        said = f"no such option {error.option_name}"
        unknown = error.option_name, _options_of(context)
        if error.option_name == "--sprint" and context is not None and not context.parent:
            hint = "specify --sprint after the command: `sprintlog status --sprint ID`"
    # click lists the choices on separate lines.
    wrapped = SprintlogError(" ".join(said.split()), hint=hint, unknown=unknown)
    print_error(wrapped, as_json="--json" in sys.argv)
    return USAGE


def _options_of(context: click.Context | None) -> list[str]:
    if context is None:
        return []
    known = context.command.get_params(context)
    return [name for option in known for name in (*option.opts, *option.secondary_opts)]


def _is_alone(context: click.Context, error: click.ClickException) -> bool:
    """Return whether a command was typed alone and lacks a word that its help lists."""
    if sys.argv[1:] != typed.words_of(context):
        return False
    missing = error.param if isinstance(error, click.MissingParameter) else None
    needs_choice = missing is not None and isinstance(missing.type, click.Choice)
    return needs_choice or isinstance(context.command, click.Group)


@contextmanager
def _interrupts_between_imports() -> Iterator[None]:
    """Delay Ctrl-C during imports.

    `import` runs a callback for each module. An exception raised there is printed and
    ignored, so the command would continue.
    """
    # `signal` also converts all numbers to enums, which is slow and unnecessary here.
    from _signal import SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]

    if getsignal(SIGINT) is not default_int_handler:
        yield
        return
    signal(SIGINT, _interrupted)
    try:
        yield
    finally:
        signal(SIGINT, default_int_handler)


def _interrupted(number: int, frame: FrameType | None) -> None:
    if frame is None or not frame.f_code.co_filename.startswith("<frozen importlib"):
        raise KeyboardInterrupt
    _thread.start_new_thread(_interrupt_later, ())


def _interrupt_later() -> None:
    time.sleep(0.001)
    _thread.interrupt_main()


def _hold_standard_files() -> None:
    """Prevent the descriptors of closed standard streams from being reused for files.

    Otherwise an answer could be written into such a file. The placeholders are not
    writable, so writing an answer to a closed stream is still an error.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)


def _close_stdout() -> None:
    """Redirect stdout to the null device to prevent an error in the last flush."""
    with suppress(OSError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
