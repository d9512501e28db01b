"""The `sprintlog diff` command: the differences in a state file between two points."""

import re

import click

from sprintlog.engine.sprint.iterations.snapshots import has_snapshot
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.history.blame_files import STATE_FILES
from sprintlog.projections.history.differences import difference
from sprintlog.projections.views import history as views

from .. import typed
from ..back.changes import changed
from ..context import SPRINT_POINT, open_workspace, with_json, with_sprint
from ..iterations.snapshots import authored_lines, compared
from ..output import coloured, hint, print_json, print_text, visible
from ..screen.pager import paged
from ..screen.terminal import BAD, GOOD, QUIET, Ready


@typed.command("diff")
@typed.argument("old", metavar="[FROM]", required=False, callback=SPRINT_POINT)
@typed.argument("new", metavar="[TO]", required=False, callback=SPRINT_POINT)
@typed.flag("--json-patch", help="Print a JSON Patch (RFC 6902).")
@typed.flag("--unified", help="Print a unified diff of the files' text.")
@typed.choice_option(
    "--file",
    of=list(STATE_FILES),
    help="The state file to compare. [progress, or the work tree's files]",
)
@with_sprint
@with_json
def command(
    old: str | None,
    new: str | None,
    json_patch: bool,
    unified: bool,
    file: str | None,
    sprint_id: str | None,
    as_json: bool,
) -> None:
    """Compare the plan at two points; TO defaults to the current state.

    For a goal loop, the work tree's files are compared if both points are iterations with
    snapshots; without FROM, the last two iterations with snapshots are compared. --file
    compares a state file.

    A point is position:N, version:N, iter:N, best, start, a time or '2h ago'; SPRINT@POINT
    is a point of another sprint, and SPRINT@ its current state. The output has one line per
    field. Applying the JSON Patch to the first document produces exactly the second.

    Examples: sprintlog diff iter:2 iter:3

    sprintlog diff auth@start auth-2@ --unified
    """
    if json_patch + unified + as_json > 1:
        raise click.UsageError("--json-patch, --unified and --json cannot be combined")
    with open_workspace() as workspace:
        files = None
        if file in (None, "progress"):
            sprint = workspace.sprint(workspace.choose(sprint_id))
            files = _files_of(sprint, old, new)
            is_plain = not (file or json_patch or as_json)
            if files and is_plain and (sprint.plan.is_ralph or not old):
                two = compared(workspace, sprint, files, as_patch=unified)
                lines = (two.patch or "").splitlines() if unified else authored_lines(two)
                print_text(*lines or ["no file differs"])
                more = f"sprintlog diff {' '.join(files)}"
                lines_of = "" if unified else f"use `{more} --unified` to show the lines; "
                hint(f"{lines_of}use `{more} --file progress` to compare the plan's fields")
                return
        if old is None:
            raise click.UsageError("missing argument FROM")
        file = file or "progress"
        found = difference(workspace, old, new, sprint_id=sprint_id, file=file)
    if json_patch:
        print_json(found.json_patch())
    elif unified:
        with paged():
            print_text(*map(_toned, found.unified().split("\n")[:-1]))
    elif as_json:
        print_json(views.difference(found))
    else:
        with paged():
            lines = [changed(change) for change in found.changes()]
            print_text(*lines or ["no difference"])
        if files is not None:
            hint(f"use `sprintlog iteration diff {' '.join(files)}` to compare files")


def _files_of(sprint: Sprint, old: str | None, new: str | None) -> tuple[str, str] | None:
    """Return two iterations with snapshots, or None if the points are anything else.

    Missing points default to the last iterations with snapshots.
    """
    numbers = [re.fullmatch(r"iter:(\d{1,9})", point) for point in (old, new) if point]
    begun = {number for number, _ in sprint.knowledge.iterations}
    kept = sorted(one for one in begun if has_snapshot(sprint, one))
    named = [int(number[1]) for number in numbers if number]
    points = named if new else [*named, *kept[len(named) - 2 :]]
    if None in numbers or len({*points} & {*kept}) != 2:
        return None
    return f"iter:{points[0]}", f"iter:{points[1]}"


def _toned(line: str) -> Ready:
    """Return a line of a unified diff, coloured according to the kind of change."""
    return Ready(coloured(visible(line), {"+": GOOD, "-": BAD, "@": QUIET}.get(line[:1])))
