"""How a workspace is opened or made, with no more than its folder's name."""

from os import PathLike
from os.path import lexists
from pathlib import Path

from .engine.errors import NotFoundError, RefusedError, SprintlogError
from .engine.log.port import Log
from .engine.service.place.location import HIDDEN, REDACTION, Location, make_folder
from .projections.workspace import Workspace as Workspace, wall_clock


def open(
    folder: str | PathLike[str] = ".",
    *,
    log: str | PathLike[str] | None = None,
    safe: str | PathLike[str] | None = None,
    store: Log | None = None,
) -> Workspace:
    """Open the nearest log, in a folder or above it.

    `log` names the log's own folder where that is elsewhere, `safe` a file that lists the
    folders in which a log of somebody else's is used. Raise `NotFoundError` where there is
    no log, `RefusedError` for one that is not safe. With a `store` its log is the one, and
    its local files are in `.sprintlog` of the folder. A redaction that was cut
    short is finished.
    """
    if store is not None:
        root = Path(folder).absolute()
        location = Location(root / HIDDEN, root, "")
        make_folder(location)
        return _settled(Workspace(location, store, clock=wall_clock))
    opened = Workspace.open(
        Path(folder).absolute(),
        folder=None if log is None else str(log),
        safe=None if safe is None else Path(safe),
    )
    return _settled(opened)


def _settled(workspace: Workspace) -> Workspace:
    """Finish what somebody began to erase; raise `RefusedError` where that fails."""
    if lexists(workspace.location.folder / REDACTION):
        # Imported here: almost never was one cut short.
        from .projections.health.redaction import finish

        try:
            finish(workspace)
        except SprintlogError as error:
            workspace.close()
            raise RefusedError(
                f"a redaction that was cut short cannot be finished: {error.message}",
                hint="any sprintlog command of a person tries it, too, and goes on",
            ) from error
    return workspace


def init(
    folder: str | PathLike[str] = ".",
    *,
    log: str | PathLike[str] | None = None,
    safe: str | PathLike[str] | None = None,
    exist_ok: bool = False,
) -> Workspace:
    """Make an empty log for a folder, which is made too, and open it.

    It is put into the git directory of the folder, else into `.sprintlog` in it, or where
    `log` says. Where there is a log already it is opened with `exist_ok`; without it raise
    `RefusedError`.
    """
    start = Path(folder).absolute()
    start.mkdir(parents=True, exist_ok=True)
    try:
        return Workspace.init(
            start,
            folder=None if log is None else str(log),
            safe=None if safe is None else Path(safe),
        )
    except RefusedError as refused:
        # Somebody else may also have made it just now.
        if not exist_ok:
            raise
        try:
            return open(folder, log=log, safe=safe)
        except NotFoundError:
            raise refused from None
