"""`sprintlog diff`: the differences of a state file between two points."""

import re

import click

from sprintlog.engine.sprint.iterations.snapshots import has_snapshot
from sprintlog.projections.history.blame_files import STATE_FILES
from sprintlog.projections.history.differences import difference
from sprintlog.projections.views import history as views
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..back.changes import changed
from ..context import SPRINT_POINT, open_workspace, with_json, with_sprint
from ..output import coloured, hint, print_json, print_text, visible
from ..screen.pager import paged
from ..screen.terminal import BAD, GOOD, QUIET, Ready


@typed.command(
    "diff",
    epilog="Examples: sprintlog diff iter:2 iter:3\n\n"
    "sprintlog diff auth@start auth-2@ --unified",
)
@typed.argument("old", metavar="FROM", callback=SPRINT_POINT)
@typed.argument("new", metavar="[TO]", required=False, callback=SPRINT_POINT)
@typed.option("--json-patch", is_flag=True, help="As JSON Patch (RFC 6902).")
@typed.option("--unified", is_flag=True, help="As a unified diff of the file's text.")
@typed.option(
    "--file",
    type=typed.Choice(list(STATE_FILES)),
    default="progress",
    help="The state file. [progress]",
)
@with_sprint
@with_json
def command(
    old: str,
    new: str | None,
    json_patch: bool,
    unified: bool,
    file: str,
    sprint_id: str | None,
    as_json: bool,
) -> None:
    """Compare the plan at two points; without TO, one point and now.

    A point is position:N, version:N, iter:N, best, start, a time or '2h ago'; SPRINT@POINT
    is a point of another sprint, and SPRINT@ its current state. The output has one line per
    field. Applying the JSON Patch to the first document results in exactly the second.
    """
    if json_patch + unified + as_json > 1:
        raise click.UsageError("give one of --json-patch, --unified and --json")
    with open_workspace() as workspace:
        found = difference(workspace, old, new, sprint_id=sprint_id, file=file)
        files = _files_of(workspace, sprint_id, old, new) if file == "progress" else None
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
            first, second = files
            hint(f"of the work tree's files: `sprintlog iteration diff {first} {second}`")


def _files_of(
    workspace: Workspace, sprint_id: str | None, old: str, new: str | None
) -> tuple[str, str] | None:
    """Return two iterations whose files were kept, where the points mean such.

    Until now means the last one of them.
    """
    numbers = [re.fullmatch(r"iter:(\d{1,9})", point or "") for point in (old, new)]
    if numbers[0] is None or (new is not None and numbers[1] is None):
        return None
    sprint = workspace.sprint(workspace.choose(sprint_id))
    first = int(numbers[0][1])
    kept = [one for one, _ in sprint.knowledge.iterations if has_snapshot(sprint, one)]
    second = int(numbers[1][1]) if numbers[1] else max(kept, default=first)
    if first == second or not {first, second} <= {*kept}:
        return None
    return f"iter:{first}", f"iter:{second}"


def _toned(line: str) -> Ready:
    """Return a line of a unified diff in the colour of what became of it."""
    tones = {"+": GOOD, "-": BAD, "@": QUIET}
    return Ready(coloured(visible(line), tones.get(line[:1])))
