"""The `sprintlog rpc` command: JSON-RPC 2.0 over pipes or a socket in the log's folder.

The folder stays open: the socket is created, checked and removed through its descriptor,
so renaming the folder has no effect and the length of its path does not matter.
"""

import os
import signal
import socket
import stat
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

import click

from sprintlog.engine.errors import BusyError, RefusedError
from sprintlog.engine.log.port import Wait
from sprintlog.engine.log.stores.descriptors import held_open, take
from sprintlog.engine.own_files import keep_ours
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import default_actor, open_workspace, with_sprint
from ..output import hint, print_text, warn
from ..record import check_actor, check_is_on, refresh_stream

if TYPE_CHECKING:
    from ..rpc.methods import RpcHost

STDIN, STDOUT = 0, 1
IDLE_SECONDS = 600.0


@typed.command("rpc")
@typed.flag(
    "--listen",
    help="Serve several clients on a socket in the log's folder; its path is printed.",
)
@typed.seconds_option(
    "--idle",
    help=f"With --listen: exit after this many seconds without clients. [{IDLE_SECONDS:g}]",
)
@with_sprint
def command(sprint_id: str | None, listen: bool, idle: float | None) -> None:
    """Serve requests over JSON-RPC 2.0, one object per line, on stdin and stdout.

    The methods are initialize, record, append, ask, call, follow, unfollow, schema and
    cancel. The server ends when its input ends, after answering all requests.

    With --listen it serves all clients of a socket that only your user can access, and
    groups their concurrent events into one commit.

    Example: echo '{"jsonrpc": "2.0", "id": 1, "method": "ask", "params": {"question":
    "status"}}' | sprintlog rpc
    """
    actor = check_actor(os.environ.get("SPRINTLOG_ACTOR") or default_actor())
    signal.signal(signal.SIGTERM, _end)
    keep_ours()
    if listen:
        _listen(actor, sprint_id, idle=IDLE_SECONDS if idle is None else idle)
        return
    if idle is not None:
        raise click.UsageError("--idle requires --listen")
    _answer(actor, sprint_id)


def _listen(actor: str, sprint_id: str | None, *, idle: float) -> None:
    # Imported here: no other command needs it.
    from ..rpc.listener import Listener

    with open_workspace() as workspace:
        # Opened once, so that the server does not listen for a log that is refused.
        folder = workspace.location.folder
    with met(folder) as place:
        print_text(str(folder / SOCKET))
        sys.stdout.flush()
        listener = Listener(host(), place, actor=actor, sprint=sprint_id)
        listener.serve(idle_seconds=idle)


def _answer(actor: str, sprint_id: str | None) -> None:
    # Imported here: no other command needs it.
    from ..rpc.frames import Channel, GoneError
    from ..rpc.methods import Asking
    from ..rpc.session import ClientSession
    from ..rpc.worker import LogWorker

    served = host()
    worker = LogWorker(served)
    worker.start()
    try:
        asking = Asking(served, actor, sprint_id)
        ClientSession(Channel(STDOUT), asking, worker).serve(STDIN)
    except GoneError:
        sys.exit(1)
    finally:
        worker.end()


def host() -> "RpcHost":
    """Return the functions that the command line provides to the RPC server."""
    from sprintlog.engine.sessions.work import work_in

    from ..rpc.methods import RpcHost
    from ..upkeep.schema import schema_of
    from .subprocess_commands import call

    checks, work = (check_is_on, check_actor), work_in(os.environ)
    return RpcHost(open_workspace, *checks, _refresh, call, schema_of, work)


def _refresh(workspace: Workspace, stream: str) -> None:
    # A client that receives an error would record the event again.
    try:
        refresh_stream(workspace, stream)
    except Exception as error:  # noqa: BLE001 (the events are already recorded)
        warn(f"{stream} is recorded, but its state file is out of date: {error}")
        hint("run `sprintlog rebuild` to update the file")


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


SOCKET, LOCK = "rpc.sock", "rpc.lock"
BACKLOG = 128
_PEER: Final = getattr(socket, "SO_PEERCRED", None)
_WHO: Final = struct.Struct("3i")


class MeetingPlace:
    """A listening socket and its name in a log's folder."""

    def __init__(self, folder: int, listening: socket.socket) -> None:
        self._folder, self.listening = folder, listening
        self._identity = _identity(folder)

    def is_there(self) -> bool:
        """Return whether the name still refers to this socket."""
        return self._identity is not None and _identity(self._folder) == self._identity

    def leave(self) -> None:
        """Remove the name if it still refers to this socket."""
        if self.is_there():
            with suppress(OSError):
                os.unlink(SOCKET, dir_fd=self._folder)

    def admits(self, connection: socket.socket) -> bool:
        """Return whether the connected process belongs to the same user."""
        if _PEER is None:
            return False
        told = connection.getsockopt(socket.SOL_SOCKET, _PEER, _WHO.size)
        _, user, _ = _WHO.unpack(told)
        return bool(user == os.geteuid())


@contextmanager
def met(folder: Path) -> Iterator[MeetingPlace]:
    """Listen on a socket in a log's folder; raise `RefusedError` if that is impossible.

    Only the process that holds the lock listens. If a socket exists but its lock is free,
    the process that created it was killed.
    """
    if _PEER is None:
        raise RefusedError(
            "this system does not report the user at the other end of a socket",
            hint="run `sprintlog rpc` without --listen to serve one program over pipes",
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
                # The path is short, and refers to the folder that was checked.
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
            f"{', '.join(holders)} is already listening on {folder / SOCKET}",
            hint="connect to that server, or stop it first",
            file=str(folder / SOCKET),
        ) from error


def _check_is_ours(folder: Path, found: os.stat_result) -> None:
    if found.st_uid == os.geteuid() and not found.st_mode & 0o022:
        return
    # Imported here: only this error requires it.
    from sprintlog.engine.readable import quoted

    raise RefusedError(
        f"cannot listen in {folder}: other users can write to it",
        hint=f"if the folder is yours, run `chmod 700 {quoted(str(folder))}`",
        file=str(folder),
    )


def _clear(folder: Path, held: int) -> None:
    """Remove the socket left by a killed server; refuse to remove any other file."""
    try:
        found = os.stat(SOCKET, dir_fd=held, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid():
        raise RefusedError(
            f"{folder / SOCKET} is not a socket owned by this user",
            hint="check the file and move it elsewhere",
            file=str(folder / SOCKET),
        )
    os.unlink(SOCKET, dir_fd=held)


def _identity(folder: int) -> tuple[int, int] | None:
    try:
        found = os.stat(SOCKET, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    return found.st_dev, found.st_ino
