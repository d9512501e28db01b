"""Functions that open or create a workspace for a folder."""

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
    """Open the log of a folder, or the nearest log above the folder.

    `log` is the log's own folder if the log is stored elsewhere. `safe` is a file that
    lists the folders in which other users' logs may be used. If `store` is given, the log
    in that store is opened, and local files are stored in `.sprintlog` in the folder. Raise
    `NotFoundError` if there is no log, and `RefusedError` if the log is not safe. An
    interrupted redaction is completed.
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
    """Complete an interrupted redaction; raise `RefusedError` if that fails."""
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
    """Create an empty log for a folder, and open it; the folder is created if necessary.

    The log is stored in the folder's git directory if it has one, otherwise in `.sprintlog`
    in the folder, or where `log` specifies. If a log already exists, open it if `exist_ok`
    is true, and raise `RefusedError` otherwise.
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
