"""How a workspace is opened or made, with no more than its folder's name."""

from os import PathLike
from pathlib import Path

from .engine.log.port import Log
from .engine.service.place.location import HIDDEN, Location, make_folder
from .projections.workspace import Workspace, wall_clock


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
    what is kept beside a log is in `.sprintlog` of the folder.
    """
    if store is not None:
        root = Path(folder).absolute()
        location = Location(root / HIDDEN, root, "")
        make_folder(location)
        return Workspace(location, store, clock=wall_clock)
    return Workspace.open(
        Path(folder).absolute(),
        folder=None if log is None else str(log),
        safe=None if safe is None else Path(safe),
    )


def init(
    folder: str | PathLike[str] = ".",
    *,
    log: str | PathLike[str] | None = None,
    safe: str | PathLike[str] | None = None,
) -> Workspace:
    """Make an empty log for a folder, which is made too, and open it.

    It is put into the git directory of the folder, else into `.sprintlog` in it, or where
    `log` says. Raise `RefusedError` where there is a log already.
    """
    start = Path(folder).absolute()
    start.mkdir(parents=True, exist_ok=True)
    return Workspace.init(
        start,
        folder=None if log is None else str(log),
        safe=None if safe is None else Path(safe),
    )
