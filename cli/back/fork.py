"""The `sprintlog fork` command: a new sprint from any point of an existing one."""

from pathlib import Path, PurePosixPath

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.masking import mask_all
from sprintlog.engine.service.fork import fork
from sprintlog.engine.sprint.events import Place
from sprintlog.projections.views import back as views
from sprintlog.projections.workspace import Workspace

from .. import context, places, typed
from ..output import print_answer
from ..record import check_actor, refresh_stream, summary
from .agreement import with_dry_run


@typed.command("fork")
@typed.argument("name")
@typed.option(
    "--from",
    "point",
    required=True,
    metavar="POINT",
    callback=context.AT_POINT,
    help="Fork from version:N, position:N, iter:N (its end), start, a time, or '2h ago'.",
)
@typed.folder_option(
    "--sprint-dir",
    help="The folder for its PROGRESS.yaml. [NAME, next to the original's folder]",
)
@typed.option("--reason", metavar="TEXT", help="Why.")
@with_dry_run
@context.with_actor
@context.with_sprint
@context.with_json
def command(
    name: str,
    point: str,
    sprint_dir: Path | None,
    reason: str | None,
    dry_run: bool,
    actor: str,
    sprint_id: str | None,
    as_json: bool,
) -> None:
    """Create a sprint NAME from a point of another sprint, which does not change.

    The events up to that point are included, with their versions, times and actors. From
    then on, the sprints are independent, each with its own PROGRESS.yaml. Files are not
    copied: `sprintlog restore iter:N --branch NAME` creates a branch from the saved files.

    Example: sprintlog fork auth-again --from iter:3 --reason 'another approach'
    """
    check_actor(actor)
    with context.open_workspace() as workspace:
        source = workspace.choose(sprint_id)
        version = workspace.version_at(source, point)
        place = _place(workspace, source, name, sprint_dir)
        outcome = fork(
            workspace,
            source,
            name=name,
            version=version,
            place=place,
            actor=actor,
            reason=mask_all(reason),
            is_dry=dry_run,
        )
        forked = views.forked(outcome, version=version, done=not dry_run)
        file = f"; its file is {place.path}" if place is not None else ""
        said = f"{name}: would fork {source} at version {version}{file}"
        try:
            print_answer(forked, [said if dry_run else summary(outcome)], as_json=as_json)
        finally:
            if not dry_run:
                refresh_stream(workspace, forked.stream)


def _place(
    workspace: Workspace, source: str, name: str, sprint_dir: Path | None
) -> Place | None:
    """Return the place of the fork's state file; raise `RefusedError` if it exists."""
    if sprint_dir is not None:
        place = places.place_in(workspace.location, sprint_dir)
    elif (old := workspace.sprint(source).plan.place) is not None:
        file = PurePosixPath(old.path)
        above = file.parent.parent if file.parent.name else file.parent
        place = Place((above / name / file.name).as_posix(), workspace.location.worktree)
    else:
        return None
    is_ours = workspace.sprint(name).plan.place == place
    if not is_ours and workspace.files.look(place.path).content is not None:
        raise RefusedError(
            f"{place.path} already exists",
            hint="specify another folder with --sprint-dir",
            file=place.path,
        )
    return place
