"""The entry point: a group that imports a command only when it is typed."""

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from sprintlog.engine.errors import InvalidInputError, SprintlogError

from . import typed
from .output import USAGE, clear_counting, print_error, print_text

SECTIONS = {
    "Begin": {
        "init": "Make a log for this work tree.",
        "demo": "Play a small sprint in a fresh folder and show every command.",
        "import": "Take in what other tools left behind, or an exported log.",
        "compile": "Make a sprint from a SPRINT.yaml and its workflows.",
        "sprint": "Create a sprint and lead it through its life.",
        "goal": "Set a goal, and say that it is reached.",
    },
    "Work": {
        "next": "Say what is to be done now.",
        "run": "Drive a sprint with an agent's command.",
        "status": "Show where a sprint stands.",
        "phase": "Record what happens to a phase, step or sub-phase.",
        "step": "Add steps to the plan, and record those towards a goal.",
        "gate": "Run a phase's gate, or record how it went elsewhere.",
        "queue": "Keep what was found on the way, and decide on it.",
        "hook-task": "Record what is run beside the iterations.",
        "note": "Leave a remark in the log.",
        "append": "Record events by their type, one or a stream of JSON lines.",
    },
    "Iterations": {
        "iteration": "Record, measure and compare the iterations of the loop.",
        "best": "Show the best iteration so far.",
        "decide": "Say what comes next: continue, stop, roll back, ask.",
        "alerts": "Show what got worse.",
        "report": "Report on one iteration, all, or the selected output.",
        "rules": "Show or change by which rules iterations are judged.",
        "restore": "Bring the files of an iteration back.",
    },
    "Journal": {
        "entry": "Write down what an iteration of a PRD came to.",
        "learning": "Keep what was learned, count its use, retire what is over.",
        "pattern": "Keep patterns of the codebase.",
        "prepare": "Say what the next iteration of a PRD should know.",
        "recover": "Say what to do about a failure of a PRD.",
        "journal": "Begin the journal, search it, look at its figures.",
    },
    "What happened": {
        "log": "List the events.",
        "show": "Print a state file or an event, as it is or was.",
        "diff": "Show what is different between two points.",
        "blame": "Say who set a field, when and why.",
        "replay": "Play a sprint's history and show what each event changed.",
        "audit": "Tell the decisions: who, when, on what evidence.",
        "query": "Ask with SQL.",
    },
    "Go back": {
        "rollback": "Go back to the state of an earlier point.",
        "undo": "Take back the latest rollback, or the latest decision.",
        "redo": "Take back the latest undo.",
        "fork": "Begin a new sprint from any point of an old one.",
        "adopt": "Make events of an edit that was observed.",
    },
    "Keep it sound": {
        "rebuild": "Write the state files anew from the log.",
        "verify": "Check the log, its payloads and the state files.",
        "doctor": "Look at the log and around it; save what is sound.",
        "backup": "Copy the log into one file, checked.",
        "export": "Write the whole log as JSON Lines.",
        "schema": "Print the JSON Schema of a file or of the events.",
        "completion": "Print the completion script of a shell.",
    },
}
"""Every command with its one line, in the sections of the help."""

COMMANDS = {name: line for section in SECTIONS.values() for name, line in section.items()}
"""Every command with its one line; the module of the same name holds it."""

FOLDERS = {
    "Begin": "begin",
    "Work": "work",
    "Iterations": "iterations",
    "Journal": "journal",
    "What happened": "history",
    "Go back": "back",
    "Keep it sound": "upkeep",
}
"""Where the modules of a section's commands are."""


def module_of(command: str) -> str:
    """Return the module that holds a command, as a name below `sprintlog.cli`."""
    title = next(title for title, section in SECTIONS.items() if command in section)
    name = "import_" if command == "import" else command.replace("-", "_")
    return f"{FOLDERS[title]}.{name}"


class LazyGroup(typed.TypedGroup):
    """Knows its commands by name and imports the one that is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f".{module_of(cmd_name)}", __package__)
        command: click.Command = module.command
        # Versions of click differ in what becomes of a group that is typed alone.
        command.no_args_is_help = False
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the tables without importing a single command."""
        width = max(map(len, COMMANDS))
        for title, section in SECTIONS.items():
            with formatter.section(title):
                rows = [(name.ljust(width), line) for name, line in section.items()]
                formatter.write_dl(rows)


def _show_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        # Imported here: it reads what is installed.
        from importlib.metadata import version

        print_text(f"sprintlog, version {version('sprintlog')}")
        context.exit()


@typed.group(
    cls=LazyGroup,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96},
    epilog="Try `sprintlog demo`; every command has -h with an example.",
)
@typed.option(
    "-v",
    "--verbose",
    is_flag=True,
    envvar="SPRINTLOG_VERBOSE",
    help="Tell on stderr what happens. [SPRINTLOG_VERBOSE]",
)
@typed.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show the version and exit.",
)
def cli(verbose: bool) -> None:
    """Record what happens in a sprint once; compute its files from that."""


def main() -> None:
    """Run the command line; the only place where every error ends."""
    try:
        _hold_standard_files()
        try:
            cli.main(standalone_mode=False)
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
        # Bytes of a command line or of a path in another encoding.
        piece = error.object[max(error.start - 20, 0) : error.start + 20]
        refused = InvalidInputError(f"{piece!r} is not text in UTF-8")
        sys.exit(print_error(refused, as_json="--json" in sys.argv))
    except BrokenPipeError:
        # Whoever read our output has seen enough.
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
            hint="this is a defect of sprintlog; SPRINTLOG_DEBUG=1 shows where",
        )
        sys.exit(print_error(unexpected, as_json="--json" in sys.argv))


def _print_usage(error: click.ClickException) -> int:
    hint = None
    context: Any = getattr(error, "ctx", None)
    if context is not None:
        if _is_alone(context, error):
            print_text(*context.get_help().splitlines())
            return USAGE if context.parent else 0
        hint = f"`{context.command_path} -h` shows how"
    # Its choices are listed on lines of their own.
    wrapped = SprintlogError(" ".join(error.format_message().split()), hint=hint)
    print_error(wrapped, as_json="--json" in sys.argv)
    return USAGE


def _is_alone(context: click.Context, error: click.ClickException) -> bool:
    """Tell whether a command was typed alone, and needs a word that its help lists."""
    words: list[str | None] = []
    at: click.Context | None = context
    while at is not None and at.parent is not None:
        words.insert(0, at.info_name)
        at = at.parent
    if sys.argv[1:] != words:
        return False
    missing = error.param if isinstance(error, click.MissingParameter) else None
    needs_choice = missing is not None and isinstance(missing.type, click.Choice)
    return needs_choice or isinstance(context.command, click.Group)


def _hold_standard_files() -> None:
    """Keep the numbers of closed standard files from being given to files of ours.

    An answer would else be written into one of them. What holds the place cannot be
    written, so that an answer nobody can read is still an error.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)


def _close_stdout() -> None:
    """Point stdout elsewhere, so that the interpreter's last flush does not fail."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
