"""A log and a work tree that may be moved while a program uses them.

Their folders are kept open, and the operating system reports their current paths.
"""

import fcntl
import os
from pathlib import Path
from typing import Any, Protocol

from msgspec.structs import replace

from ...errors import LostLogError, MovedLogError
from ...log.port import Clock, Entropy, Log
from ...log.stores import open_log
from ...log.stores.descriptors import give_back
from .location import DATABASE, Location

_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_PATH_BYTES_MAX = 1024
"""The size of the buffer in which macOS returns a path, in bytes."""


class MovableLog(Protocol):
    """The part of a workspace that is affected when its log is moved."""

    location: Location
    log: Log
    clock: Clock
    entropy: Entropy
    anchor: "Anchor | None"

    def connect(self, location: Location, log: Log) -> None:
        """Use the given log, and read everything again."""


def follow(workspace: MovableLog) -> None:
    """Connect a workspace to its log at the log's current location.

    The first call opens the folders, and later calls find them again if they were moved.
    Raise `LostLogError` if the log was deleted, and `MovedLogError` if it was moved to an
    unknown location.
    """
    if workspace.anchor is None:
        workspace.anchor = Anchor(workspace.location)
    if (found := workspace.anchor.find(workspace.location)) != workspace.location:
        given: Any = {"clock": workspace.clock, "entropy": workspace.entropy}
        wait = workspace.log.locks.wait
        workspace.log.close()
        log = open_log(found.url, wait=wait, beside=found.folder, **given)
        workspace.connect(found, log)


class Anchor:
    """Keeps the folders of a log and of a work tree open."""

    def __init__(self, location: Location) -> None:
        self._log = file_identity(location.database)
        self._held: list[int] = []
        try:
            for path in (location.folder, location.root):
                self._held.append(os.open(path, _FLAGS))
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Close the folders."""
        while self._held:
            give_back(self._held.pop())

    def find(self, location: Location) -> Location:
        """Return the current location; raise the same errors as `follow`."""
        if self._log is None:
            return location
        log, tree = self._held
        if file_identity(DATABASE, log) != self._log:
            raise LostLogError("the log was deleted while the command ran")
        folder = location.folder if _leads_to(location.folder, log) else path_of(log)
        if folder is None:
            raise MovedLogError(
                f"the log of {location.folder} was moved while the command ran, and its "
                "new place is unknown"
            )
        root = None if _leads_to(location.root, tree) else path_of(tree)
        return replace(location, folder=folder, root=root or location.root)


def path_of(folder: int) -> Path | None:
    """Return the current path of an open folder; None if the system does not report it."""
    try:
        if hasattr(fcntl, "F_GETPATH"):
            told = fcntl.fcntl(folder, fcntl.F_GETPATH, bytes(_PATH_BYTES_MAX))
            path = os.fsdecode(told.rstrip(b"\0"))
        else:
            path = os.readlink(f"/proc/self/fd/{folder}")
    except OSError:
        return None
    return Path(path) if _leads_to(path, folder) else None


def _leads_to(path: str | Path, folder: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(folder))
    except OSError:
        return False


def file_identity(path: str | Path, folder: int | None = None) -> tuple[int, int] | None:
    """Return the device and inode of a file; None if it does not exist."""
    try:
        status = os.stat(path, dir_fd=folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino
