"""Import of sprintlog's own formats: PROGRESS.yaml, progress.json and dated text files."""

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from msgspec import UNSET

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.journal.foreign import TakeDocument, remarks, take_document
from sprintlog.engine.journal.progress_text import TakeText, parse_text
from sprintlog.engine.journal.state import JOURNAL
from sprintlog.engine.log.append import APPEND_EVENTS_MAX
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.sprint.events import Place
from sprintlog.engine.sprint.plan.create import ImportDocument
from sprintlog.engine.sprint.plan.imported_documents import contradictions
from sprintlog.projections.state_files.journal_file import JournalFile
from sprintlog.projections.state_files.sprint_file import SprintFile
from sprintlog.projections.views.log import TakenIn
from sprintlog.projections.workspace import Outcome, Workspace

from ..intake.files import decoded, naming, within
from ..intake.journal import JOURNAL_BYTES_MAX, ReadJournal, read_journal
from ..intake.versions import Version
from ..output import counted, print_answer, print_text, visible, warn
from ..places import PROGRESS, place_in, place_of
from ..record import Options, Recording, refresh, refresh_stream
from .import_record import Import, known_sources

TOLD_MAX = 20
"""The maximum number of contradictions between versions that a terminal shows."""


def take_versions(
    workspace: Workspace,
    versions: Sequence[Version],
    options: Options,
    sprint_dir: Path | None,
) -> None:
    """Record each new version of the sprints' documents, then update the state files."""
    newest = {version.sprint_id: version for version in versions}
    known = {name: {*known_sources(workspace, name).every} for name in newest}
    told: list[list[str]] = []
    for version in versions:
        problems: list[str] = []
        outcome = None
        if version.committed_at is None or version.name not in known[version.sprint_id]:
            problems = [*version.remarks, *contradictions(version.document)]
            told.append(problems)
            outcome = _record_version(workspace, version, options, sprint_dir)
        sprint = outcome.sprint if outcome else workspace.sprint(version.sprint_id)
        last = outcome.events[-1] if outcome and outcome.events else None
        answer = TakenIn(
            file=version.name,
            stream=sprint_stream(version.sprint_id),
            version=sprint.version,
            position=last.position if last else workspace.log.head().position,
            unchanged=last is None,
            problems=problems,
            at=UNSET if version.committed_at is None else version.at,
            committed_at=version.committed_at or UNSET,
            id=last.id if last else UNSET,
            type=last.type if last else UNSET,
            hash=last.hash.hex() if last else UNSET,
        )
        said = "no difference" if answer.unchanged else f"version {sprint.version}"
        said = said if outcome else "recorded before"
        count = f", {counted(len(problems), 'contradiction')}" if problems else ""
        line = f"{version.name}: {sprint.id} {said}{count}  [position {answer.position}]"
        print_answer(answer, [line], as_json=options.as_json)
    if not options.as_json:
        for line in summary(told):
            print_text(f"  {line}")
    for sprint_id, version in newest.items():
        _know_version(workspace, version)
        # Only now, because the current file differs from the older versions.
        refresh(workspace, sprint_id)


def _record_version(
    workspace: Workspace, version: Version, options: Options, sprint_dir: Path | None
) -> Outcome:
    place: Place | None = None
    if sprint_dir is not None:
        place = place_in(workspace.location, sprint_dir)
        written = workspace.sprint(version.sprint_id).plan.place
        if written not in (None, place):
            raise RefusedError(
                f"sprint {version.sprint_id} already writes its file at "
                f"{written.path}: an import cannot move it",
                hint="omit --sprint-dir",
                sprint=version.sprint_id,
            )
    elif version.file.name == PROGRESS and version.file.is_file():
        # A deleted file is not restored.
        place = place_of(workspace.location, version.file)
    document = version.document
    run = Import("progress", version.file, options, workspace)
    run.options.tell_masked(document, of=version.name)
    source, committed_at = version.name[-500:], version.committed_at
    command = ImportDocument(document, source, place, committed_at, with_facts=True)
    at, arguments = version.at or options.at, {"document": document}
    return run.record_fact(version.sprint_id, command, arguments, at=at)


def _know_version(workspace: Workspace, version: Version) -> None:
    """Mark the current file as the imported version, so that it is not seen as an edit."""
    content = version.content
    sprint = workspace.sprint(version.sprint_id)
    place = sprint.plan.place
    if content is None or place is None:
        return
    if place_of(workspace.location, version.file) != place:
        return
    said, is_so = workspace.files.checksum_says(place.path), sha256(content).hexdigest()
    if said not in (None, is_so):
        warn(
            f"{place.path}.checksum does not match: it contains "
            f"{visible(str(said)[:64])}, but the file has {is_so}; the first new event "
            "replaces both"
        )
    kept = SprintFile(workspace).know_imported(sprint, place.path, content)
    written = "will be rewritten in sprintlog's layout by the first new event"
    _tell_kept(workspace, f"{place.path} {written}", kept)


def _tell_kept(workspace: Workspace, what: str, kept: str | None) -> None:
    if kept:
        folder = workspace.location.folder / "edits"
        warn(f"{what}; the original is saved as {folder / kept}")


def summary(problems: list[list[str]]) -> list[str]:
    """Return the rule violations found in several versions, without duplicates.

    If several versions have the same problem, the newest version's wording is returned.
    """
    newest = {_place_of(problem): problem for found in problems for problem in found}
    if len(problems) == 1:
        return problems[0]
    versions = Counter(
        place for found in problems for place in {_place_of(problem) for problem in found}
    )
    lines = [
        f"{newest[place]}  ({number} of {counted(len(problems), 'version')})"
        for place, number in versions.most_common(TOLD_MAX)
    ]
    if (more := len(newest) - len(lines)) > 0:
        lines.append(f"{more} more; --json has all of them")
    return lines


def _place_of(problem: str) -> str:
    """Return a problem's first two words: the subject and the verb."""
    return " ".join(problem.split(" ", 2)[:2])


def take_journal(
    workspace: Workspace, file: Path, content: bytes, options: Options
) -> None:
    """Import a progress.json or a text file into the journal, and report differences."""
    run = Import("journal", file, options, workspace)
    content = within(JOURNAL_BYTES_MAX, content, file=str(file))
    is_document = content.lstrip()[:1] == b"{"
    if is_document:
        read = read_journal(content, file=str(file))
        recorded, problems = _record_journal(run, file, read)
        problems += [f"{field}: kept, as of a later version" for field in read.unknown]
        problems += remarks(workspace.document())
    else:
        text = run.options.masked({"text": decoded(content, file=str(file))})["text"]
        recorded = len(run.handle_on_journal(TakeText(text), {"text": text}).events)
        problems = [f"{heading}: not a dated entry" for heading in parse_text(text).unread]
    journal = workspace.journal()
    answer = TakenIn(
        file=str(file),
        stream=JOURNAL,
        version=journal.version,
        position=workspace.log.head().position,
        recorded=recorded,
        unchanged=not recorded,
        problems=problems,
    )
    said = counted(recorded, "event") if recorded else "nothing new"
    found = f", {counted(len(problems), 'remark')}" if problems else ""
    line = f"{file}: journal {said}{found}  [version {journal.version}]"
    lines = [line, *(f"  {problem}" for problem in problems)]
    print_answer(answer, lines, as_json=options.as_json)
    place = place_of(workspace.location, file)
    if is_document and place is not None and place.path == journal.place:
        kept = JournalFile(workspace).know_imported(journal, journal.place, content)
        _tell_kept(workspace, f"{place.path} is written in sprintlog's layout now", kept)
    refresh_stream(workspace, JOURNAL)


def _record_journal(run: Recording, file: Path, read: ReadJournal) -> tuple[int, list[str]]:
    """Record all new entries, split into appends that do not exceed the maximum size."""
    recorded = 0
    while True:
        ours = run.workspace.documents.current(JOURNAL)
        with naming(str(file)):
            problems = take_document(ours, read.document).problems
        command, arguments = TakeDocument(read.document), {"document": read.document}
        outcome = run.handle_on_journal(command, arguments, without={"refuse_strangers"})
        recorded += len(outcome.events)
        if len(outcome.events) < APPEND_EVENTS_MAX:
            return recorded, problems
        # Only the first of several appends has the idempotency key.
        run = run.following()
