"""Time zones: this machine's zone, and named zones."""

import os
from datetime import datetime, tzinfo
from pathlib import Path

from ..sprint.answers.limits import Moment
from ..sprint.state.times import parse

_LOCALTIME = Path("/etc/localtime")


def moment_at(now: str) -> Moment:
    """Return a time in this machine's time zone."""
    return Moment(parse(now), local_zone(), named_zone)


def named_zone(name: str) -> tzinfo | None:
    """Return the time zone with the given name, or None if it is not installed."""
    # Imported here: only a usage limit requires it.
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name.replace(" ", "_"))
    except (ValueError, OSError, LookupError):
        return None


def local_zone() -> tzinfo:
    """Return this machine's time zone, including daylight saving time if it is known."""
    named = os.environ.get("TZ", "").removeprefix(":")
    if named and (zone := named_zone(named)) is not None:
        return zone
    if not named and (zone := _of_file()) is not None:
        return zone
    # A fixed offset, which is correct until the next clock change.
    zone = datetime.now().astimezone().tzinfo
    assert zone is not None
    return zone


def _of_file() -> tzinfo | None:
    from zoneinfo import ZoneInfo

    try:
        with _LOCALTIME.open("rb") as file:
            return ZoneInfo.from_file(file, key="local")
    except (ValueError, OSError):
        return None
