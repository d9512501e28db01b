"""One hook of an agent: from the bytes it was handed to an event, or to a file that waits.

Its process starts for every tool that an agent calls. So it opens the log by itself, for
one append, and imports nothing of sprints.
"""

import os
import stat
import time
from collections.abc import Mapping
from os import urandom
from pathlib import Path

import msgspec

from ...adapters.agents.hook_calls import HookPlace
from ...adapters.agents.hooks import HookHeard, OddHookError, hear_hook
from ...adapters.folders import opened, opened_below, opened_file
from ...errors import NotFoundError, RefusedError, SprintlogError
from ...log.append import instant
from ...log.envelope import RecordedEvent
from ...log.port import Wait
from ...log.stores import open_log
from ...sessions.events import TurnEnded
from ...sessions.ralph_loop import BYTES_MAX, PLACE, PluginLoop, loop_in
from ...sessions.work import work_in
from ..place import location as locations
from ..place.location import Location
from ..place.trust import check_trusted
from . import drafts, spool
from .places import folders
from .quarantine import keep_odd

WAIT = Wait(seconds=0.2)
"""How long a hook waits for others at each step: the agent waits for the hook."""
TAKING_SECONDS = 0.3
"""How long it takes in what waits since earlier hooks."""


class Hooked(msgspec.Struct, frozen=True):
    """What became of a hook."""

    location: Location
    heard: HookHeard
    event: RecordedEvent | None
    """What is in the log; None for what waits or was not to be recorded."""


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
    """Record what a hook was handed, or keep it; None where there is no log.

    With `waits` it is kept, whatever the log could take.
    """
    now = instant(time.time_ns() // 1_000_000)
    try:
        location = locations.find(start, folder=folder)
        check_trusted(location, safe=safe)
    except RefusedError:
        return None
    home = environment.get("HOME", "")
    try:
        heard = hear_hook(agent, content, HookPlace(str(location.root), home))
    except OddHookError as error:
        known = str(error).startswith("nobody knows its event")
        keep_odd(location.folder, agent, str(error), b"" if known else content)
        return None
    if heard.event is None:
        return Hooked(location, heard, None)
    event = heard.event
    if isinstance(event, TurnEnded):
        event = _with_loop(event, heard.stream, location.root)
    draft = drafts.draft_of(
        heard.stream,
        event,
        key=heard.key,
        counts=heard.counts,
        at=now,
        correlation=work_in(environment) or "",
        likeness=heard.likeness,
        said_at=instant(heard.said_ms) if heard.said_ms is not None else "",
    )
    places = folders(location, environment)
    if waits:
        spool.keep(places, draft)
        return Hooked(location, heard, None)
    return Hooked(location, heard, _record(location, draft, places))


def _with_loop(event: TurnEnded, stream: str, root: Path) -> TurnEnded:
    """Add which iteration a plugin's loop is in: its file goes when the loop ends."""
    folder, name = PLACE
    try:
        with (
            opened(root) as above,
            opened_below(above, folder) as place,
            opened_file(place, name) as held,
        ):
            is_plain = stat.S_ISREG(os.fstat(held).st_mode)
            loop = loop_in(os.read(held, BYTES_MAX)) if is_plain else PluginLoop()
    except OSError:
        return event
    if loop.session is not None and not stream.endswith(f"-{loop.session}"):
        return event
    return msgspec.structs.replace(
        event, loop_iteration=loop.iteration, loop_max=loop.iterations_max
    )


def _record(
    location: Location, draft: drafts.Draft, places: list[Path]
) -> RecordedEvent | None:
    """Append an event and what waits; let it wait, too, where that cannot be done now."""
    try:
        log = open_log(
            location.url,
            clock=_milliseconds, entropy=urandom, wait=WAIT, beside=location.folder,
        )  # fmt: skip
    except NotFoundError:
        return None
    except SprintlogError:
        spool.keep(places, draft)
        return None
    try:
        appended = drafts.append_at_last(log, draft)
        if any(map(os.path.isdir, places)):
            spool.take_in(log, location, places, seconds=TAKING_SECONDS)
    except SprintlogError:
        spool.keep(places, draft)
        return None
    finally:
        log.close()
    return appended.events[0] if appended else None


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000
