"""`sprintlog import`: PROGRESS.yaml documents of other tools, and whole logs of ours."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError
from sprintlog.engine.journal.state import JOURNAL
from sprintlog.engine.log.lines import LINE_BYTES_MAX
from sprintlog.engine.outside.borrowed import borrowed
from sprintlog.engine.outside.repositories import repository_around
from sprintlog.engine.sprint.contradictions import contradictions
from sprintlog.engine.sprint.facts import Place
from sprintlog.engine.sprint.plan import import_document
from sprintlog.engine.sprint.state import Sprint
from sprintlog.projections.catalogue import sprint_stream
from sprintlog.projections.health.exchanging import import_log
from sprintlog.projections.sprint_file import sprint_files
from sprintlog.projections.workspace import Workspace

from ..output import counted, counting, print_json, print_text, warn
from ..placing import PROGRESS, place_in, place_of
from ..recording import Options, act, refresh
from ..wiring import open_workspace, with_envelope, with_json, with_recording


class Version(NamedTuple):
    """One version of a document on its way in."""

    name: str
    content: bytes
    at: str | None
    """When it was written, where git says so."""
    file: Path
    """The file it is a version of."""


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
    from ..intake.progress import read_progress

    if bool(files) == bool(git):
        raise click.UsageError("give files, or --git FILE")
    options = Options(given)
    if options.key and (git or len(files) > 1):
        raise click.UsageError("--key goes with one file")
    versions = list(_committed(git) if git else _given(files))
    documents = [read_progress(v.content, file=v.name) for v in versions]
    for version, document in zip(versions, documents, strict=True):
        if options.sprint_id not in (None, document["sprint-id"]):
            raise InvalidInputError(
                f"{document['sprint-id']!r} is not the sprint {options.sprint_id!r}",
                file=version.name,
                field="sprint-id",
            )
    with open_workspace() as workspace:
        for version, document in zip(versions, documents, strict=True):
            _import_one(workspace, version, document, options, sprint_dir)
        # Only now: in between, the file at hand is none of the older versions.
        for sprint_id in dict.fromkeys(str(d["sprint-id"]) for d in documents):
            refresh(workspace, sprint_id)


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
    if as_json:
        print_json(
            {
                "file": name,
                "events": done.head.position,
                "sprints": len(done.files),
                "head": done.head.hash.hex(),
            }
        )
    else:
        print_text(
            f"{name}: {counted(done.head.position, 'event')}, "
            f"{counted(len(done.files), 'sprint')}, head {done.head.hash.hex()[:16]}"
        )


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
    from ..journal_import import take_in

    options = Options(given)
    if options.key and len(files) > 1:
        raise click.UsageError("--key goes with one file")
    with open_workspace() as workspace:
        for file in files:
            content = read_bytes(file, bytes_max=JOURNAL_BYTES_MAX)
            take_in(workspace, file, content, options)


def _import_one(
    workspace: Workspace,
    version: Version,
    document: dict[str, Any],
    options: Options,
    sprint_dir: Path | None,
) -> None:
    sprint_id = str(document["sprint-id"])
    problems = contradictions(document)
    place = _place(workspace, version, sprint_dir)
    written = workspace.sprint(sprint_id).plan.place
    if sprint_dir is not None and written not in (None, place):
        raise RefusedError(
            f"sprint {sprint_id} writes its file at {written.path if written else ''}; "
            "an import does not move it",
            hint="leave --sprint-dir out",
            sprint=sprint_id,
        )
    options = options.with_values(
        at=version.at or options.at,
        actor=f"import:{version.file.name}"[:128]
        if options.actor == "runtime"
        else options.actor,
    )
    outcome = act(
        workspace,
        sprint_id,
        "import progress",
        lambda sprint, at: import_document(
            sprint, document=document, source=version.name[-500:], place=place
        ),
        options,
        {"document": document},
    )
    sprint = outcome.sprint
    last = outcome.events[-1] if outcome.events else None
    position = last.position if last else workspace.log.head().position
    if options.as_json:
        answer = {
            "file": version.name,
            "stream": sprint_stream(sprint_id),
            "version": sprint.version,
            "position": position,
            "unchanged": last is None,
            "problems": problems,
        }
        if last is not None:
            answer |= {"id": last.id, "type": last.type, "hash": last.hash.hex()}
        print_json(answer)
    else:
        said = "no difference" if last is None else f"version {sprint.version}"
        count = f", {len(problems)} contradictions" if problems else ""
        print_text(f"{version.name}: {sprint_id} {said}{count}  [position {position}]")
        for problem in problems:
            print_text(f"  {problem}")
    _know_file(workspace, sprint, version)


def _know_file(workspace: Workspace, sprint: Sprint, version: Version) -> None:
    """Take the file at hand as the one that was imported, not as somebody's edit."""
    place = sprint.plan.place
    if place is None or place_of(workspace.location, version.file) != place:
        return
    kept = sprint_files(workspace).know_imported(sprint, place.path, version.content)
    if kept:
        folder = workspace.location.folder / "edits"
        warn(
            f"{place.path} will be written in our layout from the first event of your "
            f"own on; the original is kept as {folder / kept}"
        )


def _place(workspace: Workspace, version: Version, sprint_dir: Path | None) -> Place | None:
    if sprint_dir is not None:
        return place_in(workspace.location, sprint_dir)
    if version.file.name == PROGRESS:
        return place_of(workspace.location, version.file)
    return None


def _given(files: tuple[Path, ...]) -> Iterator[Version]:
    from ..intake.progress import read_bytes

    for file in files:
        yield Version(str(file), read_bytes(file), None, file)


def _committed(file: Path) -> Iterator[Version]:
    """Yield every committed version of a file, oldest first, then the one at hand."""
    folder = file.absolute().parent.resolve()
    repository = repository_around(folder)
    if repository is None:
        raise RefusedError(f"git cannot read the history: {folder} is no git repository")
    name = (folder / file.name).relative_to(repository.top).as_posix()
    content = b""
    with borrowed(repository, os.environ) as git:
        listing = git.read(
            "log", "--follow", "--reverse", "--format=%x00%H %cI", "--name-only",
            "-z", "--diff-filter=AMR", "--", name,
        )  # fmt: skip
        for commit, date, path in _commits(listing.decode(errors="surrogateescape")):
            content = git.read("cat-file", "blob", f"{commit}:{path}")
            yield Version(f"{path}@{commit[:12]}", content, date, file)
    # What was not committed yet is the newest version of all.
    if file.is_file() and (at_hand := file.read_bytes()) != content:
        yield Version(str(file), at_hand, None, file)


def _commits(listing: str) -> Iterator[tuple[str, str, str]]:
    head = ""
    found = False
    for part in filter(None, (piece.strip("\n") for piece in listing.split("\0"))):
        if len(part) > 41 and part[40] == " " and part[:40].isalnum():
            head = part
        else:
            commit, _, date = head.partition(" ")
            found = True
            yield commit, date, part
    if not found:
        raise RefusedError("git knows no committed version of this file")
