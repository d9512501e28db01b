"""The `sprintlog hook AGENT` command: record a hook's input without affecting the agent.

It always exits with status 0 and prints nothing except the briefing at the start of a
session and the notes for the agent, because an agent reads the output of hooks, and stops
if a hook fails. Except for these and heartbeats, it imports neither click nor modules about
sprints.
"""

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..imports import import_libraries

if TYPE_CHECKING:
    from sprintlog.engine.service.agent_sessions.hook import Hooked

INPUT_BYTES_MAX = 8 * 1024 * 1024
"""The maximum length of a hook's input in bytes; longer input is not parsed."""
_DROPPED_BYTES_MAX = 1024 * 1024 * 1024
_PIECE = 1024 * 1024
_SILENT_SECONDS = 2.0
"""The time to wait for more input; Codex stops hooks after 3 seconds."""
BRIEFED = ("session-started", "context-compacted")
"""The types of the events at which the agent receives a briefing."""
PROMPTED = "prompt-given"
"""The type of the event at which the agent receives notes."""
_PROJECTS = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "COPILOT_PROJECT_DIR")
"""The variables in which agents store the folder in which the user started them."""


def main(arguments: Sequence[str]) -> None:
    """Record a hook's input and exit; return only if click must print the help.

    A hook command without an agent is not an error: some agents stop if a hook exits with
    status 2.
    """
    agent = next(iter(arguments), "")
    is_named = agent != "" and not agent.startswith("-")
    if not is_named and (os.isatty(0) or {"-h", "--help"} & {*arguments}):
        return
    gc.disable()
    try:
        hook(agent)
    finally:
        os._exit(0)


def hook(agent: str) -> None:
    """Record a hook's input; all errors are ignored."""
    try:
        _hook(agent)
    except Exception as error:  # noqa: BLE001 (the agent must not be affected)
        if os.environ.get("SPRINTLOG_DEBUG"):
            with suppress(OSError):
                sys.stderr.write(f"sprintlog hook: {type(error).__name__}: {error}\n")
                sys.stderr.flush()


def _hook(agent: str) -> None:
    if os.environ.get("SPRINTLOG_OFF", "0") not in ("", "0") or os.isatty(0):
        return
    content = _input()
    import_libraries()
    if (found := _log_place()) is None:
        return
    place, folder, is_known = found
    # Imported here and below, after `import_libraries` has deferred unused modules.
    from sprintlog.engine.service.agent_sessions import hook as reading
    from sprintlog.engine.service.place.trust import safe_list

    hooked = reading.take_hook(
        agent,
        content,
        start=place,
        folder=folder,
        safe=safe_list(),
        environment=os.environ,
        waits=not is_known,
    )
    if hooked is None:
        return
    kind = hooked.heard.event.type if hooked.heard.event is not None else ""
    if kind in BRIEFED or (kind == PROMPTED and reading.may_have_notes(hooked.location)):
        from .briefing import print_briefing, print_notes

        (print_briefing if kind in BRIEFED else print_notes)(hooked)
    if hooked.event is None:
        return
    if hooked.settles:
        _settle_later(agent, hooked)
    if reading.is_due(hooked.location.folder):
        # Once a minute, because this takes longer than the rest of the hook.
        from .beat import beat

        beat(hooked.event)


def _settle_later(agent: str, hooked: "Hooked") -> None:
    """Bring the session's iterations up to date, without delaying the agent."""
    # Imported here: few hooks concern the start or the end of a turn.
    from sprintlog.engine.service.agent_sessions.spool import keep_odd
    from sprintlog.engine.sessions.events import SessionEnded, TurnEnded

    from .. import settings
    from .background import settle_later

    def tell(problem: str) -> None:
        keep_odd(hooked.location.folder, agent, problem, b"")

    event = hooked.heard.event
    may_go_on = isinstance(event, TurnEnded) and not event.failed
    answers = may_go_on and settings.setting("hooks.block-stop") is True
    ends = isinstance(event, TurnEnded | SessionEnded)
    reported = hooked.event.version if ends and hooked.event else None
    stream = hooked.heard.stream
    if answer := settle_later(stream, tell, reported=reported, answers=answers):
        sys.stdout.buffer.write(answer)
        sys.stdout.flush()


def _log_place() -> tuple[Path, str | None, bool] | None:
    """Return the log's location and whether the work tree's settings file could be read.

    The search for the log starts in the hook's current folder, then in the project folder,
    because an agent may change its current folder. Return None if recording is off.
    """
    from sprintlog.engine.errors import NotFoundError, SprintlogError
    from sprintlog.engine.service.place.location import find

    from .. import settings

    for project in ("", *filter(None, map(os.environ.get, _PROJECTS))):
        try:
            if project:
                os.chdir(project)
            start = Path.cwd()
        except OSError:
            continue
        named, is_known = os.environ.get("SPRINTLOG_DIR"), True
        try:
            if settings.off_by() is not None:
                return None
            start, named = settings.log_place(start)
        except SprintlogError:
            # Whether recording is off is unknown, so the call is spooled.
            is_known = False
        try:
            find(start, folder=named)
        except NotFoundError:
            continue
        return start, named, is_known
    return None


def _input() -> bytes:
    """Return the first bytes of the input, and discard the rest.

    The writer would fail if the rest were not read. If the input is not closed, reading
    stops when no data has arrived for a while.
    """
    # Imported here: nothing else in a hook requires it.
    from select import select

    content = bytearray()
    dropped = 0
    while select([0], (), (), _SILENT_SECONDS)[0] and (piece := os.read(0, _PIECE)):
        if len(content) <= INPUT_BYTES_MAX:
            content += piece
        elif (dropped := dropped + len(piece)) > _DROPPED_BYTES_MAX:
            break
    return bytes(content)
