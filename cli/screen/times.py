"""Times and durations in the notation that people read and type."""

from datetime import UTC, datetime, timedelta, tzinfo

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.state.times import parse
from sprintlog.projections.text.phrases import MONTHS

from .terminal import clock, terminal


def when(text: object, *, is_relative: bool = False) -> str:
    """Return a recorded time: short and local on a terminal, unchanged otherwise."""
    said = str(text)
    if terminal().has_utc:
        return said
    try:
        moment = parse(said)
    except InvalidInputError:
        return said
    told = relative if is_relative else short
    return told(moment, now=moment_of(clock() * 1000), zone=None)


def short(moment: datetime, *, now: datetime, zone: tzinfo | None) -> str:
    """Return a time in short format: `09:41`, `yesterday 23:10`, `Nov 21 23:10`."""
    local, today = moment.astimezone(zone), now.astimezone(zone).date()
    clock, day = f"{local:%H:%M}", local.date()
    if day == today:
        return clock
    if day == today - timedelta(days=1):
        return f"yesterday {clock}"
    if day == today + timedelta(days=1):
        return f"tomorrow {clock}"
    if day.year == today.year:
        return f"{MONTHS[day.month - 1]} {day.day:>2} {clock}"
    return f"{day.isoformat()} {clock}"


def relative(moment: datetime, *, now: datetime, zone: tzinfo | None) -> str:
    """Return the time elapsed if it is less than a day, else the time in short format."""
    seconds = int((now - moment).total_seconds())
    if not 0 <= seconds < 86_400:
        return short(moment, now=now, zone=zone)
    if seconds < 60:
        return "just now"
    minutes = seconds // 60
    return f"{minutes} min ago" if minutes < 60 else f"{minutes // 60} h ago"


def told(moment: datetime, *, zone: tzinfo | None) -> str:
    """Return a time in full, with the zone's offset at that time."""
    local = moment.astimezone(zone)
    offset = local.isoformat()[-6:]
    return f"{local:%Y-%m-%d %H:%M:%S} {'UTC' if offset == '+00:00' else offset}"


def moment_of(milliseconds: float) -> datetime:
    """Return the time that is a number of milliseconds after the start of 1970."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
