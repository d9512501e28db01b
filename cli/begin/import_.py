"""`sprintlog import`: PROGRESS.yaml documents of other tools, and exported logs."""

import re
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import UNSET

from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.sprint.events import Place, SprintImported
from sprintlog.engine.sprint.plan.create import ImportDocument
from sprintlog.engine.sprint.plan.imported_documents import contradictions
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.state_files.sprint_file import SprintFile
from sprintlog.projections.views.log import TakenIn
from sprintlog.projections.workspace import Outcome, Workspace

from .. import output, typed
from ..context import open_workspace, with_envelope, with_recording
from ..places import PROGRESS, place_in, place_of
from ..record import UNNAMED, Options, Recording, refresh
from .import_others import COMMANDS
from .loop_facts import warn_of_cut


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
        from .import_extended import command_of
        from .import_path import recognise

        kind, found = recognise(path)
        if kind == "folder":
            from .import_path import folder

            return kind, folder, args
        known = "store import" if kind == "log" else f"import {kind}"
        output.note(f"{found} is taken for what `{known}` takes")
        return kind, command_of(self, kind), [str(found), *args[1:]]

    def _of_extension(self, path: Path, args: list[str]) -> click.Command | None:
        """Return the command of an importer that is installed; a path alone comes first."""
        name, *more = args
        is_alone = all(word.startswith("-") for word in more)
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) or (
            is_alone and path.exists()
        ):
            return None
        # Imported here: only an unknown word needs it.
        from .import_extended import extended_command

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

    if bool(files) == bool(git):
        raise click.UsageError("give files, or --git FILE")
    options = Options(given)
    if options.key and (git or len(files) > 1):
        raise click.UsageError("--key goes with one file")
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
        output.warn(f"{left_out} of {git} left out: they are not of this sprint")
    if git and history.is_cut:
        warn_of_cut(git)
    with open_workspace() as workspace:
        importing = Importing(workspace, options, sprint_dir)
        for version in history.versions:
            importing.take(version)
        importing.finish()


@command.command(epilog="Example: sprintlog import journal .ralph/progress.json")
@typed.argument("files", nargs=-1, type=click.Path(path_type=Path), required=True)
@with_envelope
def journal(files: tuple[Path, ...], **given: Any) -> None:
    """Import progress.json or a dated text: each entry, learning and pattern.

    Records are matched by id, so the import is idempotent, and a later version of the file
    adds only its new records. An entry is never replaced: differences from recorded entries
    are reported and not imported.
    """
    from ..intake.files import read_bytes
    from ..intake.journal import JOURNAL_BYTES_MAX
    from .import_journal import take_in

    options = Options(given)
    if options.key and len(files) > 1:
        raise click.UsageError("--key goes with one file")
    with open_workspace() as workspace:
        for file in files:
            content = read_bytes(file, bytes_max=JOURNAL_BYTES_MAX)
            take_in(workspace, file, content, options)


if TYPE_CHECKING:
    from ..intake.versions import Version

TOLD_MAX = 20
"""More contradictions than this of several versions are only counted on a terminal."""


class Importing:
    """An import on its way."""

    def __init__(
        self, workspace: Workspace, options: Options, sprint_dir: Path | None
    ) -> None:
        self._workspace = workspace
        self._options = options
        self._sprint_dir = sprint_dir
        self._sprints: dict[str, Version] = {}
        """The newest version of each sprint."""
        self._problems: list[list[str]] = []
        """What contradicts the rules in each version."""
        self._known: dict[str, set[str]] = {}

    def take(self, version: "Version") -> None:
        """Record a version and answer it."""
        self._sprints[version.sprint_id] = version
        if version.committed_at is not None and version.name in self._sources(version):
            self._answer(version, self._workspace.sprint(version.sprint_id), None, [])
            return
        document = version.document
        problems = [*version.remarks, *contradictions(document)]
        self._problems.append(problems)
        outcome = self._record(version, document)
        self._answer(version, outcome.sprint, outcome, problems)

    def finish(self) -> None:
        """Print contradictions of the rules, and update the files."""
        if not self._options.as_json:
            for line in summary(self._problems):
                output.print_text(f"  {line}")
        for sprint_id, version in self._sprints.items():
            self._know_file(version)
            # Only now: in between, the current file differs from the older versions.
            refresh(self._workspace, sprint_id)

    def _sources(self, version: "Version") -> set[str]:
        """Return which committed versions were taken in before."""
        if version.sprint_id not in self._known:
            events = self._workspace.repository.events(version.sprint_id, SprintImported)
            self._known[version.sprint_id] = {event.source for event in events}
        return self._known[version.sprint_id]

    def _record(self, version: "Version", document: dict[str, Any]) -> Outcome:
        options, sprint_id = self._options, version.sprint_id
        place = self._place(version)
        written = self._workspace.sprint(sprint_id).plan.place
        if self._sprint_dir is not None and written not in (None, place):
            raise RefusedError(
                f"sprint {sprint_id} writes its file at {written.path if written else ''}; "
                "an import does not move it",
                hint="leave --sprint-dir out",
                sprint=sprint_id,
            )
        options = options.with_values(
            at=version.at or options.at,
            actor=f"import:{version.file.name}"[:128]
            if options.actor in UNNAMED
            else options.actor,
        )
        source, committed_at = version.name[-500:], version.committed_at
        command = ImportDocument(document, source, place, committed_at, with_facts=True)
        run = Recording("import progress", options, self._workspace)
        arguments = {"document": document}
        options.tell_masked(document, of=version.name)
        return run.handle_with(command, arguments, sprint_id=sprint_id, observed=True)

    def _answer(
        self,
        version: "Version",
        sprint: Sprint,
        outcome: Outcome | None,
        problems: list[str],
    ) -> None:
        last = outcome.events[-1] if outcome and outcome.events else None
        position = last.position if last else self._workspace.log.head().position
        if self._options.as_json:
            of_git = version.committed_at is not None
            output.print_json(
                TakenIn(
                    file=version.name,
                    stream=sprint_stream(version.sprint_id),
                    version=sprint.version,
                    position=position,
                    unchanged=last is None,
                    problems=problems,
                    at=version.at if of_git else UNSET,
                    committed_at=version.committed_at or UNSET,
                    id=last.id if last else UNSET,
                    type=last.type if last else UNSET,
                    hash=last.hash.hex() if last else UNSET,
                )
            )
            return
        said = "no difference" if last is None else f"version {sprint.version}"
        if outcome is None:
            said = "recorded before"
        count = f", {output.counted(len(problems), 'contradiction')}" if problems else ""
        where = f"[position {position}]"
        output.print_text(f"{version.name}: {version.sprint_id} {said}{count}  {where}")

    def _know_file(self, version: "Version") -> None:
        """Take the file at hand as the one that was imported, not as somebody's edit."""
        workspace, content = self._workspace, version.content
        sprint = workspace.sprint(version.sprint_id)
        place = sprint.plan.place
        if content is None or place is None:
            return
        if place_of(workspace.location, version.file) != place:
            return
        self._check_checksum(place.path, content)
        kept = SprintFile(workspace).know_imported(sprint, place.path, content)
        if kept:
            folder = workspace.location.folder / "edits"
            output.warn(
                f"{place.path} will be written in our layout from the first event of your "
                f"own on; the original is kept as {folder / kept}"
            )

    def _check_checksum(self, path: str, content: bytes) -> None:
        """Warn if the checksum file belongs to other content."""
        said, is_so = self._workspace.files.checksum_says(path), sha256(content).hexdigest()
        if said not in (None, is_so):
            shown = output.visible(str(said)[:64])
            output.warn(
                f"{path}.checksum is of other bytes: it says {shown}, "
                f"the file has {is_so}; the first event of your own replaces both"
            )

    def _place(self, version: "Version") -> Place | None:
        if self._sprint_dir is not None:
            return place_in(self._workspace.location, self._sprint_dir)
        # A file that was taken away is not put back.
        if version.file.name == PROGRESS and version.file.is_file():
            return place_of(self._workspace.location, version.file)
        return None


def summary(problems: list[list[str]]) -> list[str]:
    """Return what contradicts the rules in some versions, once for all of them.

    What is said of one place is told as the newest version with it has it.
    """
    newest: dict[str, str] = {}
    for found in problems:
        newest |= {_place_of(problem): problem for problem in found}
    if len(problems) == 1:
        return problems[0]
    versions = Counter(
        place for found in problems for place in {_place_of(problem) for problem in found}
    )
    lines = [
        f"{newest[place]}  ({number} of {output.counted(len(problems), 'version')})"
        for place, number in versions.most_common(TOLD_MAX)
    ]
    if (more := len(newest) - len(lines)) > 0:
        lines.append(f"{more} more; --json has all of them")
    return lines


def _place_of(problem: str) -> str:
    """Return what a sentence is about, and what about it: no figures or words of it."""
    return " ".join(problem.split(" ", 2)[:2])


for _other in COMMANDS:
    command.add_command(_other)
