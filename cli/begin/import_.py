"""`sprintlog import`: PROGRESS.yaml documents of other tools, and exported logs."""

import re
from pathlib import Path
from typing import Any

import click

from sprintlog.engine.errors import InvalidInputError

from .. import output, typed
from ..context import open_workspace, with_envelope, with_recording
from ..intake.files import read_bytes
from ..record import Options
from .import_others import COMMANDS, command_of, extended_command
from .import_record import warn_of_cut


class Recognising(typed.TypedGroup):
    """A group that takes a path in place of a command, and prints its kind."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named command, or the one for the kind of a path."""
        args = self.current(ctx, args)
        if args[0] in self.commands or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        path = Path(args[0])
        if (extended := self._of_extension(path, args)) is not None:
            return args[0], extended, args[1:]
        if not path.exists() and not re.search(r"[./]", args[0]):
            return super().resolve_command(ctx, args)
        # Imported here: a named command needs no recognition.
        from .import_path import folder, recognise

        kind = recognise(path)
        if kind == "folder":
            return kind, folder, args
        known = "store import" if kind == "log" else f"import {kind}"
        output.note(f"{path} is taken for what `{known}` takes")
        return kind, command_of(self, kind), [str(path), *args[1:]]

    def _of_extension(self, path: Path, args: list[str]) -> click.Command | None:
        """Return the command of an importer that is installed; a path alone comes first."""
        name, *more = args
        is_alone = all(word.startswith("-") for word in more)
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) or (
            is_alone and path.exists()
        ):
            return None
        return extended_command(name)


@typed.group("import", cls=Recognising)
def command() -> None:
    """Import records of other tools, or an exported log.

    With a file or folder in place of a subcommand, its format is detected and reported.
    Importers of extensions are subcommands as well: `extensions list`.
    """


@command.command(
    epilog="Examples: sprintlog import progress sprints/auth/PROGRESS.yaml\n\n"
    "sprintlog import progress --git sprints/auth/PROGRESS.yaml"
)
@typed.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="FILE…")
@typed.file_option("--git", help="All committed versions of this file, oldest first.")
@typed.folder_option(
    "--sprint-dir",
    help="The folder in which PROGRESS.yaml is written. [the folder of the import]",
)
@with_recording
def progress(
    files: tuple[Path, ...], git: Path | None, sprint_dir: Path | None, **given: Any
) -> None:
    """Import PROGRESS.yaml documents unchanged.

    The first version of a sprint is recorded in full, each later one as the difference to
    its predecessor. Nothing is dropped; violations of the rules are reported. All files are
    checked before the first is recorded.
    """
    from ..intake.versions import committed_versions, given_versions
    from .import_documents import take_versions

    if bool(files) == bool(git):
        raise click.UsageError("give files, or --git FILE")
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
                f"{version.sprint_id!r} is not the sprint {options.sprint_id!r}",
                file=version.name,
                field="sprint-id",
            )
    if history.others:
        left_out = output.counted(history.others, "version")
        output.warn(f"{left_out} of {git} left out: they belong to other sprints")
    if git and history.is_cut:
        warn_of_cut(git)
    with open_workspace() as workspace:
        take_versions(workspace, history.versions, options, sprint_dir)


@command.command(epilog="Example: sprintlog import journal .ralph/progress.json")
@typed.argument("files", nargs=-1, type=click.Path(path_type=Path), required=True)
@with_envelope
def journal(files: tuple[Path, ...], **given: Any) -> None:
    """Import progress.json or a dated text: each entry, learning and pattern.

    Records are matched by id, so the import is idempotent, and a later version of the file
    adds only its new records. An entry is never replaced: differences from recorded entries
    are reported and not imported.
    """
    from ..intake.journal import JOURNAL_BYTES_MAX
    from .import_documents import take_journal

    options = Options(given)
    if options.key and len(files) > 1:
        raise click.UsageError("--key requires a single file")
    with open_workspace() as workspace:
        for file in files:
            content = read_bytes(file, bytes_max=JOURNAL_BYTES_MAX)
            take_journal(workspace, file, content, options)


for _other in COMMANDS:
    command.add_command(_other)
