"""The socket in the folder of a log: who may listen there, and who is let in.

The folder is held open. So what is bound, looked at and removed is in the folder that was
looked at, whatever becomes of its name, and however long that is.
"""

import os
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from sprintlog.engine.errors import BusyError, RefusedError
from sprintlog.engine.log.port import Wait
from sprintlog.engine.log.stores.descriptors import held_open
from sprintlog.engine.log.stores.locks import take

SOCKET, LOCK = "rpc.sock", "rpc.lock"
BACKLOG = 128
_PEER: Final = getattr(socket, "SO_PEERCRED", None)
_WHO: Final = struct.Struct("3i")


class MeetingPlace:
    """A listening socket that stands under its name in the folder of a log."""

    def __init__(self, folder: int, listening: socket.socket) -> None:
        self._folder, self.listening = folder, listening
        self._identity = _identity(folder)

    def is_there(self) -> bool:
        """Tell whether the name still leads to this socket."""
        return self._identity is not None and _identity(self._folder) == self._identity

    def leave(self) -> None:
        """Take the name away, where it still leads here."""
        if self.is_there():
            with suppress(OSError):
                os.unlink(SOCKET, dir_fd=self._folder)

    def admits(self, connection: socket.socket) -> bool:
        """Return whether the process that connected belongs to the same user."""
        if _PEER is None:
            return False
        told = connection.getsockopt(socket.SOL_SOCKET, _PEER, _WHO.size)
        _, user, _ = _WHO.unpack(told)
        return bool(user == os.geteuid())


@contextmanager
def met(folder: Path) -> Iterator[MeetingPlace]:
    """Listen in the folder of a log; raise `RefusedError` where that cannot be.

    One process does: who holds the lock. A socket that stands there without it is what one
    left that was killed.
    """
    if _PEER is None:
        raise RefusedError(
            "this system does not say who connects to a socket",
            hint="`sprintlog rpc` without --listen answers one program on its pipes",
        )
    lock = os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK
    with (
        held_open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW) as held,
        held_open(LOCK, lock, dir_fd=held) as locked,
    ):
        _check_is_ours(folder, os.fstat(held))
        _hold(locked, folder)
        _clear(folder, held)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            before = os.umask(0o177)
            try:
                # Short, and in the folder that was looked at.
                listening.bind(f"/proc/self/fd/{held}/{SOCKET}")
            finally:
                os.umask(before)
            place = MeetingPlace(held, listening)
            try:
                listening.listen(BACKLOG)
                yield place
            finally:
                place.leave()


def _hold(descriptor: int, folder: Path) -> None:
    try:
        take(descriptor, folder / LOCK, Wait(seconds=0))
    except BusyError as error:
        holders = error.fields["holders"] or ["another process"]
        raise RefusedError(
            f"{', '.join(holders)} listens at {folder / SOCKET} already",
            hint="connect to it, or end it first",
            file=str(folder / SOCKET),
        ) from error


def _check_is_ours(folder: Path, found: os.stat_result) -> None:
    if found.st_uid == os.geteuid() and not found.st_mode & 0o022:
        return
    # Imported here: only who is refused needs it.
    from sprintlog.engine.readable import quoted

    raise RefusedError(
        f"others may write in {folder}: nobody listens there",
        hint=f"`chmod 700 {quoted(str(folder))}`, where it is yours",
        file=str(folder),
    )


def _clear(folder: Path, held: int) -> None:
    """Remove the socket that a killed server left; refuse anything else in its place."""
    try:
        found = os.stat(SOCKET, dir_fd=held, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid():
        raise RefusedError(
            f"{folder / SOCKET} is no socket of yours",
            hint="look at what it is, and move it away",
            file=str(folder / SOCKET),
        )
    os.unlink(SOCKET, dir_fd=held)


def _identity(folder: int) -> tuple[int, int] | None:
    try:
        found = os.stat(SOCKET, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    return found.st_dev, found.st_ino
