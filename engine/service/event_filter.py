"""Selection of events by type, actor, phase, text and range."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import msgspec

from ..errors import InvalidInputError
from ..log.envelope import RecordedEvent
from ..log.port import Log
from ..races import race_of
from ..sessions.names import session_of
from ..sprint.events import Injection
from ..sprint.iterations.rollback import iteration_end
from ..sprint.plan.injection import addresses
from ..sprint.state.sprint import Sprint
from ..sprint.state.times import parse
from .streams.catalogue import CODEC, sprint_of
from .streams.points import Point, last_version, parse_point, version_at
from .workspace import ServiceWorkspace

EVENTS_A_STEP = 512


class Range(NamedTuple):
    """A range of versions or positions, and of times."""

    first: int = 1
    last: int | None = None
    since: datetime | None = None
    until: datetime | None = None


class EventFilter(NamedTuple):
    """The conditions that an event must meet; an empty condition always holds."""

    types: Sequence[str] = ()
    """Event types, in which `*` and `?` are wildcards; one of them must match."""
    actors: Sequence[str] = ()
    phase: str | None = None
    """The address of a phase; events about the phase and its descendants match."""
    text: str | None = None
    """Text that one of the event's texts must contain, ignoring case."""
    range: Range = Range()

    def fits(self, event: RecordedEvent) -> bool:
        """Return whether an event matches; raise `UnreadableError` if it is unreadable."""
        is_meant = _fits(self.types, event.type) and _fits(self.actors, event.actor)
        if not is_meant or not self._is_in_time(event):
            return False
        if self.phase is None and self.text is None:
            return True
        if (payload := CODEC.today(event)) is None:
            return False
        data = msgspec.json.decode(payload)
        return (self.phase is None or self._is_about(event, data, self.phase)) and (
            self.text is None or _says(data, self.text.casefold())
        )

    def _is_in_time(self, event: RecordedEvent) -> bool:
        since, until = self.range.since, self.range.until
        if since is None and until is None:
            return True
        at = parse(event.at)
        return (since is None or at >= since) and (until is None or at <= until)

    def _is_about(self, recorded: RecordedEvent, data: Any, phase: str) -> bool:
        about = [data["phase"]] if isinstance(data.get("phase"), str) else []
        if "nodes" in data:
            event = CODEC.decode(recorded)
            about = addresses(event) if isinstance(event, Injection) else []
        return any(found == phase or found.startswith(f"{phase}/") for found in about)


def range_of(
    workspace: ServiceWorkspace,
    stream: str | None,
    *,
    since: str | None = None,
    until: str | None = None,
    iteration: int | None = None,
) -> Range:
    """Return the range between two points, or of an iteration, with both ends included.

    For a stream, the range consists of versions; for the whole log, of positions. If a
    point is a time, events are selected by the time at which they happened. Raise
    `InvalidInputError` for a point that exists only in sprints.
    """
    found = Range()
    points = [("since", since), ("until", until)]
    if iteration is not None:
        points += [("since", f"iter:{iteration}"), ("until", f"iter:{iteration}")]
    for side, text in points:
        if text is None:
            continue
        point = parse_point(text, now=workspace.clock())
        if point.form == "time":
            moments = {side: parse(point.time)}
            found = found._replace(**moments)  # type: ignore[arg-type]
            continue
        place = _place(workspace, stream, point, is_first=side == "since")
        if side == "since":
            found = found._replace(first=max(found.first, place))
        else:
            last = place if found.last is None else min(found.last, place)
            found = found._replace(last=last)
    return found


def _place(
    workspace: ServiceWorkspace, stream: str | None, point: Point, *, is_first: bool
) -> int:
    if stream is None:
        if point.form != "position":
            raise InvalidInputError(
                f"{point.form}:{point.number} is a point in a single sprint",
                hint="use position:N or a time for all sprints, or specify a sprint with "
                "--sprint",
            )
        return point.number
    if session_of(stream) or race_of(stream):
        return _in_session(workspace, stream, point, is_first=is_first)
    sprint_id = sprint_of(stream)
    head = workspace.journal() if sprint_id is None else workspace.sprint(sprint_id)
    if not is_first:
        return version_at(workspace.log, stream, head, point)
    if point.form == "iter" and isinstance(head, Sprint):
        iteration_end(head.knowledge, point.number, version=head.version)
        return dict(head.knowledge.iterations).get(point.number, 1)
    if point.form == "position":
        return last_version(workspace.log, stream, position=point.number - 1) + 1
    return version_at(workspace.log, stream, head, point)


def _in_session(
    workspace: ServiceWorkspace, stream: str, point: Point, *, is_first: bool
) -> int:
    """Return a session's or race's version as of a point; these have no iterations."""
    if point.form == "version":
        return point.number
    if point.form != "position":
        raise InvalidInputError(
            f"{point.form} is a point of sprints, not of sessions",
            hint="use position:N, version:N or a time",
        )
    last = last_version(workspace.log, stream, position=point.number - is_first)
    return last + is_first


def select(
    log: Log, stream: str | None, wanted: EventFilter, *, reverse: bool = False
) -> Iterator[RecordedEvent]:
    """Yield the matching events of a stream or of the whole log, oldest or newest first."""
    return filter(wanted.fits, _read(log, stream, wanted.range, reverse=reverse))


def _read(
    log: Log, stream: str | None, range_: Range, *, reverse: bool
) -> Iterator[RecordedEvent]:
    end = log.head().position if stream is None else log.version(stream)
    last = end if range_.last is None else min(range_.last, end)
    if not reverse:
        yield from between(log, stream, range_.first, last)
        return
    while last >= range_.first:
        first = max(range_.first, last - EVENTS_A_STEP + 1)
        yield from reversed(list(between(log, stream, first, last)))
        last = first - 1


def between(log: Log, stream: str | None, first: int, last: int) -> Iterator[RecordedEvent]:
    """Yield the events of a stream or of the whole log in an inclusive range."""
    if stream is None:
        return log.read(after=first - 1, until=last)
    return log.read_stream(stream, after=first - 1, until=last)


def _fits(patterns: Sequence[str], text: str) -> bool:
    return not patterns or any(fnmatchcase(text, pattern) for pattern in patterns)


def _says(data: Any, needle: str) -> bool:
    """Return whether any text in a payload contains `needle`, ignoring case."""
    if isinstance(data, str):
        return needle in data.casefold()
    if isinstance(data, dict):
        return any(_says(value, needle) for value in data.values())
    return isinstance(data, list) and any(_says(value, needle) for value in data)
