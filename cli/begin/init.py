"""`sprintlog init`: make a log."""

from pathlib import Path

from sprintlog.engine.errors import NotFoundError, RefusedError
from sprintlog.engine.service.place.location import find
from sprintlog.projections.views.log import LogPlace
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import here, log_folder, safe_list, with_json
from ..output import print_json, print_text


@typed.command("init", epilog="Example: sprintlog init")
@typed.option("--here", "in_folder", is_flag=True, help="In ./.sprintlog, not inside .git.")
@with_json
def command(in_folder: bool, as_json: bool) -> None:
    """Make a log for this work tree.

    In a git repository it lives in the git directory, where cleaning up does not reach
    it and all work trees share it; elsewhere in .sprintlog. An existing log is never
    touched.
    """
    start = here()
    shadowed = _log_above(start)
    # A git repository below another log is a work tree of its own; a folder is not.
    if shadowed and not (in_folder or log_folder() or _is_in_git(start)):
        raise RefusedError(
            f"there is a log already: {shadowed}",
            hint="commands here use it; `sprintlog init --here` makes one of its own",
            file=shadowed,
        )
    with Workspace.init(
        start, here=in_folder, folder=log_folder(), safe=safe_list()
    ) as workspace:
        location = workspace.location
    inside_git = location.folder.parent.name == ".git" or location.worktree
    if as_json:
        print_json(LogPlace(str(location.folder), str(location.root)))
        return
    print_text(f"made an empty log in {location.folder}")
    if not (inside_git or in_folder or log_folder()) and _is_in_git(start):
        print_text(
            "the git directory may not be written, or is another tree's: "
            "the log is in the work tree"
        )
    if shadowed:
        print_text(f"commands here use it from now on, no longer {shadowed}")
    print_text(
        "next: `sprintlog compile`, `sprint create ID --plan FILE` or `import progress`"
    )


def _log_above(start: Path) -> str | None:
    try:
        return str(find(start).database)
    except NotFoundError:
        return None


def _is_in_git(folder: Path) -> bool:
    return any((root / ".git").exists() for root in (folder, *folder.parents))
