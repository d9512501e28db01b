"""Commands for the complete journal: location, statistics, search and migration."""

from collections import Counter
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.journal import events as f
from sprintlog.engine.journal.progress_text import TakeText, came_from
from sprintlog.engine.journal.rules import OpenJournal
from sprintlog.engine.journal.state import JOURNAL
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.projections.sql.search import KINDS
from sprintlog.projections.sql.search import search as search_in
from sprintlog.projections.views.journal import Migrated, figures, found_part
from sprintlog.projections.workspace import Workspace

from .. import context, typed
from ..intake.files import read_text
from ..output import print_answer, print_json, print_text, table, warn
from ..places import journal_place
from ..record import arguments_of, recording, refresh_stream

TEXT_PLACES = (".ralph/progress.txt", "scripts/ralph/progress.txt", "progress.txt")
"""The usual paths of a loop's text file in the work tree."""


@typed.command("open")
@typed.option("--project-name", default="", metavar="NAME", help="The name of the project.")
@typed.file_option(
    "--place",
    metavar="PATH",
    help="The path of its file: DIR/progress.json or DIR/journal.json. "
    "[SPRINTLOG_JOURNAL; .ralph/progress.json]",
)
@context.with_envelope
def open_(project_name: str, place: Path | None, **given: Any) -> None:
    """Open the journal; recording the first entry, learning or pattern also opens it.

    If the journal exists, its file is written to the new path from then on; the old file
    does not change.

    Example: sprintlog journal open --project-name my-app
    """
    with recording("journal open", given) as run:
        workspace = run.workspace
        if place is not None:
            workspace.journal_place = journal_place(
                workspace.location, context.here() / place
            )
        command = OpenJournal(project_name)
        if place is not None:
            worktree = workspace.location.worktree
            command = OpenJournal(project_name, workspace.journal_place or "", worktree)
        run.answer(run.handle_on_journal(command, arguments_of(command)))


@typed.command()
@typed.option("--prd", metavar="PRD", help="Show this PRD's attempts and outcomes.")
@context.with_point
def status(prd: str | None, at: str | None, as_json: bool) -> None:
    """Show the counts, the next ids and the common causes of failures.

    Example: sprintlog journal status --prd auth-login --json
    """
    with context.open_workspace() as workspace:
        document = workspace.document(at=at)
        journal = workspace.journals.at_version(JOURNAL, document.version)
    answer = figures(document, journal, prd)
    if as_json:
        print_json(answer)
        return
    for name, value in msgspec.structs.asdict(answer).items():
        if name == "last_entry":
            continue
        said = value
        if value is None:
            said = "none left"
        elif isinstance(value, dict):
            said = ", ".join(f"{key} {count}" for key, count in value.items()) or "none"
        print_text(f"{name.replace('_', ' ')}: {said}")
    if prd is not None:
        last = answer.last_entry
        print_text(f"last entry: {f'{last.id} {last.status}' if last else 'none'}")


@typed.command()
@typed.argument("words", nargs=-1, required=True)
@typed.choice_option("--kind", of=KINDS, help="Only entries of this kind.")
@typed.number_option("--limit", default=20, least=1, help="Print at most N results. [20]")
@context.with_logs
@context.with_json
def search(
    words: tuple[str, ...],
    kind: str | None,
    limit: int,
    logs: dict[str, str],
    as_json: bool,
) -> None:
    """Search learnings, observations and summaries for all of the given words.

    The best match comes first; those of several logs alternate. The index is a cache, built
    from the log on demand.

    Example: sprintlog journal search callback slash --kind learning
    """
    each = []
    with context.open_logs(logs) as opened:
        for name, workspace in opened.items():
            hits = search_in(workspace, " ".join(words), kind=kind, limit=limit)
            learnings = workspace.journal().learnings
            each.append([found_part(hit, learnings, name) for hit in hits])
    answer = [x for several in zip_longest(*each) for x in several if x is not None]
    answer = answer[:limit]
    rows = [
        (
            *((hit.log,) if hit.log else ()),
            hit.kind,
            f"{hit.id} {hit.number}" if hit.number else hit.id,
            f"(retired) {hit.title}"
            if hit.still_valid is False
            else hit.title.partition("\n")[0],
        )
        for hit in answer
    ]
    print_answer(answer, table(rows) or ["nothing found"], as_json=as_json)


@typed.command()
@typed.path_argument("file", required=False)
@context.with_envelope
def migrate(file: Path | None, **given: Any) -> None:
    """Import a progress.txt: entries, learnings, patterns and the full text.

    Without FILE, the command searches for .ralph/progress.txt, scripts/ralph/progress.txt
    and progress.txt. A file found there is renamed to progress.txt.backup; a given FILE
    does not change. Importing a file again has no effect; a longer version adds its new
    entries.

    Without FILE, nothing happens if there is a progress.json or a journal; otherwise, if no
    progress file is found, an empty journal is created.

    Examples: sprintlog journal migrate

    sprintlog journal migrate scripts/ralph/progress.txt
    """
    with recording("journal migrate", given) as run:
        workspace = run.workspace
        if file is None and _is_in_the_way(workspace):
            return
        usual = [workspace.location.root / place for place in TEXT_PLACES]
        source = _found(usual) if file is None else context.here() / file
        text = "" if source is None else read_text(str(source))
        # Masked, because it is compared with the recorded text.
        text = run.options.masked({"text": text})["text"]
        if source is not None and not _is_wanted(workspace, source, text, named=file):
            return
        backup = None
        if source is not None and source in usual:
            backup = source.with_name(f"{source.name}.backup")
            _check_free(backup)
        outcome = run.handle_on_journal(TakeText(text), {"text": text})
        if source is None or not outcome.events:
            run.answer(outcome)
        else:
            try:
                _tell_taken(workspace, source, outcome.events, as_json=run.options.as_json)
            finally:
                refresh_stream(workspace, JOURNAL)
        if source is not None and backup is not None:
            source.rename(backup)


def _is_in_the_way(workspace: Workspace) -> bool:
    """Return whether another tool's file is at the journal's path, and warn about it."""
    place = workspace.journal_place or f.PLACE
    is_there = not workspace.journal().exists and workspace.files.look(place).is_foreign
    if is_there:
        warn(f"{place} already exists; use `sprintlog import journal FILE` to import it")
    return is_there


def _found(usual: list[Path]) -> Path | None:
    """Return the text file at a usual path; raise `RefusedError` for several files."""
    found = [path for path in usual if path.is_file()]
    if len(found) > 1:
        raise RefusedError(
            f"several texts were found: {', '.join(map(str, found))}",
            hint="specify one: `sprintlog journal migrate FILE`",
            allowed=[str(path) for path in found],
        )
    return found[0] if found else None


def _is_wanted(
    workspace: Workspace, source: Path, text: str, *, named: Path | None
) -> bool:
    """Return whether to import the text: it was specified, or the journal is empty.

    The import is also repeated if an interrupted migration started with the same text.
    """
    document = workspace.documents.current(JOURNAL)
    if named is not None or not document.version or came_from(document, text):
        return True
    if not text.strip() and not (document.entries or document.learnings):
        return True
    warn(
        f"{source} is unchanged: the journal is open; "
        "use `sprintlog journal migrate FILE` to import the text"
    )
    return False


def _check_free(backup: Path) -> None:
    if backup.exists():
        raise RefusedError(
            f"{backup} already exists and would be replaced",
            hint="move it elsewhere, then repeat the command",
            file=str(backup),
        )


def _tell_taken(
    workspace: Workspace, source: Path, events: list[RecordedEvent], *, as_json: bool
) -> None:
    """Print the numbers of imported entries, learnings and patterns."""
    kinds = Counter(event.type for event in events)
    counts = {
        "entries": kinds[f.EntryRecorded.type],
        "learnings": kinds[f.LearningAdded.type],
        "patterns": kinds[f.PatternDiscovered.type],
    }
    version = workspace.journal().version
    answer = Migrated(str(source), JOURNAL, version, len(events), **counts)
    said = ", ".join(f"{count} {name}" for name, count in counts.items())
    print_answer(answer, [f"{source.name}: {said}  [version {version}]"], as_json=as_json)
