"""`sprintlog import journal`: take in what another tool wrote down as progress.json."""

from pathlib import Path

from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.journal.foreign import TakeDocument, remarks, take_document
from sprintlog.engine.journal.progress_text import TakeText, parse_text
from sprintlog.engine.journal.state import JOURNAL
from sprintlog.engine.log.append import APPEND_EVENTS_MAX
from sprintlog.projections.state_files.journal_file import JournalFile
from sprintlog.projections.views.log import TakenIn
from sprintlog.projections.workspace import Workspace

from ..intake.files import decoded, within
from ..intake.journal import JOURNAL_BYTES_MAX, ReadJournal, read_journal
from ..output import counted, print_json, print_text, warn
from ..places import place_of
from ..record import UNNAMED, Options, Recording, refresh_stream


def take_in(workspace: Workspace, file: Path, content: bytes, options: Options) -> None:
    """Record what a progress.json or a text has beyond the journal; report differences."""
    options = options.with_values(
        actor=f"import:{file.name}"[:128] if options.actor in UNNAMED else options.actor
    )
    run = Recording("import journal", options, workspace)
    content = within(JOURNAL_BYTES_MAX, content, file=str(file))
    if content.lstrip()[:1] != b"{":
        text = options.masked({"text": decoded(content, file=str(file))})["text"]
        outcome = run.handle_on_journal(TakeText(text), {"text": text})
        problems = [f"{heading}: not a dated entry" for heading in parse_text(text).unread]
        recorded = len(outcome.events)
        _answer(workspace, file, recorded, problems, as_json=options.as_json)
        refresh_stream(workspace, JOURNAL)
        return
    read = read_journal(content, file=str(file))
    recorded, problems = _record(run, file, read)
    problems += [f"{field}: kept, as of a later version" for field in read.unknown]
    problems += remarks(workspace.document())
    _answer(workspace, file, recorded, problems, as_json=options.as_json)
    _know_file(workspace, file, content)
    refresh_stream(workspace, JOURNAL)


def _record(run: Recording, file: Path, read: ReadJournal) -> tuple[int, list[str]]:
    """Record all that is new, as many events at a time as an append may hold."""
    recorded = 0
    command = TakeDocument(read.document)
    while True:
        ours = run.workspace.documents.current(JOURNAL)
        try:
            problems = take_document(ours, read.document).problems
        except RefusedError as error:
            field = error.fields.get("field")
            problem = error.message.removeprefix(f"{field}: ")
            raise InvalidInputError(problem, file=str(file), field=field) from error
        arguments = {"document": read.document}
        outcome = run.handle_on_journal(command, arguments, without={"refuse_strangers"})
        recorded += len(outcome.events)
        if len(outcome.events) < APPEND_EVENTS_MAX:
            return recorded, problems
        # A key stands for the first of several appends; what is left follows by itself.
        run = run.following()


def _answer(
    workspace: Workspace, file: Path, recorded: int, problems: list[str], *, as_json: bool
) -> None:
    journal = workspace.journal()
    if as_json:
        print_json(
            TakenIn(
                file=str(file),
                stream=JOURNAL,
                version=journal.version,
                position=workspace.log.head().position,
                recorded=recorded,
                unchanged=not recorded,
                problems=problems,
            )
        )
        return
    said = counted(recorded, "event") if recorded else "nothing new"
    found = f", {counted(len(problems), 'remark')}" if problems else ""
    print_text(f"{file}: journal {said}{found}  [version {journal.version}]")
    for problem in problems:
        print_text(f"  {problem}")


def _know_file(workspace: Workspace, file: Path, content: bytes) -> None:
    """Take the journal's own file as the one that was imported, not as somebody's edit."""
    place = place_of(workspace.location, file)
    journal = workspace.journal()
    if place is None or place.path != journal.place:
        return
    kept = JournalFile(workspace).know_imported(journal, journal.place, content)
    if kept:
        folder = workspace.location.folder / "edits"
        warn(
            f"{place.path} is written in our layout now; the original is kept as "
            f"{folder / kept}"
        )
