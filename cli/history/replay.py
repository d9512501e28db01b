"""The `sprintlog replay` command: the changes made by each event of a sprint."""

from collections.abc import Iterator

import click

from sprintlog.projections.history.replay import ReplayStep, replay
from sprintlog.projections.views import history as views

from .. import typed
from ..back.changes import changed
from ..context import AT_POINT, ReadOptions, open_workspace, with_reading
from ..output import first, fitting, print_json, print_text
from ..screen import times
from ..screen.pager import paged

CHANGES_MAX = 12
DERIVED = ("last-activity", "stats.elapsed")


@typed.command("replay")
@typed.option(
    "--from",
    "since",
    metavar="POINT",
    callback=AT_POINT,
    help="Start after position:N, version:N, iter:N, best, start or a time.",
)
@typed.option("--to", "until", metavar="POINT", callback=AT_POINT, help="The same as --at.")
@with_reading
def command(since: str | None, until: str | None, reading: ReadOptions) -> None:
    """Replay a sprint's events one by one and show their effects.

    --json prints one line per event: type, time, actor and reason, its changes to
    PROGRESS.yaml as JSON Patch, and the same changes field by field. Applying the patches
    in order turns the state at the first point into the state at the second.

    Example: sprintlog replay --from iter:2 --to iter:3
    """
    if reading.at is not None and until is not None:
        raise click.UsageError("--to and --at are the same option and cannot be combined")
    with open_workspace() as workspace:
        name = workspace.choose(reading.sprint_id)
        steps = replay(workspace, name, since=since, until=until or reading.at)
        if reading.as_json:
            for step in steps:
                print_json(views.step(step))
        else:
            with paged():
                for step in steps:
                    print_text(*_lines(step))


def _lines(step: ReplayStep) -> Iterator[str]:
    event = step.event
    why = f"  {step.reason}" if step.reason else ""
    at = times.when(event.at)
    yield fitting(f"{event.version:>4}  {at}  {event.actor}  {event.type}{why}")
    lines = [
        changed(change, indent=" " * 8)
        for change in step.changes()
        if change.field not in DERIVED and change.what != "moved"
    ]
    yield from first(lines, CHANGES_MAX, "        … and {} more")
