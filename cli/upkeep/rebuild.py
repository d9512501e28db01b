"""`sprintlog rebuild`: the state files anew from the log."""

import sys
from collections.abc import Iterator

from msgspec import structs

from sprintlog.engine.journal.state.journal import JOURNAL
from sprintlog.engine.service.streams.catalogue import State
from sprintlog.engine.service.streams.readings import forget_readings
from sprintlog.projections.sql.search import forget
from sprintlog.projections.state_files.journal_file import JournalFile
from sprintlog.projections.state_files.loop_files import state_files_of
from sprintlog.projections.state_files.loop_place import loop_folder
from sprintlog.projections.state_files.refresh import ProjectedFile, Refreshed
from sprintlog.projections.state_files.sprint_file import SprintFile
from sprintlog.projections.views.log import Rebuilt
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import open_workspace, with_json, with_sprint
from ..output import INTEGRITY, print_answer, print_text, warn

FINE = ("same", "written", "imported", "elsewhere")


@typed.command("rebuild", epilog="Example: sprintlog rebuild --check")
@typed.option("--check", is_flag=True, help="Only compare; exit 4 when a file differs.")
@with_sprint
@with_json
def command(check: bool, sprint_id: str | None, as_json: bool) -> None:
    """Rebuild every sprint and the journal from the log, and write their files.

    Copies of edited files are saved in the log's folder first.
    """
    found: list[tuple[str, Refreshed]] = []
    with open_workspace() as workspace:
        names = [workspace.choose(sprint_id)] if sprint_id else list(workspace.sprints())
        sprints = SprintFile(workspace)
        for name in names:
            found.append((name, _rebuilt(workspace, sprints, name, check=check)))
            _tell("sprint", *found[-1], as_json=as_json)
            for refreshed in _of_loop(workspace, name, check=check):
                found.append((name, refreshed))
                _tell("sprint", name, refreshed, as_json=as_json)
        if sprint_id is None and workspace.journal().exists:
            if not check:
                forget(workspace)
            journals = JournalFile(workspace)
            found.append((JOURNAL, _rebuilt(workspace, journals, JOURNAL, check=check)))
            _tell("stream", *found[-1], as_json=as_json)
        if not found and not as_json:
            print_text("there is no sprint in this log yet")
    if check and any(refreshed.state not in FINE for _, refreshed in found):
        if not as_json:
            warn("`sprintlog rebuild` writes the files again")
        sys.exit(INTEGRITY)


def _rebuilt(
    workspace: Workspace, file: ProjectedFile[State], name: str, *, check: bool
) -> Refreshed:
    if check:
        return file.check(file.repository.from_nothing(name))
    forget_readings(workspace.log, file.repository.kind.stream(name))
    return file.rebuild(name)


def _of_loop(workspace: Workspace, name: str, *, check: bool) -> Iterator[Refreshed]:
    """Yield what became of the files of a sprint's loop, computed from its events."""
    sprint = workspace.sprint(name)
    if loop_folder(workspace, sprint) is not None:
        for file in state_files_of(workspace, sprint):
            yield file.check(sprint) if check else file.refresh(name)


def _tell(kind: str, name: str, refreshed: Refreshed, *, as_json: bool) -> None:
    if refreshed.problem:
        warn(refreshed.problem)
    answer = Rebuilt(**{kind: name}, **structs.asdict(refreshed))
    print_answer(answer, [f"{name}: {_said(refreshed)}"], as_json=as_json)


def _said(refreshed: Refreshed) -> str:
    """Return what became of a file; one may be in another work tree, or another's now."""
    if refreshed.path is None:
        return "no file of its own in this work tree"
    return f"{refreshed.path} {refreshed.state}  {refreshed.digest[:16]}"
