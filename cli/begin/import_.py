"""`sprintlog import`: PROGRESS.yaml documents of other tools, and whole logs of ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError
from sprintlog.engine.journal.state.journal import JOURNAL
from sprintlog.engine.log.lines import LINE_BYTES_MAX
from sprintlog.projections.health.exchange import import_log
from sprintlog.projections.views.log import LogCopied

from ..context import open_workspace, with_envelope, with_json, with_recording
from ..output import counted, counting, print_answer, warn
from ..record import Options
from .import_documents import Importing


@click.group("import")
def command() -> None:
    """Take in what other tools left behind, or a log that was exported."""


@command.command(
    epilog="Examples: sprintlog import progress sprints/auth/PROGRESS.yaml\n\n"
    "sprintlog import progress --git sprints/auth/PROGRESS.yaml"
)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="FILE…")
@click.option(
    "--git",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="All committed versions of this file, oldest first.",
)
@click.option(
    "--sprint-dir",
    type=click.Path(path_type=Path),
    help="Where PROGRESS.yaml is written. [where it was imported from]",
)
@with_recording
def progress(
    files: tuple[Path, ...], git: Path | None, sprint_dir: Path | None, **given: Any
) -> None:
    """Take in PROGRESS.yaml documents, exactly as they are.

    The first version of a sprint is its beginning, each later one the difference to
    the one before. Nothing is dropped; what contradicts the rules is reported. All
    files are checked before the first is recorded.
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
        left_out = counted(history.others, "version")
        warn(f"{left_out} of {git} left out: they are not of this sprint")
    if history.is_cut:
        warn(f"the repository was cloned in part: older versions of {git} are not there")
    with open_workspace() as workspace:
        importing = Importing(workspace, options, sprint_dir)
        for version in history.versions:
            importing.take(version)
        importing.finish()


@command.command(epilog="Example: sprintlog init && sprintlog import log auth.jsonl")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@with_json
def log(file: Path, as_json: bool) -> None:
    """Take in a whole log that `export` wrote, into an empty one; - is stdin.

    Every event keeps its position and its hash. Lines, chain and head are checked on
    the way; at the first problem nothing is taken in. State files that are missing are
    written, others are left alone.
    """
    name = "standard input" if str(file) == "-" else str(file)
    with open_workspace() as workspace, _lines(file) as lines:
        done = import_log(workspace, lines, file=name, progress=counting("events imported"))
    for stream, found in (*done.files.items(), (JOURNAL, done.journal)):
        if found is not None and found.problem:
            warn(f"{stream}: {found.problem}; it was left as it is")
    position, head, sprints = done.head.position, done.head.hash.hex(), len(done.files)
    said = f"{counted(position, 'event')}, {counted(sprints, 'sprint')}, head {head[:16]}"
    answer = LogCopied(name, position, sprints, head=head)
    print_answer(answer, [f"{name}: {said}"], as_json=as_json)


@contextmanager
def _lines(file: Path) -> Iterator[Iterator[bytes]]:
    """Give the lines of a file; one that has no end is cut where a line may end."""
    source: Path | int = 0 if str(file) == "-" else file
    try:
        with open(source, "rb", closefd=source != 0) as opened:
            yield iter(partial(opened.readline, LINE_BYTES_MAX + 1), b"")
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no file {file}", file=str(file)) from error
    except OSError as error:
        raise RefusedError(f"{file}: {error.strerror}", file=str(file)) from error


@command.command(epilog="Example: sprintlog import journal .ralph/progress.json")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), required=True)
@with_envelope
def journal(files: tuple[Path, ...], **given: Any) -> None:
    """Take in progress.json: each entry, learning and pattern with its own time.

    What was recorded before is matched by its id, so the same file again brings nothing,
    and a later version of it what it has more. An entry is never replaced: what differs
    from what was recorded is told and not taken. Texts are taken as they are, unmasked.
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
