"""The `sprintlog rebuild` command: write the state files from the log again."""

import sys
from collections.abc import Iterator

from msgspec import structs

from sprintlog.engine.journal.state import JOURNAL
from sprintlog.engine.service.streams.catalogue import State
from sprintlog.engine.service.streams.checkpoints import forget_readings
from sprintlog.projections.sql.search import forget
from sprintlog.projections.state_files.journal_file import JournalFile
from sprintlog.projections.state_files.loop_place import files_of_loop
from sprintlog.projections.state_files.refresh import ProjectedFile, Refreshed
from sprintlog.projections.state_files.sprint_file import SprintFile
from sprintlog.projections.views.log import Rebuilt
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import open_workspace, with_json, with_sprint
from ..output import INTEGRITY, print_answer, print_text, warn

FINE = ("same", "written", "imported", "elsewhere")


@typed.command("rebuild")
@typed.flag("--check", help="Only compare; exit with 4 if a file differs.")
@with_sprint
@with_json
def command(check: bool, sprint_id: str | None, as_json: bool) -> None:
    """Rebuild all sprints and the journal from the log, and write their files.

    Copies of edited files are saved in the log's folder first.

    Example: sprintlog rebuild --check
    """
    states = []
    with open_workspace() as workspace:
        for kind, name, refreshed in _files(workspace, sprint_id, check=check):
            _tell(kind, name, refreshed, as_json=as_json)
            states.append(refreshed.state)
        if not states and not as_json:
            print_text("there is no sprint in this log yet")
    if check and any(state not in FINE for state in states):
        if not as_json:
            warn("run `sprintlog rebuild` to write the files again")
        sys.exit(INTEGRITY)


def _files(
    workspace: Workspace, sprint_id: str | None, *, check: bool
) -> Iterator[tuple[str, str, Refreshed]]:
    """Yield each file's result, preceded by the kind and name of its stream."""
    sprints = SprintFile(workspace)
    for name in [workspace.choose(sprint_id)] if sprint_id else [*workspace.sprints()]:
        yield "sprint", name, _rebuilt(workspace, sprints, name, check=check)
        sprint = workspace.sprint(name)
        for file in files_of_loop(workspace, sprint):
            yield "sprint", name, file.check(sprint) if check else file.refresh(sprint)
    if sprint_id is None and workspace.journal().exists:
        if not check:
            forget(workspace)
        journals = JournalFile(workspace)
        yield "stream", JOURNAL, _rebuilt(workspace, journals, JOURNAL, check=check)


def _rebuilt(
    workspace: Workspace, file: ProjectedFile[State], name: str, *, check: bool
) -> Refreshed:
    if check:
        return file.check(file.repository.from_nothing(name))
    forget_readings(workspace.log, file.repository.kind.stream(name))
    return file.rebuild(name)


def _tell(kind: str, name: str, refreshed: Refreshed, *, as_json: bool) -> None:
    if refreshed.problem:
        warn(refreshed.problem)
    answer = Rebuilt(**{kind: name}, **structs.asdict(refreshed))
    print_answer(answer, [f"{name}: {_said(refreshed)}"], as_json=as_json)


def _said(refreshed: Refreshed) -> str:
    """Return a file's path, state and digest, or a note if it is not in this work tree."""
    if refreshed.path is None:
        return "no file in this work tree"
    return f"{refreshed.path} {refreshed.state}  {refreshed.digest[:16]}"
