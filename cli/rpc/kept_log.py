"""The log as it is kept open from one request to the next."""

import os
from contextlib import ExitStack

from sprintlog.engine.service.place.location import REDACTION, Location
from sprintlog.projections.workspace import Workspace

from ..context import open_workspace

Stamp = tuple[tuple[int, int] | None, ...]


class KeptLog:
    """A log that is opened once, and again where another stands in its place.

    A store belongs to the thread that opened it. What others append, roll back or erase is
    seen by each question; a log that was moved, made anew or that somebody is erasing from
    is opened again, as a command would open it.
    """

    def __init__(self) -> None:
        self._held = ExitStack()
        self._workspace: Workspace | None = None
        self._stamp: Stamp = ()

    def workspace(self) -> Workspace:
        """Return the log that is here now."""
        if self._workspace is not None:
            location = self._workspace.location
            is_same = _stamp_of(location) == self._stamp
            if is_same and not os.path.lexists(location.folder / REDACTION):
                return self._workspace
            self.close()
        opened = self._held.enter_context(open_workspace())
        self._workspace, self._stamp = opened, _stamp_of(opened.location)
        return opened

    def close(self) -> None:
        """Give the log back; what is asked next opens it."""
        self._workspace = None
        self._held.close()


def _stamp_of(location: Location) -> Stamp:
    """Return which files these are."""
    return tuple(map(_identity, (location.folder, location.database)))


def _identity(path: os.PathLike[str]) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
