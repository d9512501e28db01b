"""The forms of `--at` and `--to`: from what a person says to a version of a stream."""

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from ...errors import InvalidInputError, NotFoundError
from ...iterations.hints import HOW_TO_MEASURE
from ...log.port import Log
from ...sprint.iterations.rollback import iteration_end
from ...sprint.state.sprint import Sprint
from ...sprint.state.times import from_milliseconds, parse

if TYPE_CHECKING:
    from ...journal.state.journal import Journal

FORMS = "position:N, version:N, iter:N, best, start, an ISO time, or `2h ago`"

_NUMBERED = re.compile(r"(position|version|iter):(\d{1,18})", re.ASCII)
_AGO = re.compile(r"(\d{1,6})\s*([smhd])\s+ago", re.ASCII)
_MILLISECONDS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class Point(NamedTuple):
    """A point in a log as it was asked for."""

    form: str
    """`position`, `version`, `iter`, `best` or `time`."""
    number: int = 0
    time: str = ""


def parse_point(text: str, *, now: int) -> Point:
    """Return the point that a text names; `now` is in milliseconds since 1970.

    Raise `InvalidInputError` naming the allowed forms.
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
            f"{text[:60]!r} is not a point in the log; give {FORMS}",
            unknown=(text, ("best", "start")),
        ) from error
    return Point("time", time=text)


def version_at(log: Log, stream: str, head: "Sprint | Journal", point: Point) -> int:
    """Return the version of the stream at a point; `head` is its state at the head.

    By time: the last version that happened no later, in the order of the stream. Raise
    `NotFoundError` when the stream had nothing then.
    """
    if point.form in ("best", "iter"):
        if not isinstance(head, Sprint):
            raise InvalidInputError("a journal has no loop iterations: another point")
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
            f"{whose} has nothing at {said}; it has versions 1 to {head.version}",
            sprint=sprint_id,
        )
    return version


def target_of(log: Log, sprint: Sprint) -> int:
    """Return the iteration that `best` means as a point: where a rollback to it goes.

    Raise `NotFoundError` while there is none.
    """
    # Imported here: exact numbers would cost every recording command their import.
    from .judged import evaluate

    target = evaluate(log, sprint).target()
    if target is None:
        raise NotFoundError(
            f"no iteration of sprint {sprint.id} is the best one yet",
            hint=HOW_TO_MEASURE,
            sprint=sprint.id,
        )
    return target


def last_version(log: Log, stream: str, *, position: int = 0, moment: str = "") -> int:
    """Return the last version up to a position, or that happened no later than a moment."""
    if not moment:
        return _last_until(log, stream, position)
    # Imported here: only who names a moment needs it.
    from .times import last_until

    return last_until(log, stream, parse(moment))


def _last_until(log: Log, stream: str, position: int) -> int:
    """Return the last version up to a position, by halves: positions only grow."""

    def position_of(version: int) -> int:
        return next(log.read_stream(stream, after=version - 1, until=version)).position

    return bisect_right(range(1, log.version(stream) + 1), position, key=position_of)
