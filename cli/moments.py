"""Points and times in natural notation, such as `2h ago`, in the local time zone."""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.service.streams.points import FORMS as POINT_FORMS
from sprintlog.engine.sprint.state.times import to_text
from sprintlog.projections.text.phrases import MONTHS

from .output import note
from .screen.terminal import clock
from .screen.times import moment_of, told

FORMS = "yesterday, 9:00, monday 14:30, 2h ago, Nov 21 23:10"
"""Examples for an error's hint."""

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_AGO = re.compile(
    r"(\d{1,6}) ?(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|w|weeks?) ago", re.ASCII
)
_CLOCK = re.compile(r"(\d{1,2})(?::(\d\d)(?::(\d\d))?)?(?: ?(am|pm))?", re.ASCII)
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[t ](.+))?", re.ASCII)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WORDS = ("now", "today", "yesterday", *_WEEKDAYS)
"""The words with which a time can start."""
_SPANS = {"last night": "yesterday 18:00", "this morning": "today 6:00", "tonight": "18:00"}
_WEEK, _DAY = timedelta(days=7), timedelta(days=1)


class NotAMomentError(ValueError):
    """Raised for text that specifies an unusable time."""


def moment(
    text: str, *, now: datetime, zone: tzinfo | None, is_since: bool = False
) -> datetime | None:
    """Return the UTC time that the text specifies, or None if the text is not a time.

    A date alone means its beginning if `is_since`, otherwise the earlier of its end and the
    current time. Raise `NotAMomentError` for a future time, an invalid time of day or a
    span.
    """
    said = " ".join(text.casefold().split())
    if said in _SPANS:
        raise NotAMomentError(f"that is a period; use its start: '{_SPANS[said]}'")
    if said == "now":
        return now
    if match := _AGO.fullmatch(said):
        return now - timedelta(seconds=int(match[1]) * _SECONDS[match[2][0]])
    today = now.astimezone(zone).date()
    if (clock := _clock(said)) is not None:
        found = _at(today, clock, zone)
        return found if found <= now else _at(today - _DAY, clock, zone)
    day, rest = _day(said, today)
    if day is None:
        return None
    found_clock = _clock(rest) if rest else None
    if rest and found_clock is None:
        return None
    begin = _at(day, found_clock or time(), zone)
    if begin > now and (before := _before(said, day)) is not None:
        day, begin = before, _at(before, found_clock or time(), zone)
    if begin > now:
        raise NotAMomentError("the time is in the future")
    if rest or is_since:
        return begin
    return min(now, _at(day + _DAY, time(), zone) - timedelta(milliseconds=1))


def is_day(text: str) -> bool:
    """Return whether the text is a date without a time."""
    day, rest = _day(" ".join(text.casefold().split()), date(2000, 1, 1))
    return day is not None and not rest


def _at(day: date, clock: time, zone: tzinfo | None) -> datetime:
    """Convert a local time to UTC; if a clock change skips it, use the earlier offset."""
    return datetime.combine(day, clock, zone).astimezone(UTC)


def _clock(said: str) -> time | None:
    match = _CLOCK.fullmatch(said)
    if match is None or not (match[2] or match[4]):
        return None
    hour = int(match[1])
    if match[4]:
        if not 1 <= hour <= 12:
            raise NotAMomentError("the time of day is invalid")
        hour = hour % 12 + (12 if match[4] == "pm" else 0)
    try:
        return time(hour, int(match[2] or 0), int(match[3] or 0))
    except ValueError as error:
        raise NotAMomentError("the time of day is invalid") from error


def _day(said: str, today: date) -> tuple[date | None, str]:
    """Return the date at the beginning of the text, and the rest of the text."""
    word, _, rest = said.partition(" ")
    if word in ("today", "yesterday"):
        return today - (_DAY if word == "yesterday" else timedelta()), rest
    if (number := _weekday(word)) is not None:
        return today - timedelta(days=(today.weekday() - number) % 7), rest
    try:
        if match := _DATE.fullmatch(said):
            return date(*map(int, match.groups()[:3])), match[4] or ""
        names = [month.casefold() for month in MONTHS]
        number_of, _, behind = rest.partition(" ")
        if word in names and number_of.isascii() and number_of.isdigit():
            return date(today.year, names.index(word) + 1, int(number_of)), behind
    except ValueError as error:
        raise NotAMomentError("the date does not exist") from error
    return None, ""


def _weekday(word: str) -> int | None:
    found = [n for n, name in enumerate(_WEEKDAYS) if word in (name, name[:3])]
    return found[0] if found else None


def _before(said: str, day: date) -> date | None:
    """Return the previous date with the same name, or None if the name contains a year."""
    if _weekday(said.partition(" ")[0]) is not None:
        return day - _WEEK
    if said[:3] not in [month.casefold() for month in MONTHS]:
        return None
    try:
        return day.replace(year=day.year - 1)
    except ValueError as error:
        raise NotAMomentError("the date does not exist") from error


def read_moment(text: str, *, field: str, is_since: bool, takes_days: bool) -> str:
    """Return a typed time as ISO 8601, and print how it was interpreted.

    Raise `InvalidInputError` for text that is neither a point nor a time.
    """
    said = repr(text[:60])
    try:
        found = moment(text, now=moment_of(clock() * 1000), zone=None, is_since=is_since)
        if found is not None and not takes_days and is_day(text):
            raise NotAMomentError("add a time of day, as in 'yesterday 9:00'")
    except (NotAMomentError, OverflowError) as error:
        raise InvalidInputError(f"{said}: {error}", field=field) from error
    if found is None:
        what = (
            f"a point in the log; specify {POINT_FORMS}"
            if takes_days
            else "a valid time; use ISO 8601"
        )
        points = ("best", "start") if takes_days else ()
        raise InvalidInputError(
            f"{said} is not {what}",
            field=field,
            hint=f"examples of times: {FORMS}",
            unknown=(text, (*points, *WORDS)),
        )
    note(f"{said} is {told(found, zone=None)}")
    return to_text(found)
