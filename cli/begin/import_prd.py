"""`sprintlog import prd`: stories as phases, and the progress.txt beside them."""

from pathlib import Path

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.journal.intake.migration import TakeText
from sprintlog.engine.journal.intake.progress_text import Parsed, parse_text
from sprintlog.engine.journal.state.journal import JOURNAL
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import SprintImported
from sprintlog.engine.sprint.iterations.stretches import lies_on, path
from sprintlog.engine.sprint.plan.create import ImportDocument
from sprintlog.projections.workspace import Workspace

from ..intake.files import read_text
from ..intake.others.found import Unread, name_from
from ..intake.others.prd_history import (
    StoriesHistory,
    committed_stories,
    stories_at_hand,
)
from ..places import place_in
from ..record import Options, Recording, refresh, refresh_stream
from .taken import tell

TEXT = "progress.txt"


def take_prd(
    workspace: Workspace,
    file: Path,
    options: Options,
    *,
    of_git: bool = False,
    text: Path | None = None,
    sprint_dir: Path | None = None,
) -> None:
    """Record the stories of a file and the entries beside it; both are read first."""
    history = committed_stories(file) if of_git else stories_at_hand(file)
    text_file = text or _beside(file)
    said = read_text(str(text_file)) if text_file else ""
    parsed = parse_text(said)
    newest = history.versions[-1].stories
    names = (*newest.names, file.resolve().parent.name)
    sprint_id = options.sprint_id or name_from(*names)
    run = Recording("import prd", options, workspace)
    recorded = _take_versions(run, sprint_id, history, sprint_dir)
    taken = _take_text(run, said) if said.strip() else 0
    found = {"story": newest.total, "passed": newest.passed}
    if of_git:
        found["version"] = len(history.versions)
    if text_file:
        found["entry"] = len(parsed.entries)
    unread = [*history.unread, *_unread(parsed, text_file)]
    recorded += taken
    tell(run, file, "prd", sprint_id, found=found, recorded=recorded, unread=unread)
    refresh(workspace, sprint_id)
    if taken:
        refresh_stream(workspace, JOURNAL)


def _beside(file: Path) -> Path | None:
    """Return the progress.txt of a loop, which stands beside its stories."""
    beside = file.parent / TEXT
    return beside if beside.is_file() else None


def _take_text(run: Recording, text: str) -> int:
    """Take over the text as `journal migrate` does; return how many events came of it."""
    return len(run.handle_on_journal(TakeText(text), {"text": text}).events)


def _take_versions(
    run: Recording, sprint_id: str, history: StoriesHistory, sprint_dir: Path | None
) -> int:
    """Record the versions that are new; return how many events came of them."""
    workspace, recorded = run.workspace, 0
    # Asked in this order: another import may make it in between.
    is_there = sprint_id in workspace.sprints()
    known, was_imported = in_force(workspace, sprint_id)
    if is_there and not was_imported:
        raise RefusedError(
            f"there is a sprint {sprint_id} already, which was not imported",
            hint="name another one with --sprint",
            sprint=sprint_id,
        )
    place = place_in(workspace.location, sprint_dir) if sprint_dir else None
    for version in history.versions:
        # What was committed once is known by its commit; the file at hand may go back.
        if version.source in (known if version.committed_at else known[-1:]):
            continue
        document = {"sprint-id": sprint_id, **version.stories.document}
        command = ImportDocument(
            document, version.source, place, version.committed_at, with_facts=True
        )
        options = run.options.with_values(at=version.at)
        dated = Recording(run.name, options, workspace)
        outcome = dated.handle_with(command, sprint_id=sprint_id, observed=True)
        recorded += len(outcome.events)
        if outcome.events:
            known.append(version.source)
    return recorded


def in_force(workspace: Workspace, sprint_id: str) -> tuple[list[str], bool]:
    """Return which versions were taken in, and whether any ever was.

    Those that a rollback went back before may come once more.
    """
    sprint = workspace.sprint(sprint_id)
    stretches = path(sprint.knowledge.rollbacks, sprint.version)
    known, was_imported = [], False
    for recorded in workspace.events(sprint_id):
        if recorded.type != SprintImported.type:
            continue
        was_imported = True
        event = CODEC.decode(recorded)
        if isinstance(event, SprintImported) and lies_on(stretches, recorded.version):
            known.append(event.source)
    return known, was_imported


def _unread(parsed: Parsed, text_file: Path | None) -> list[Unread]:
    problem = "neither an entry with its day nor `Codebase Patterns`"
    return [Unread(str(text_file), 0, problem, heading) for heading in parsed.unread]
