"""The log as it is kept open from one request to the next."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.service.place.location import REDACTION, Location
from sprintlog.projections.workspace import Workspace

from .. import settings
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
        self._at_hand: Workspace | None = None
        self._off: str | None = None

    @contextmanager
    def at_hand(self) -> Iterator[Workspace]:
        """Look at the log and the settings once for all that is done until this ends."""
        workspace = self.workspace()
        self._off, self._at_hand = settings.off_by(), workspace
        try:
            yield workspace
        finally:
            self._at_hand = None

    def to_record(self) -> Workspace:
        """Return the log that is here now; raise `RefusedError` where recording is off."""
        off = self._off if self._at_hand is not None else settings.off_by()
        if off is not None:
            raise RefusedError(f"nothing is recorded: {off}")
        return self.workspace()

    def workspace(self) -> Workspace:
        """Return the log that is here now."""
        if self._at_hand is not None:
            return self._at_hand
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
