"""The `sprintlog store prune` command: remove old data that no rollback requires."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.service.agent_sessions import known_sessions as known
from sprintlog.engine.service.work_tree import kept_reports as reports
from sprintlog.engine.service.work_tree import snapshot as snapshots
from sprintlog.engine.sprint.events import SnapshotsPruned
from sprintlog.engine.sprint.iterations.snapshots import KEEP_DEFAULT, PruneSnapshots
from sprintlog.engine.sprint.state.times import parse, to_text
from sprintlog.projections.health.findings import in_units, old_copies, remove_copies
from sprintlog.projections.sql import read_model
from sprintlog.projections.views.events import reference
from sprintlog.projections.views.files import Pruned, Pruning
from sprintlog.projections.views.sessions import SessionsPruned, SessionsPruning
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import with_recording
from ..output import counted, hint, print_answer, warn
from ..record import Options, Recording, recording

_AGE = re.compile(r"(\d{1,5})([mhdw])", re.ASCII)
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def _age(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> timedelta | None:
    if value is None:
        return None
    if (match := _AGE.fullmatch(value)) is None:
        raise click.UsageError(
            f"--older-than {value[:40]!r}: must be an age like 30d or 12h"
        )
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


@typed.command("prune")
@typed.option(
    "--keep",
    type=int,
    default=KEEP_DEFAULT,
    setting="snapshot.keep",
    metavar="N",
    help=f"Number of newest snapshots to keep. [{KEEP_DEFAULT}]",
)
@typed.option(
    "--older-than",
    "age",
    metavar="AGE",
    callback=_age,
    help="Remove only data older than 30d, 12h, 90m or 4w; also removes query copies.",
)
@typed.flag(
    "--sessions",
    help="Erase the texts of agents' sessions, not snapshots; requires --older-than.",
)
@typed.flag("--dry-run", help="Show what would be removed; change nothing.")
@with_recording
def command(
    keep: int, age: timedelta | None, sessions: bool, dry_run: bool, **given: Any
) -> None:
    """Remove old snapshots and copies of reports; events are never removed.

    The newest, first, best and selected snapshots are kept, as are all targets of a
    rollback or its undo. `doctor` shows the space used. With --sessions, the calls of old
    sessions remain as events, but their content is erased permanently.

    Examples: sprintlog store prune --older-than 30d --dry-run

    sprintlog store prune --keep 20

    sprintlog store prune --sessions --older-than 30d
    """
    if sessions and age is None:
        raise click.UsageError("--sessions requires --older-than, such as 30d")
    with recording("prune", given) as run:
        workspace, folder = run.workspace, run.workspace.location.folder
        if sessions and age is not None:
            prune_sessions(workspace, run.options, age=age, dry_run=dry_run)
            return
        since = None if age is None else parse(workspace.now()) - age
        before = 0.0 if since is None else since.timestamp()
        moment = None if since is None else since.isoformat()
        copies = old_copies(folder, before_seconds=before)
        asked = snapshots.pruning(workspace, run.sprint_id, keep=keep, before=moment)
        old = reports.old_reports(workspace, run.sprint_id, keep=keep, until=asked.until)
        if dry_run:
            _show(run, asked, copies, old)
            return
        arguments = {"keep": keep, "older_than": None if age is None else str(age)}
        outcome, freed = snapshots.prune(
            workspace, run.sprint_id, asked=asked, envelope=run.envelope(arguments)
        )
        remove_copies(workspace, copies)
        reports.remove_reports(workspace, old)
        freed += sum(copies.values()) + old.bytes
        removed = snapshots.pruned(outcome)
        answered = Pruned(removed, freed, [*map(reference, outcome.events)], len(old.names))
        said = f"{_both(len(removed), len(old.names))} removed, {in_units(freed)} freed"
        print_answer(answered, [said], as_json=run.options.as_json)
        run.refresh()


def _both(gone: int, old: int) -> str:
    """Return the number of snapshots and, if there are any, of reports, in words."""
    said = counted(gone, "snapshot")
    return f"{said} and {counted(old, 'report')}" if old else said


def _show(
    run: Recording, asked: PruneSnapshots, copies: dict[str, int], old: reports.OldReports
) -> None:
    """Show what pruning would remove."""
    decided = run.workspace.preview(asked, sprint_id=run.sprint_id, at=run.options.at)
    gone = [x for e in decided if isinstance(e, SnapshotsPruned) for x in e.snapshots]
    lines = [f"would remove snapshot {name[:12]}" for name in gone]
    lines += [f"would remove {n}, {in_units(size)}" for n, size in copies.items()]
    lines.append(f"would remove {_both(len(gone), len(old.names))}; nothing is changed")
    print_answer(Pruning(gone, [*copies], old.names), lines, as_json=run.options.as_json)


def prune_sessions(
    workspace: Workspace, options: Options, *, age: timedelta, dry_run: bool
) -> None:
    """Erase the texts in sessions that are older than `age`."""
    found = [*known.old_sessions(workspace.log, to_text(parse(workspace.now()) - age))]
    names = [one.name for one in found]
    payloads = sum(one.payloads for one in found)
    size = sum(one.bytes for one in found)
    what = f"{counted(payloads, 'event')} of {counted(len(found), 'session')}"
    if dry_run:
        lines = [
            f"would erase {counted(one.payloads, 'event')} of {one.name}, "
            f"{in_units(one.bytes)}"
            for one in found
        ]
        lines.append(f"would erase {what}; nothing is changed")
        print_answer(SessionsPruning(names, payloads, size), lines, as_json=options.as_json)
        return
    file = workspace.location.database
    long = _size(file)
    said, at = [], options.at or workspace.now()
    erasing = known.erase_sessions(
        workspace.log, found, reason=_reason(age), actor=options.actor, at=at
    )
    try:
        for appended in erasing:
            said += [*map(reference, appended.events)]
    except SprintlogError as error:
        if not said:
            raise
        # The erasure is recorded; only the disk space is not freed.
        warn(f"the log file did not shrink: {error.message}")
        if error.hint:
            hint(error.hint)
    if said:
        # The query copy still contains the sessions; the next query rebuilds it.
        remove_copies(workspace, {read_model.NAME: 0})
    freed = max(long - _size(file), 0)
    done = SessionsPruned(names, payloads, size, freed, said)
    print_answer(done, [f"{what} erased, {in_units(freed)} freed"], as_json=options.as_json)


def _size(file: Path) -> int:
    """Return the size of the log file, or 0 for a log on a server."""
    return file.stat().st_size if file.exists() else 0


def _reason(age: timedelta) -> str:
    """Return the reason for pruning, worded identically in each run."""
    rest = age - timedelta(days=age.days)
    return f"sessions older than {counted(age.days, 'day') if not rest else age}"
