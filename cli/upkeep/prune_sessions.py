"""`prune --sessions`: what tool calls of old sessions said is erased."""

from datetime import timedelta
from pathlib import Path

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.service.agent_sessions.old_sessions import (
    erase_sessions,
    old_sessions,
)
from sprintlog.engine.sprint.state.times import parse, to_text
from sprintlog.projections.health.room import in_units, remove_copies
from sprintlog.projections.sql import read_model
from sprintlog.projections.views.events import reference
from sprintlog.projections.views.sessions import SessionsPruned, SessionsPruning
from sprintlog.projections.workspace import Workspace

from ..output import counted, hint, print_answer, warn
from ..record import Options


def prune_sessions(
    workspace: Workspace, options: Options, *, age: timedelta, dry_run: bool
) -> None:
    """Erase what was said of the tool calls of sessions that are older than an age."""
    before = parse(workspace.now()) - age
    found = [*old_sessions(workspace.log, to_text(before))]
    names, calls = [one.name for one in found], sum(one.calls for one in found)
    size = sum(one.bytes for one in found)
    what = f"{counted(calls, 'tool call')} of {counted(len(found), 'session')}"
    if dry_run:
        lines = [
            f"would erase {counted(one.calls, 'tool call')} of {one.name}, "
            f"{in_units(one.bytes)}"
            for one in found
        ]
        lines.append(f"would erase {what}; nothing is changed")
        answer = SessionsPruning(names, calls, size)
        print_answer(answer, lines, as_json=options.as_json)
        return
    file = workspace.location.database
    long = _size(file)
    said, at = [], options.at or workspace.now()
    erasing = erase_sessions(
        workspace.log, found, reason=_reason(age), actor=options.actor, at=at
    )
    try:
        for appended in erasing:
            said += [*map(reference, appended.events)]
    except SprintlogError as error:
        if not said:
            raise
        # It is erased, and it is said so: only the space is not given back.
        warn(f"the file of the log is as long as before: {error.message}")
        if error.hint:
            hint(error.hint)
    if said:
        # The copy for queries holds it still; the next question makes it again.
        remove_copies(workspace, {read_model.NAME: 0})
    freed = max(long - _size(file), 0)
    done = SessionsPruned(names, calls, size, freed, said)
    print_answer(done, [f"{what} erased, {in_units(freed)} freed"], as_json=options.as_json)


def _size(file: Path) -> int:
    """Return how long the log's file is; 0 where it is on a server."""
    return file.stat().st_size if file.exists() else 0


def _reason(age: timedelta) -> str:
    """Return why, in words that are the same whenever it is done."""
    rest = age - timedelta(days=age.days)
    return f"sessions older than {counted(age.days, 'day') if not rest else age}"
