"""`sprintlog hook AGENT`: one hook's input is recorded; the agent never notices.

Whatever happens it ends with 0 and prints nothing: an agent reads what a hook prints, and
stops where one fails. It imports neither click nor what knows of sprints.
"""

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..libraries import import_libraries

INPUT_BYTES_MAX = 8 * 1024 * 1024
"""So much of a hook's input is read; a longer one is not understood."""
_DROPPED_BYTES_MAX = 1024 * 1024 * 1024
_PIECE = 1024 * 1024


def main(arguments: Sequence[str]) -> None:
    """Record what a hook was handed and end; return where click is to explain."""
    if not arguments or arguments[0].startswith("-"):
        return
    gc.disable()
    try:
        hook(arguments[0])
    finally:
        os._exit(0)


def hook(agent: str) -> None:
    """Record what a hook was handed; whatever fails is nobody's affair."""
    try:
        _hook(agent)
    except Exception as error:  # noqa: BLE001 (the agent is not to notice)
        if os.environ.get("SPRINTLOG_DEBUG"):
            with suppress(OSError):
                sys.stderr.write(f"sprintlog hook: {type(error).__name__}: {error}\n")
                sys.stderr.flush()


def _hook(agent: str) -> None:
    if os.environ.get("SPRINTLOG_OFF", "0") not in ("", "0") or os.isatty(0):
        return
    content = _input()
    import_libraries()
    # Imported here, and below: what libraries need not waits from now on.
    from .. import settings
    from ..settings.person import safe_list

    start = Path.cwd()
    if settings.off_by() is not None:
        return
    place, folder = settings.log_place(start)
    from sprintlog.engine.service.agent_sessions.hook import take_hook

    hooked = take_hook(
        agent,
        content,
        start=place,
        folder=folder,
        safe=safe_list(),
        environment=os.environ,
    )
    if hooked is None or hooked.event is None:
        return
    from sprintlog.engine.service.agent_sessions.beats import is_due

    if is_due(hooked.location.folder):
        # Once a minute: it takes longer than all the rest.
        from .beat import beat

        beat(hooked.event)


def _input() -> bytes:
    """Return the first bytes of the input, and read the others away.

    Whoever writes them would else fail.
    """
    content = bytearray()
    dropped = 0
    while piece := os.read(0, _PIECE):
        if len(content) <= INPUT_BYTES_MAX:
            content += piece
        elif (dropped := dropped + len(piece)) > _DROPPED_BYTES_MAX:
            break
    return bytes(content)
