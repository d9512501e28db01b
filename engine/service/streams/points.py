"""Points in a log, as given to `--at` and `--to`, and the versions they refer to.

The version at a time is found without reading all events. Imported events may be older than
the events before them, and clocks may be set back, so the earliest time in each block of
events is saved. The requested version is in the last block whose earliest time is not after
the given time.
"""

import re
from bisect import bisect_right
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from ...errors import InvalidInputError, NotFoundError
from ...judging.exact import HOW_TO_MEASURE
from ...log.port import Log
from ...sprint.iterations.rollback import iteration_end
from ...sprint.state.sprint import Sprint
from ...sprint.state.times import from_milliseconds, parse
from .checkpoints import TIMES, KeptReading, Reading
from .evaluation import evaluate

if TYPE_CHECKING:
    from ...journal.state import Journal


BLOCK_EVENTS = 512
_MEANING = 1
_TO_MICROSECONDS = 26
"""The number of significant characters in a time, up to microseconds, without the `Z`."""
FORMS = "position:N, version:N, iter:N, best, start, an ISO time, or `2h ago`"

_NUMBERED = re.compile(r"(position|version|iter):(\d{1,18})", re.ASCII)
_AGO = re.compile(r"(\d{1,6})\s*([smhd])\s+ago", re.ASCII)
_MILLISECONDS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class Times(Reading):
    """The earliest time in each complete block of a stream's events."""

    earliest: list[str]


class Point(NamedTuple):
    """A point in a log, as requested by the user."""

    form: str
    """`position`, `version`, `iter`, `best` or `time`."""
    number: int = 0
    time: str = ""


def last_until(log: Log, stream: str, moment: datetime) -> int:
    """Return the last version whose time is not after a given time; 0 if there is none."""
    text = moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
    times, tail = _times(log, stream)
    if found := _last(tail, text):
        return found
    early = (n for n in reversed(range(len(times.earliest))) if times.earliest[n] <= text)
    block = next(early, None)
    return 0 if block is None else _last(_rows(log, stream, block), text)


def _times(log: Log, stream: str) -> tuple[Times, list[tuple[int, str]]]:
    """Return the times of complete blocks, and the events after the last block."""
    kept = KeptReading(log, TIMES, stream, Times, meaning=_MEANING)
    times = kept.load() or Times(0, [])
    before = times.version
    while len(rows := _rows(log, stream, len(times.earliest))) == BLOCK_EVENTS:
        times.earliest.append(min(at for _, at in rows))
        times.version = rows[-1][0]
    if times.version > before:
        kept.keep_only(times)
    return times, rows


def _rows(log: Log, stream: str, block: int) -> list[tuple[int, str]]:
    """Return the version and time of each event in a block."""
    after = block * BLOCK_EVENTS
    pages = log.scan(stream, after=after, until=after + BLOCK_EVENTS)
    # Without the `Z`, a time with more digits sorts later, so texts compare like times.
    return [
        (version, at[:-1][:_TO_MICROSECONDS])
        for page in pages
        for version, (at, *_) in zip(page.versions, page.rows, strict=True)
    ]


def _last(rows: list[tuple[int, str]], moment: str) -> int:
    return next((version for version, at in reversed(rows) if at <= moment), 0)


def parse_point(text: str, *, now: int) -> Point:
    """Return the point that a string specifies; `now` is in milliseconds since 1970.

    Raise `InvalidInputError` listing the allowed formats.
    """
    if text == "start":
        return Point("version", 1)
    if text == "best":
        return Point("best")
    if match := _NUMBERED.fullmatch(text):
        return Point(match[1], int(match[2]))
    if match := _AGO.fullmatch(text):
        ago = int(match[1]) * _MILLISECONDS[match[2]]
        return Point("time", time=from_milliseconds(now - ago))
    try:
        parse(text)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{text[:60]!r} is not a point in the log; use {FORMS}",
            unknown=(text, ("best", "start")),
        ) from error
    return Point("time", time=text)


def version_at(log: Log, stream: str, head: "Sprint | Journal", point: Point) -> int:
    """Return a stream's version as of a point; `head` is the state at the stream's head.

    For a time, this is the last version in stream order whose time is not after the given
    time. Raise `NotFoundError` if the stream was empty at that point.
    """
    if point.form in ("best", "iter"):
        if not isinstance(head, Sprint):
            raise InvalidInputError("a journal has no iterations: use another point")
        number = target_of(log, head) if point.form == "best" else point.number
        version = iteration_end(head.knowledge, number, version=head.version)
    elif point.form == "version":
        version = point.number if point.number <= head.version else 0
    else:
        version = last_version(log, stream, position=point.number, moment=point.time)
    if version < 1:
        sprint_id = head.id if isinstance(head, Sprint) else None
        whose = f"sprint {sprint_id}" if sprint_id else "the journal"
        said = point.time or f"{point.form} {point.number}"
        raise NotFoundError(
            f"{whose} has no event at {said}; it has versions 1 to {head.version}",
            sprint=sprint_id,
        )
    return version


def target_of(log: Log, sprint: Sprint) -> int:
    """Return the iteration that the point `best` refers to, which is a rollback's target.

    Raise `NotFoundError` if there is none.
    """
    if (target := evaluate(log, sprint).target()) is None:
        raise NotFoundError(
            f"sprint {sprint.id} has no best iteration yet",
            hint=HOW_TO_MEASURE,
            sprint=sprint.id,
        )
    return target


def last_version(log: Log, stream: str, *, position: int = 0, moment: str = "") -> int:
    """Return the last version up to a position, or up to a time."""
    if moment:
        return last_until(log, stream, parse(moment))

    def position_of(version: int) -> int:
        return next(log.read_stream(stream, after=version - 1, until=version)).position

    return bisect_right(range(1, log.version(stream) + 1), position, key=position_of)
