"""The spool folders for session events that the log could not take, and heartbeat times.

Hooks record a heartbeat of their agent's sprint at most once a minute.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path

from ... import hashes
from ...log.port import EventStore
from ..place.location import Location

BEAT_SECONDS = 60
MARK = "hook-beat"
"""A file in the log's folder whose time is that of the last heartbeat."""
SECONDS = 5.0
"""The time limit for recording spooled events; the next command continues."""
FOLDER = "spool"
"""The name of the folder, in that of a log and below the user's state folder."""


def folders(location: Location, environment: Mapping[str, str]) -> list[Path]:
    """Return the spool folders of a log: next to it, and in the user's state folder."""
    found = [location.folder / FOLDER]
    state = environment.get("XDG_STATE_HOME")
    if not state and (home := environment.get("HOME")):
        state = f"{home}/.local/state"
    if state and os.path.isabs(state):
        place = os.path.realpath(location.folder).encode("utf-8", "surrogateescape")
        name = hashes.sha256(place).hexdigest()[:32]
        found.append(Path(state) / "sprintlog" / FOLDER / name)
    return found


class Spooled:
    """The spooled events of a log, for commands that record in it."""

    def __init__(self, log: EventStore, location: Location) -> None:
        self._log = log
        self._location = location
        self._places: list[Path] | None = None

    def take_in(self, environment: Mapping[str, str]) -> None:
        """Record the spooled events, if there are any."""
        places = self._places
        if places is None:
            places = self._places = folders(self._location, environment)
        if any(map(os.path.isdir, places)):
            # Imported here: spooled events are rare.
            from .spool import take_in

            take_in(self._log, self._location, places, seconds=SECONDS)


def is_due(folder: Path) -> bool:
    """Return whether a minute has passed since this last returned true.

    Of concurrent callers one gets true, or occasionally two, which is harmless.
    """
    mark, now = folder / MARK, time.time()
    try:
        since = now - mark.lstat().st_mtime
    except OSError:
        since = BEAT_SECONDS
    # Otherwise a clock that was set back would suppress heartbeats.
    if 0 <= since < BEAT_SECONDS:
        return False
    try:
        flags = os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        held = os.open(mark, flags, 0o600)
        try:
            os.utime(held, (now, now))
        finally:
            os.close(held)
    except OSError:
        return False
    return True
