"""`sprintlog rpc`: commands and questions for programs, by JSON-RPC 2.0."""

import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING

import click

from sprintlog.engine.own_files import keep_ours
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import default_actor, open_workspace, with_sprint
from ..output import hint, print_text, warn
from ..record import check_actor, check_is_on, refresh_stream

if TYPE_CHECKING:
    from ..rpc.methods import Host

STDIN, STDOUT = 0, 1
IDLE_SECONDS = 600.0


@typed.command(
    "rpc",
    epilog='Example: echo \'{"jsonrpc": "2.0", "id": 1, "method": "ask", "params": '
    '{"question": "status"}}\' | sprintlog rpc',
)
@typed.option(
    "--listen",
    is_flag=True,
    help="Serve several clients on a socket in the log's folder; its path is printed.",
)
@typed.option(
    "--idle",
    type=click.FloatRange(0),
    metavar="SECONDS",
    help=f"With --listen: end after this time without clients. [{IDLE_SECONDS:g}]",
)
@with_sprint
def command(sprint_id: str | None, listen: bool, idle: float | None) -> None:
    """Serve requests over JSON-RPC 2.0, one object per line, on stdin and stdout.

    The methods are initialize, record, append, ask, call, follow, unfollow, schema and
    cancel. It ends when its input ends, after answering all requests.

    With --listen it serves all clients of a socket that only your user can access, and
    groups their concurrent events into one commit.
    """
    actor = check_actor(os.environ.get("SPRINTLOG_ACTOR") or default_actor())
    signal.signal(signal.SIGTERM, _end)
    keep_ours()
    if listen:
        _listen(actor, sprint_id, idle=IDLE_SECONDS if idle is None else idle)
        return
    if idle is not None:
        raise click.UsageError("--idle is said with --listen")
    _answer(actor, sprint_id)


def _listen(actor: str, sprint_id: str | None, *, idle: float) -> None:
    # Imported here: no other command needs it.
    from ..rpc.listener import Listener
    from .socket_file import SOCKET, met

    with open_workspace() as workspace:
        # Opened once: a log that is refused is not listened at.
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


def host() -> "Host":
    """Return the functions that the command line provides to the server."""
    from sprintlog.engine.sessions.work import work_in

    from ..rpc.methods import Host
    from ..upkeep.schema import schema_of
    from .subprocess_commands import call

    return Host(
        open=open_workspace,
        check_is_on=check_is_on,
        check_actor=check_actor,
        refresh=_refresh,
        call=call,
        schema_of=schema_of,
        correlation_id=work_in(os.environ),
    )


def _refresh(workspace: Workspace, stream: str) -> None:
    # A client that received an error would record the same once more.
    try:
        refresh_stream(workspace, stream)
    except Exception as error:  # noqa: BLE001 - what is recorded is answered
        warn(f"{stream} is recorded, its state file is behind: {error}")
        hint("`sprintlog rebuild` writes it")


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
