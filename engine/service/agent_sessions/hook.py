"""Recording of a single hook call: from its input to an event in the log or the spool.

A hook process starts for every tool call of an agent, so it opens the log directly, appends
once, and does not import any sprint code. The end of a turn also records the iteration
counted by Claude Code's `ralph-loop` plugin, which is read from the plugin's file.
"""

import os
import re
import time
from collections.abc import Mapping
from os import urandom
from pathlib import Path
from typing import NamedTuple

import msgspec

from ...adapters.folders import opened, opened_below, read_plain
from ...adapters.hooks.hook_calls import HookPlace
from ...adapters.hooks.hook_input import HookHeard, OddHookError, hear_hook
from ...adapters.processes.process import ancestor
from ...errors import NotFoundError, RefusedError, SprintlogError
from ...log import append, port
from ...log.envelope import RecordedEvent
from ...log.stores import descriptors, open_log, wall_clock
from ...sessions import events, work
from ..place import location as locations
from ..place.location import BEAT, NOTES, Location, spool_folders
from ..place.trust import check_trusted
from . import at_work, spool

PLACE = (".claude", "ralph-loop.local.md")
"""The folder and name of the plugin's file in the work tree."""
BYTES_MAX = 64 * 1024
_LINE = r"(?m)^(iteration|max_iterations|session_id): *\"?([^\s\"]{1,80})\"? *$"
WAIT = port.Wait(seconds=0.2)
"""The maximum wait for other processes in each step of a hook, which delays the agent."""
AGENT_PROGRAMS = (
    *("claude", "codex", "copilot", "cursor-agent"),
    *("gemini", "node", "opencode"),
)
"""The names of the processes that run hooks."""
BEAT_SECONDS = 60
"""The minimum interval in seconds between the heartbeats that hooks record for a sprint."""
TAKING_SECONDS = 0.3
"""The time limit in seconds for recording the spooled events of earlier hooks."""


class PluginLoop(NamedTuple):
    """The progress of the plugin's loop."""

    iteration: int | None = None
    iterations_max: int | None = None
    """The maximum number of iterations; 0 for no limit."""
    session: str | None = None


class Hooked(msgspec.Struct, frozen=True):
    """The result of a hook call."""

    location: Location
    heard: HookHeard
    event: RecordedEvent | None
    """The recorded event; None if it was spooled, recorded before or is never recorded."""
    settles: bool = False
    """Whether the session's iterations must be brought up to date."""


def loop_in(content: bytes) -> PluginLoop:
    """Return the progress stated in the front matter of the plugin's file."""
    said = dict(re.findall(_LINE, content.decode("utf-8", "replace").partition("\n---")[0]))
    counts = [said.get(name, "") for name in ("iteration", "max_iterations")]
    known = [int(x) if re.fullmatch("[0-9]{1,9}", x) else None for x in counts]
    return PluginLoop(known[0], known[1], said.get("session_id"))


def take_hook(
    agent: str,
    content: bytes,
    *,
    start: Path,
    folder: str | None,
    safe: Path,
    environment: Mapping[str, str],
    waits: bool = False,
) -> Hooked | None:
    """Record or spool a hook's input; return None if it is unknown or there is no log.

    With `waits`, the event is always spooled.
    """
    now = append.instant(wall_clock())
    try:
        location = locations.find(start, folder=folder)
        check_trusted(location, safe=safe)
    except RefusedError:
        return None
    home = environment.get("HOME", "")
    try:
        heard = hear_hook(agent, content, HookPlace(str(location.root), home))
    except OddHookError as error:
        known = str(error).startswith("unknown event")
        spool.keep_odd(location.folder, agent, str(error), b"" if known else content)
        return None
    if heard.event is None:
        return Hooked(location, heard, None)
    event = heard.event
    if isinstance(event, events.TurnEnded):
        event = _with_loop(event, heard.stream, location.root)
    draft = spool.draft_of(
        heard.stream,
        event,
        key=heard.key,
        counts=heard.counts,
        at=now,
        correlation=work.work_in(environment) or "",
        likeness=heard.likeness,
        said_at=append.instant(heard.said_ms) if heard.said_ms is not None else "",
    )
    # A turn within `run` or `wrap` belongs to the iteration that encloses it.
    is_within = bool(environment.get(work.WITHIN))
    settles = _mark(location, heard, now, is_within=is_within)
    places = spool_folders(location, environment)
    if waits:
        spool.keep(places, draft)
        return Hooked(location, heard, None)
    recorded = _record(location, draft, places)
    settles = settles and recorded is not None and not is_within
    return Hooked(location, heard, recorded, settles)


def _mark(location: Location, heard: HookHeard, now: str, *, is_within: bool) -> bool:
    """Mark the start or end of a turn, for commands that restore files.

    Return whether the turn has begun or ended, or is now known to be an iteration.
    """
    event, stream = heard.event, heard.stream
    match event:
        case events.TurnEnded(waits_for=0):
            at_work.end_turn(location, stream)
            return True
        case events.SessionEnded():
            is_open = at_work.is_in_turn(location, stream)
            at_work.end(at_work.file_of(location, stream))
            return is_open
        case events.PromptGiven():
            is_notice = event.form == events.TASK_NOTIFICATION
            if is_notice and at_work.is_in_turn(location, stream):
                return False
        case events.ToolCalled():
            if (is_first := at_work.take_up(location, stream)) is not None:
                return is_first
        case _:
            return False
    words = f"a turn of {stream.partition('/')[2]}"
    worker = ancestor(AGENT_PROGRAMS)
    session = "" if is_within else stream
    at_work.begin(location, stream, words, now=now, worker=worker, session=session)
    if isinstance(event, events.ToolCalled):
        at_work.take_up(location, stream)
    return True


def _with_loop(event: events.TurnEnded, stream: str, root: Path) -> events.TurnEnded:
    """Add the iteration of the plugin's loop, as long as the plugin's file exists."""
    folder, name = PLACE
    try:
        with opened(root) as above, opened_below(above, folder) as place:
            loop = loop_in(read_plain(name, at_most=BYTES_MAX, folder=place))
    except OSError:
        return event
    if loop.session is not None and not stream.endswith(f"-{loop.session}"):
        return event
    return msgspec.structs.replace(
        event, loop_iteration=loop.iteration, loop_max=loop.iterations_max
    )


def _record(
    location: Location, draft: spool.Draft, places: list[Path]
) -> RecordedEvent | None:
    """Append an event and any spooled events; spool the event if appending fails."""
    try:
        log = open_log(
            location.url,
            clock=wall_clock, entropy=urandom, wait=WAIT, beside=location.folder,
        )  # fmt: skip
    except NotFoundError:
        return None
    except SprintlogError:
        spool.keep(places, draft)
        return None
    try:
        appended = spool.append_at_last(log, draft)
        if any(map(os.path.isdir, places)):
            spool.take_in(log, location, places, seconds=TAKING_SECONDS)
    except SprintlogError:
        spool.keep(places, draft)
        return None
    finally:
        log.close()
    return appended.events[0] if appended and not appended.duplicate else None


def may_have_notes(location: Location) -> bool:
    """Return whether notes to agents may be undelivered, without reading the log.

    On a server, another machine may have added one.
    """
    return location.is_served or os.path.lexists(location.folder / NOTES)


def is_due(folder: Path) -> bool:
    """Return whether a minute has passed since this function last returned true.

    If it is called concurrently, it returns true to only one caller, or occasionally to
    two, which is harmless.
    """
    mark, now = folder / BEAT, time.time()
    try:
        since = now - mark.lstat().st_mtime
    except OSError:
        since = BEAT_SECONDS
    # Otherwise a clock that was set back would suppress heartbeats.
    if 0 <= since < BEAT_SECONDS:
        return False
    try:
        with descriptors.held_open(mark, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW) as held:
            os.utime(held, (now, now))
    except OSError:
        return False
    return True
