"""`sprintlog prune`: remove what is old, as far as nothing goes back to it."""

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from sprintlog.engine.sprint.events import SnapshotsPruned
from sprintlog.engine.sprint.iterations.snapshots import KEEP_DEFAULT, PruneSnapshots
from sprintlog.engine.sprint.state.times import parse

from .. import typed
from ..context import with_recording
from ..output import counted, print_answer
from ..record import Options, Recording, recording

if TYPE_CHECKING:
    from sprintlog.engine.service.work_tree.kept_reports import OldReports

_AGE = re.compile(r"(\d{1,5})([mhdw])", re.ASCII)
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def _age(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> timedelta | None:
    if value is None:
        return None
    if (match := _AGE.fullmatch(value)) is None:
        raise click.UsageError(f"--older-than {value[:40]!r}: give an age like 30d or 12h")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


@typed.command(
    "prune",
    epilog="Examples: sprintlog prune --older-than 30d --dry-run\n\n"
    "sprintlog prune --keep 20\n\nsprintlog prune --sessions --older-than 30d",
)
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
    help="Only older data: 30d, 12h, 90m, 4w; also removes the copies for queries.",
)
@typed.option(
    "--sessions",
    is_flag=True,
    help="Erase the content of agents' tool calls, not snapshots; with --older-than.",
)
@typed.option("--dry-run", is_flag=True, help="Show what would be removed; change nothing.")
@with_recording
def command(
    keep: int, age: timedelta | None, sessions: bool, dry_run: bool, **given: Any
) -> None:
    """Remove old snapshots and copies of reports; events are never removed.

    It keeps the newest, the first, the best and the selected one, and all targets of a
    rollback or its undo. `doctor` shows the space used. With --sessions the calls of old
    sessions remain as events, but their content is erased permanently.
    """
    if sessions and age is None:
        raise click.UsageError("--sessions goes with --older-than, such as 30d")
    if sessions and age is not None:
        from .prune_sessions import prune_sessions

        options = Options(given)
        with recording("prune", options) as run:
            prune_sessions(run.workspace, options, age=age, dry_run=dry_run)
        return
    from sprintlog.engine.service.work_tree.kept_reports import (
        old_reports,
        remove_reports,
    )
    from sprintlog.engine.service.work_tree.snapshot import (
        prune,
        pruned,
        pruning,
        store_of,
    )
    from sprintlog.projections.health.room import in_units, old_copies, remove_copies
    from sprintlog.projections.views.events import reference
    from sprintlog.projections.views.files import Pruned

    options = Options(given)
    with recording("prune", options) as run:
        workspace, folder = run.workspace, run.workspace.location.folder
        since = None if age is None else parse(workspace.now()) - age
        before = 0.0 if since is None else since.timestamp()
        moment = None if since is None else since.isoformat()
        copies = old_copies(folder, before_seconds=before)
        asked = pruning(workspace, run.sprint_id, keep=keep, before=moment)
        old = old_reports(workspace, run.sprint_id, keep=keep, until=asked.until)
        if dry_run:
            _show(run, asked, copies, old)
            return
        arguments = {"keep": keep, "older_than": None if age is None else str(age)}
        outcome, freed = prune(
            workspace,
            run.sprint_id,
            store_of(workspace),
            asked=asked,
            envelope=run.envelope(arguments),
        )
        remove_copies(workspace, copies)
        remove_reports(workspace, old)
        freed += sum(copies.values()) + old.bytes
        removed = pruned(outcome)
        events = [*map(reference, outcome.events)]
        answered = Pruned(removed, freed, events, len(old.names))
        both = _both(len(removed), len(old.names))
        said = f"{both} removed, {in_units(freed)} freed"
        print_answer(answered, [said], as_json=options.as_json)
        run.refresh()


def _both(snapshots: int, reports: int) -> str:
    """Return how many snapshots, and how many kept reports where there are any."""
    said = counted(snapshots, "snapshot")
    return f"{said} and {counted(reports, 'report')}" if reports else said


def _show(
    run: Recording, asked: PruneSnapshots, copies: dict[str, int], old: "OldReports"
) -> None:
    """Show what would be removed."""
    from sprintlog.projections.health.room import in_units
    from sprintlog.projections.views.files import Pruning

    decided = run.workspace.preview(asked, sprint_id=run.sprint_id, at=run.options.at)
    gone = [x for e in decided if isinstance(e, SnapshotsPruned) for x in e.snapshots]
    lines = [f"would remove snapshot {name[:12]}" for name in gone]
    lines += [f"would remove {n}, {in_units(size)}" for n, size in copies.items()]
    lines.append(f"would remove {_both(len(gone), len(old.names))}; nothing is changed")
    answer = Pruning(gone, [*copies], old.names)
    print_answer(answer, lines, as_json=run.options.as_json)
