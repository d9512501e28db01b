"""The `sprintlog import` commands, for sprintlog's own formats and other tools' files.

Each importer module is imported only when its command is run.
"""

import re
from pathlib import Path
from typing import Any

import click

from sprintlog.engine.errors import InvalidInputError

from .. import context, output, typed
from ..intake.files import read_bytes
from ..intake.imported import Imported
from ..record import Options
from .import_record import Import, take_sessions, warn_of_cut

FILE = click.Path(path_type=Path)


class Recognising(typed.TypedGroup):
    """A command group that also accepts a path, whose kind is detected and printed."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the given command, or the command for the detected kind of a path."""
        args = self.current(ctx, args)
        if args[0] in self.commands or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        path = Path(args[0])
        if (extended := self._of_extension(path, args)) is not None:
            return args[0], extended, args[1:]
        if not path.exists() and not re.search(r"[./]", args[0]):
            return super().resolve_command(ctx, args)
        # Imported here: a subcommand does not detect the kind of file.
        from .import_path import command_of, folder, recognise

        kind = recognise(path)
        if kind == "folder":
            return kind, folder, args
        known = "store import" if kind == "log" else f"import {kind}"
        output.note(f"{path} is imported with `{known}`")
        return kind, command_of(self, kind), [str(path), *args[1:]]

    def _of_extension(self, path: Path, args: list[str]) -> click.Command | None:
        """Return an extension's import command; an existing path takes precedence."""
        name, *more = args
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) or (
            all(word.startswith("-") for word in more) and path.exists()
        ):
            return None
        # Imported here: a known subcommand does not come from an extension.
        from .import_path import extended_command

        return extended_command(name)


@typed.group("import", cls=Recognising)
def command() -> None:
    """Import records from other tools, or an exported log.

    If a file or folder is given instead of a subcommand, its format is detected and
    printed. Importers from extensions are subcommands as well: see `extensions list`.
    """


@command.command()
@typed.argument("files", nargs=-1, type=FILE, metavar="FILE…")
@typed.file_option("--git", help="Import all committed versions of a file, oldest first.")
@typed.folder_option(
    "--sprint-dir", help="The folder for PROGRESS.yaml. [the folder of the import]"
)
@context.with_recording
def progress(
    files: tuple[Path, ...], git: Path | None, sprint_dir: Path | None, **given: Any
) -> None:
    """Import PROGRESS.yaml documents unchanged.

    The first version of a sprint is recorded in full, each later version as the difference
    from its predecessor. Nothing is dropped; violations of the rules are reported. All
    files are checked before the first is recorded.

    Examples: sprintlog import progress sprints/auth/PROGRESS.yaml

    sprintlog import progress --git sprints/auth/PROGRESS.yaml
    """
    from ..intake.versions import committed_versions, given_versions
    from .import_documents import take_versions

    if bool(files) == bool(git):
        raise click.UsageError("specify files or --git FILE")
    options = Options(given)
    if options.key and (git or len(files) > 1):
        raise click.UsageError("--key requires a single file")
    if git:
        history = committed_versions(git, sprint_id=options.sprint_id)
    else:
        history = given_versions(files)
    for version in history.versions:
        if options.sprint_id not in (None, version.sprint_id):
            raise InvalidInputError(
                f"{version.sprint_id!r} does not match --sprint {options.sprint_id!r}",
                file=version.name,
                field="sprint-id",
            )
    if history.others:
        left_out = output.counted(history.others, "version")
        output.warn(f"skipped {left_out} of {git} that belong to other sprints")
    if git and history.is_cut:
        warn_of_cut(git)
    with context.open_workspace() as workspace:
        take_versions(workspace, history.versions, options, sprint_dir)


@command.command()
@typed.argument("files", nargs=-1, type=FILE, required=True)
@context.with_envelope
def journal(files: tuple[Path, ...], **given: Any) -> None:
    """Import the entries, learnings and patterns of a progress.json or a dated text file.

    Records are matched by id, so the import is idempotent, and a later version adds only
    its new records. An entry is never replaced: differences from recorded entries are
    reported but not imported.

    Example: sprintlog import journal .ralph/progress.json
    """
    from ..intake.journal import JOURNAL_BYTES_MAX
    from .import_documents import take_journal

    options = Options(given)
    if options.key and len(files) > 1:
        raise click.UsageError("--key requires a single file")
    with context.open_workspace() as workspace:
        for file in files:
            content = read_bytes(file, bytes_max=JOURNAL_BYTES_MAX)
            take_journal(workspace, file, content, options)


_with_source = typed.several(context.with_sprint, context.with_actor, context.with_json)
"""The options shared by all imports from other tools."""


@command.command("prd")
@typed.argument("file", type=FILE)
@typed.flag("--git", "of_git", help="Also import all its committed versions.")
@typed.option(
    "--progress",
    "text",
    type=FILE,
    metavar="FILE",
    help="The text file with the loop's entries. [progress.txt next to FILE]",
)
@typed.option("--sprint-dir", type=FILE, help="The folder for PROGRESS.yaml. [none]")
@_with_source
def prd(
    file: Path, of_git: bool, text: Path | None, sprint_dir: Path | None, **given: Any
) -> None:
    """Import task lists in JSON: each story, task or feature becomes a phase.

    prd.json, feature_list.json, Task Master's tasks.json and similar lists are supported.
    Each feature becomes a sprint: if a list is reused for the next feature, a new sprint is
    created. The entries of progress.txt in the same folder are added to the journal.
    Importing the same source again has no effect.

    Examples: sprintlog import prd prd.json

    sprintlog import prd --git scripts/ralph/prd.json
    """
    from .import_prd import take_prd

    with context.open_workspace() as workspace:
        run = Import("prd", file, Options(given), workspace)
        take_prd(run, of_git=of_git, text=text, sprint_dir=sprint_dir)


@command.command("orchestrator")
@typed.argument("path", type=FILE, default=Path(".ralph"))
@_with_source
def orchestrator(path: Path, **given: Any) -> None:
    """Import history.jsonl and events-*.jsonl from ralph-orchestrator.

    Each iteration is recorded with its original times, and every event as a note. PATH is
    the folder .ralph or one of these files. If the loop completed, the sprint is completed.

    Example: sprintlog import orchestrator .ralph
    """
    from ..importers.orchestrator import read_orchestrator

    _take(path, given, read_orchestrator(path), kind="orchestrator")


@command.command("aiwg")
@typed.argument("path", type=FILE, default=Path(".aiwg"))
@_with_source
def aiwg(path: Path, **given: Any) -> None:
    """Import the state, analytics and measurements of AIWG loops.

    PATH is the folder .aiwg or one file. Each loop becomes a sprint; its iterations are
    recorded with their outcome, learnings and score. The sprint is completed if the loop's
    state is completed.

    Example: sprintlog import aiwg .aiwg
    """
    from ..importers.aiwg import read_aiwg

    _take(path, given, *read_aiwg(path), kind="aiwg")


@command.command("ralph-loop")
@typed.argument("file", type=FILE, default=Path(".claude/ralph-loop.local.md"))
@_with_source
def ralph_loop(file: Path, **given: Any) -> None:
    """Import the state file of Claude Code's ralph-loop plugin while the loop is running.

    Its prompt becomes the goal of a sprint, and each started iteration is recorded. The
    plugin deletes its file when the loop ends.

    Example: sprintlog import ralph-loop .claude/ralph-loop.local.md
    """
    from ..importers.ralph_loop import read_ralph_loop

    _take(file, given, read_ralph_loop(file), kind="ralph-loop")


@command.command("transcript")
@typed.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE…")
@_with_source
def transcript(files: tuple[Path, ...], **given: Any) -> None:
    """Import an agent's transcripts: each session becomes an iteration.

    Sessions of Claude Code (including subagents), Codex, Gemini, Copilot, Copilot Chat, Pi
    and opencode are supported. Tokens, duration and the last message are recorded, but
    prompts are not. The iterations are added to the current sprint; if there is none, a
    sprint is created. For a session recorded by `wrap` or an earlier import, only new data
    is added. The sprint stays open.

    Example: sprintlog import transcript ~/.claude/projects/-work-shop/*.jsonl
    """
    from ..intake.transcript import read_transcript, session_file

    sessions = [*map(read_transcript, dict.fromkeys(session_file(file) for file in files))]
    with context.open_workspace() as workspace:
        take_sessions(workspace, sessions, Options(given))


def _take(path: Path, given: dict[str, Any], *several: Imported, kind: str) -> None:
    """Record the imported content of a source."""
    with context.open_workspace() as workspace:
        Import(kind, path, Options(given), workspace).take(*several)
