"""`sprintlog rpc`: commands and questions for a program, by JSON-RPC 2.0 on its pipes."""

import os
import signal
import sys
from types import FrameType

from .. import typed
from ..context import default_actor, with_sprint
from ..record import check_actor

STDIN, STDOUT = 0, 1


@typed.command(
    "rpc",
    epilog='Example: echo \'{"jsonrpc": "2.0", "id": 1, "method": "ask", "params": '
    '{"question": "status"}}\' | sprintlog rpc',
)
@with_sprint
def command(sprint_id: str | None) -> None:
    """Answer a program's requests by JSON-RPC 2.0, one object a line, on its pipes.

    Its methods are initialize, record, append, ask, call, follow, unfollow, schema and
    cancel. It ends with its input, once all that was asked is answered.
    """
    # Imported here: no other command needs it.
    from .channel import Channel, GoneError, lines_of
    from .methods import Asking
    from .session import ClientSession

    actor = check_actor(os.environ.get("SPRINTLOG_ACTOR") or default_actor())
    session = ClientSession(Channel(STDOUT), Asking(actor, sprint_id))
    signal.signal(signal.SIGTERM, _end)
    session.start()
    try:
        for line in lines_of(STDIN):
            session.take(line)
    except GoneError:
        session.stop()
        sys.exit(1)
    except BaseException:
        session.stop()
        raise
    finally:
        session.finish()


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)
