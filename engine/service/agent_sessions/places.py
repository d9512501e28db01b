"""Where events of sessions wait that the log could not take."""

import os
import time
from collections.abc import Mapping
from pathlib import Path

from ... import hashes
from ...log.port import EventStore
from ..place.location import Location

BEAT_SECONDS = 60
MARK = "hook-beat"
"""A file in the log's folder; when it was touched last is all that it says."""


def is_due(folder: Path) -> bool:
    """Tell whether a minute has passed since this was last said to anybody.

    Of several that ask at once one is told so, or now and then two: that does no harm.
    """
    mark, now = folder / MARK, time.time()
    try:
        since = now - mark.lstat().st_mtime
    except OSError:
        since = BEAT_SECONDS
    # A clock that was put back would else keep it silent.
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


SECONDS = 5.0
"""How long a command takes in what hooks could not record; the next one goes on."""
FOLDER = "spool"
"""In the folder of a log, and below the person's own one."""


def folders(location: Location, environment: Mapping[str, str]) -> list[Path]:
    """Return where events of a log may wait: beside it, or in the person's own folder."""
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
    """What waits for a log, for those that record in it."""

    def __init__(self, log: EventStore, location: Location) -> None:
        self._log = log
        self._location = location
        self._places: list[Path] | None = None

    def take_in(self, environment: Mapping[str, str]) -> None:
        """Record it, where anything waits."""
        places = self._places
        if places is None:
            places = self._places = folders(self._location, environment)
        if any(map(os.path.isdir, places)):
            # Imported here: almost never does anything wait.
            from .spool import take_in

            take_in(self._log, self._location, places, seconds=SECONDS)
