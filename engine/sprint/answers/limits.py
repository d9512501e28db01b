"""Classification of a failed agent run: a limit to wait for, or a kind of failure.

The rows of `limit_table` decide. A **wait** has a cause that passes without intervention: a
usage limit, an overloaded server, or a network that is down. The work is not at fault, so
the run does not count as a failure. A **failure** counts, and the retry policy applies. If
only a **person** or money can resolve the cause, the loop neither retries nor waits. If the
agent reports the **work's own error** in its answer, it was able to answer, so text about a
limit in that answer does not cause a wait.

Structured fields are checked first: the agent's error code, then the HTTP status.
Otherwise, the text of the error is used, never the text of an answer. The end of a limit is
parsed from the same text.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import NamedTuple

import msgspec

from ..events.loop import Limit
from ..state.times import to_text
from . import limit_table as table

AHEAD_DAYS_MAX = 35
"""The maximum duration of a limit in days; a longer limit indicates a wrong clock."""
JUST_PAST = timedelta(minutes=10)
"""The period within which a past time of day means today, because clocks may differ."""
SAID_CHARS_MAX = 120
_CHARS_MAX = 20_000
"""The number of characters searched at the end of a text."""
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_UNIT = (
    r"milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d"
    r"|weeks?|w"
)
_PART = rf"(?:\d{{1,9}}(?:\.\d+)?\s*|\b(?:an?|one)\s+)(?:{_UNIT})(?![a-z])"
_DURATION = rf"{_PART}(?:\s*,?\s*(?:and\s+)?{_PART}){{0,5}}"
_LEAD = r"(?:reset|retry|again|until|available|access|back)"
_EPOCH = rf"(?:\||{_LEAD}[^\d\n]{{0,30}}?)(\d{{13}}|\d{{10}})(?!\d)"
_ISO = (
    rf"{_LEAD}[^\n]{{0,40}}?\b(\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?"
    r"\s?(?:Z|[+-]\d\d:?\d\d)?)"
)
_MONTHS = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]*"
_HTTP_DATE = (
    rf"{_LEAD}[^\n]{{0,40}}?\b(?:{'|'.join(_DAYS)})[a-z]*, ?(\d{{1,2}})[ -]({_MONTH})[ -]"
    r"(\d{4}) (\d\d):(\d\d):(\d\d) GMT"
)
_FIELD = (
    r"\b(retry[-_ ]?after(?:[-_ ]?ms)?|retry[-_ ]?delay|resets?[-_ ]in(?:[-_ ]seconds)?"
    r"|x?-?ratelimit-reset[\w-]*)[\"']?\s*[:=]\s*[\"']?"
    rf"(?:({_DURATION})|(\d{{1,9}}(?:\.\d+)?)(?![\w:-]))"
)
_IN = (
    rf"(?:\bwait|{_LEAD}\w*\b[^.\n]{{0,40}}?\b(?:in|after|for))\s+\D{{0,15}}?({_DURATION})"
)
_CLOCK = (
    rf"{_LEAD}\w*\b[^\n]{{0,40}}?"
    r"(?:(?:(?P<day>today|tomorrow|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*)"
    rf"|(?P<month>{_MONTH})\.?\s+(?P<of>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<year>\d{{4}}))?"
    rf"|(?P<of2>\d{{1,2}})\.?\s+(?P<month2>{_MONTH})(?:,?\s+(?P<year2>\d{{4}}))?)"
    r"\s*,?\s*(?:at\s+|@\s*)?)?"
    r"\b(?:(?P<word>midnight|noon)|(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::\d\d)?)?"
    r"\s?(?P<half>[ap]\.?m\b\.?)?(?![\w:%]))"
    r"(?:\s*\((?P<zone>[\w/+:-]{1,40}(?: [\w/+:-]{1,40})?)\)"
    r"|\s+(?P<bare>(?-i:UTC[+-]\d{1,2}(?::?\d\d)?|UTC|GMT|[A-Z][A-Z]{0,3}T\b|[A-Z][a-z]+/\w+)))?"
)
_DATE = (
    rf"{_LEAD}\w*\s+(?:on\s+)?(?:(?P<month>{_MONTH})\.?\s+(?P<of>\d{{1,2}})"
    r"(?:st|nd|rd|th)?(?:,?\s+(?P<year>\d{4}))?"
    rf"|(?P<of2>\d{{1,2}})\.?\s+(?P<month2>{_MONTH})(?:,?\s+(?P<year2>\d{{4}}))?)\b"
)
_ABBREVIATED = {
    **dict.fromkeys(("PT", "PST", "PDT"), "America/Los_Angeles"),
    **dict.fromkeys(("MT", "MST", "MDT"), "America/Denver"),
    **dict.fromkeys(("CT", "CST", "CDT"), "America/Chicago"),
    **dict.fromkeys(("ET", "EST", "EDT"), "America/New_York"),
    **dict.fromkeys(("CET", "CEST"), "Europe/Berlin"),
    **dict.fromkeys(("EET", "EEST"), "Europe/Athens"),
    **dict.fromkeys(("WET", "WEST"), "Europe/Lisbon"),
    **dict.fromkeys(("BST",), "Europe/London"),
    **dict.fromkeys(("JST",), "Asia/Tokyo"),
}
ERROR_LINES_MAX = 12
"""The number of lines at the end of standard error searched for a failure's cause."""
_LINE_CHARS_MAX = 2_000
_COMPLAINS = r"\W*(?:api error|error|fatal|http|429|5\d\d)\b"
"""The start of a plain-text line printed by a program rather than by the agent."""


class Moment(NamedTuple):
    """The current time, and the time zones in which to interpret times of day."""

    now: datetime
    """The current time, with its time zone."""
    local: tzinfo
    zone: Callable[[str], tzinfo | None]
    """Returns the time zone for a name like `Europe/Vienna`, or None if it is unknown."""


class Reset(NamedTuple):
    """The end of a limit, and the text that states it."""

    until: datetime
    said: str


class Refusal(msgspec.Struct, frozen=True):
    """The structured fields of an error in an agent's output."""

    status: int | None = None
    """The HTTP status."""
    kind: str = ""
    """The agent's code for the error."""
    fields: str = ""
    """The fields and headers that state a limit's end, such as `resetsAt: 1760000000`."""


def sign_of(words: str, refusal: Refusal | None = None) -> table.Sign | None:
    """Return the table row that matches the end of a run, or None."""
    status, code = (refusal.status, refusal.kind.lower()) if refusal else (None, "")
    if (
        code
        and (named := next((x for x in table.SIGNS if code in x.codes), None)) is not None
    ):
        return named
    found = by_words(words)
    if found is not None and (found.kind == table.PERSON or found.category == table.LOGIC):
        # An exhausted quota has the HTTP status of a temporary limit.
        return found
    return next((sign for sign in table.SIGNS if status in sign.statuses), found)


def limit_of(
    sign: table.Sign | None, words: str, refusal: Refusal | None, moment: Moment | None
) -> Limit | None:
    """Return the limit to wait for and, if stated, its end; None if there is no limit.

    Without `moment`, the end is omitted.
    """
    if sign is None or sign.waits_for is None:
        return None
    found = None
    if moment is not None:
        fields = refusal.fields if refusal is not None else ""
        found = reset_in(fields, moment) or reset_in(words, moment)
    if found is None:
        return Limit(sign.waits_for)
    return Limit(sign.waits_for, to_text(found.until), found.said)


def is_notice(answer: str) -> bool:
    """Return whether the answer of a successful run is only a program's notice."""
    text = answer.strip()
    return any(
        re.fullmatch(rf"\W*(?:{sign.notice}){table.AFTER_NOTICE}\W*", text, re.IGNORECASE)
        for sign in table.SIGNS
        if sign.notice
    )


def complaint(errors: str, answer: str) -> str:
    """Return the lines in which a failed command states why it failed.

    These are the last lines of standard error, and the lines of the answer that come from a
    program rather than from the agent.
    """
    lines = [line.strip()[-_LINE_CHARS_MAX:] for line in errors.split("\n") if line.strip()]
    said = [line.strip() for line in answer.split("\n") if line.strip()][-2:]
    own = [
        line[:_LINE_CHARS_MAX]
        for line in said
        if is_notice(line) or re.match(_COMPLAINS, line, re.IGNORECASE)
    ]
    return "\n".join([*lines[-ERROR_LINES_MAX:], *own])


def by_words(words: str) -> table.Sign | None:
    """Return the table row that matches the text of an error, or None."""
    flags = re.IGNORECASE | re.MULTILINE
    for sign in table.SIGNS:
        pattern = "|".join(filter(None, (sign.words, sign.notice)))
        if pattern and re.search(pattern, words, flags):
            return sign
    return None


def reset_in(text: str, moment: Moment) -> Reset | None:
    """Return the end of the limit that a text states, or None."""
    text = text[-_CHARS_MAX:]
    for reading in (_epochs, _iso_times, _http_dates, _fields, _durations, _clocks, _dates):
        try:
            for found in reading(text, moment):
                if is_sensible(found.until, moment.now):
                    return found._replace(said=found.said.strip()[:SAID_CHARS_MAX])
        except (ValueError, OverflowError):
            # An invalid date, such as 31 February, is ignored.
            continue
    return None


def is_sensible(until: datetime, now: datetime) -> bool:
    """Return whether a time is plausible as the end of a limit."""
    return now < until <= now + timedelta(days=AHEAD_DAYS_MAX)


def _find(pattern: str, text: str) -> Iterator["re.Match[str]"]:
    return re.finditer(pattern, text, re.IGNORECASE)


def _epochs(text: str, moment: Moment) -> Iterator[Reset]:
    for found in _find(_EPOCH, text):
        number = int(found[1])
        seconds = number / 1000 if number >= 10**12 else number
        yield Reset(datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds), found[0])


def _iso_times(text: str, moment: Moment) -> Iterator[Reset]:
    for found in _find(_ISO, text):
        when = datetime.fromisoformat(found[1].strip())
        if when.tzinfo is None:
            when = when.replace(tzinfo=moment.local)
        yield Reset(when.astimezone(UTC), found[0])


def _http_dates(text: str, moment: Moment) -> Iterator[Reset]:
    for found in _find(_HTTP_DATE, text):
        day, month, year, hour, minute, second = found.groups()
        on = date(int(year), _month(month), int(day))
        at = time(int(hour), int(minute), int(second), tzinfo=UTC)
        yield Reset(datetime.combine(on, at), found[0])


def _fields(text: str, moment: Moment) -> Iterator[Reset]:
    for found in _find(_FIELD, text):
        name, duration, number = found.groups()
        unit = 0.001 if re.search(r"ms$", name, re.IGNORECASE) else 1
        seconds = _seconds(duration) if duration else float(number) * unit
        yield Reset(moment.now + timedelta(seconds=seconds), found[0])


def _durations(text: str, moment: Moment) -> Iterator[Reset]:
    for found in _find(_IN, text):
        yield Reset(moment.now + timedelta(seconds=_seconds(found[1])), found[0])


def _seconds(duration: str) -> float:
    """Return the length in seconds of a duration such as `2h 13m` or `34.07s`."""
    total = 0.0
    pattern = rf"(?:(\d+(?:\.\d+)?)\s*|\b(?:an?|one)\s+)({_UNIT})(?![a-z])"
    for part in _find(pattern, duration):
        number = float(part[1]) if part[1] else 1.0
        word = part[2].lower()
        is_small = word == "ms" or word.startswith(("milli", "msec"))
        total += number * (0.001 if is_small else _UNIT_SECONDS[word[0]])
    return total


def _clocks(text: str, moment: Moment) -> Iterator[Reset]:
    for found in _find(_CLOCK, text):
        if (at := _time_of(found)) is not None:
            yield from _at(found, at, found["zone"] or found["bare"], moment)


def _dates(text: str, moment: Moment) -> Iterator[Reset]:
    for found in _find(_DATE, text):
        yield from _at(found, time(), None, moment)


def _time_of(found: "re.Match[str]") -> time | None:
    """Return the matched time of day; None for a bare number, which is ambiguous."""
    if found["word"]:
        return time(0 if found["word"].lower() == "midnight" else 12)
    hour, minute, half = int(found["hour"]), int(found["minute"] or 0), found["half"]
    if half is None:
        return time(hour, minute) if found["minute"] else None
    if not 1 <= hour <= 12:
        return None
    return time(hour % 12 + (12 if half[0].lower() == "p" else 0), minute)


def _at(
    found: "re.Match[str]", at: time, named: str | None, moment: Moment
) -> Iterator[Reset]:
    """Yield the next occurrence of a time of day, on the stated date if there is one."""
    zone, remark = _zone(named, moment)
    here = moment.now.astimezone(zone)
    said, groups = f"{found[0]}{remark}", found.groupdict()
    month = groups["month"] or groups["month2"]
    day = (groups.get("day") or "").lower()
    if month is not None:
        of, year = groups["of"] or groups["of2"], groups["year"] or groups["year2"]
        first = date(int(year or here.year), _month(month), int(of))
        days = [first] if year else [first, first.replace(year=first.year + 1)]
    elif day in ("today", "tomorrow"):
        days = [here.date() + timedelta(days=day == "tomorrow")]
    elif day:
        ahead = (_DAYS.index(day[:3]) - here.weekday()) % 7
        days = [here.date() + timedelta(days=ahead + more) for more in (0, 7)]
    else:
        days = [here.date() + timedelta(days=more) for more in (0, 1)]
    is_midnight = (groups.get("word") or "").lower() == "midnight"
    if is_midnight and not day and month is None:
        # Midnight is the end of the current day.
        days = days[1:]
    for one in days:
        if (until := _next_shown(one, at, zone, moment.now)) > moment.now:
            yield Reset(until, said)
            return
        if moment.now - until < JUST_PAST:
            return


def _next_shown(day: date, at: time, zone: tzinfo, now: datetime) -> datetime:
    """Return a local time as UTC, using the second occurrence if the first has passed.

    A local time occurs twice when daylight saving time ends. A local time that is skipped
    when daylight saving time starts is interpreted with the earlier offset.
    """
    if (first := datetime.combine(day, at, zone).astimezone(UTC)) > now:
        return first
    return max(first, datetime.combine(day, at.replace(fold=1), zone).astimezone(UTC))


def _zone(named: str | None, moment: Moment) -> tuple[tzinfo, str]:
    """Return the time zone, and a remark if the named zone is unknown on this machine."""
    if named is None:
        return moment.local, ""
    if named.upper() in ("UTC", "GMT", "Z"):
        return UTC, ""
    if offset := re.fullmatch(r"(?:UTC|GMT)([+-])(\d{1,2}):?(\d\d)?", named, re.IGNORECASE):
        minutes = 60 * int(offset[2]) + int(offset[3] or 0)
        return timezone(timedelta(minutes=minutes if offset[1] == "+" else -minutes)), ""
    if re.match(r"(?i)local\b", named):
        return moment.local, ""
    if (found := moment.zone(_ABBREVIATED.get(named.upper(), named))) is not None:
        return found, ""
    return moment.local, f" [zone {named} is unknown here: read as local time]"


def _month(name: str) -> int:
    return 1 + _MONTHS.index(name[:3].lower())
