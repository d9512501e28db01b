"""Minimal recorders of the `eventsourcing` library over a sprintlog log.

An originator is a stream, a topic is a type, and a notification is a position. Two
features of the library have no counterpart: an append contains events of one stream, so
neither several aggregates nor events and a tracking record (`ProcessRecorder`) can be saved
together.
"""

import json
import os
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any

from sprintlog.errors import ConflictError
from sprintlog.stores import EventStore, Expect, Log, NewEvent, RecordedEvent, open_log

if TYPE_CHECKING:
    # The library is installed only for `make judges`, so types are checked without it.
    class AggregateRecorder:
        """Stores the events of aggregates."""

    class ApplicationRecorder(AggregateRecorder):
        """Also stores events in one total order."""

    class TrackingRecorder:
        """Stores the position up to which another application was followed."""

    class Subscription:
        """A subscription to a recorder."""

        _has_been_stopped: bool

        def __init__(self, **given: Any) -> None: ...

    IntegrityError: type[Exception]
    Notification: Any
    StoredEvent: Any
else:
    from eventsourcing.persistence import (
        AggregateRecorder,
        ApplicationRecorder,
        IntegrityError,
        Notification,
        StoredEvent,
        Subscription,
        TrackingRecorder,
    )

SILENCE_SECONDS_MAX = 60.0
"""A subscription that hears of nothing for so long has failed."""


class RecordingLog:
    """A log that each call opens separately, because it belongs to the opening thread."""

    def __init__(self, url: str) -> None:
        self._url = url

    def open(self) -> closing[Log]:
        """Open the log until the caller is done."""
        clock = time.time_ns
        return closing(
            open_log(self._url, clock=lambda: clock() // 1_000_000, entropy=os.urandom)
        )

    def add(self, stream: str, new: Sequence[NewEvent], after: int) -> list[int]:
        """Append to a stream with the expected version; return the positions."""
        try:
            with self.open() as log:
                added = log.append(stream, new, expect=after or Expect.NONE)
        except ConflictError as error:
            raise IntegrityError(str(error)) from error
        return [event.position for event in added.events]


class SprintlogAggregateRecorder(AggregateRecorder):
    """Events of aggregates in a log."""

    def __init__(self, url: str) -> None:
        self._log = RecordingLog(url)

    def insert_events(
        self, stored_events: Sequence[Any], **kwargs: Any
    ) -> Sequence[int] | None:
        """Append events of one aggregate."""
        self._insert(stored_events)
        return None

    def _insert(self, stored_events: Sequence[Any]) -> list[int]:
        if not stored_events:
            return []
        first = stored_events[0]
        places = [(one.originator_id, one.originator_version) for one in stored_events]
        numbers = range(first.originator_version, first.originator_version + len(places))
        if places != [(first.originator_id, number) for number in numbers]:
            raise IntegrityError("one append holds events of one stream, in their order")
        stream = _stream(first.originator_id)
        with self._log.open() as log:
            begin = next(log.read_stream(stream, until=1), None)
        # The library's aggregates may start with 0; sprintlog's streams start with 1.
        before = numbers[0] if begin is None else _version(begin)
        return self._log.add(stream, [*map(_new, stored_events)], numbers[0] - before)

    def select_events(
        self,
        originator_id: Any,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[Any]:
        """Return events of an aggregate."""
        with self._log.open() as log:
            found = [
                StoredEvent(originator_id, _version(event), event.type, _state(event))
                for event in log.read_stream(_stream(originator_id))
                if (gt is None or _version(event) > gt)
                and (lte is None or _version(event) <= lte)
            ]
        return (found[::-1] if desc else found)[:limit]


class SprintlogApplicationRecorder(SprintlogAggregateRecorder, ApplicationRecorder):
    """The same, and all events in the order of the log."""

    def insert_events(
        self, stored_events: Sequence[Any], **kwargs: Any
    ) -> Sequence[int] | None:
        """Append events of one aggregate, and return their positions."""
        return self._insert(stored_events)

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Any]:
        """Return events in the order of the log."""
        after = max((start or 0) - (start is not None and inclusive_of_start), 0)
        with self._log.open() as log:
            return [*islice(_notifications(log, after, stop, topics), limit)]

    def max_notification_id(self) -> int | None:
        """Return the last position."""
        with self._log.open() as log:
            return log.last_position() or None

    def subscribe(
        self, gt: int | None = None, topics: Sequence[str] = ()
    ) -> "SprintlogSubscription":
        """Return a subscription to the log."""
        return SprintlogSubscription(self, gt, topics)


class SprintlogSubscription(Subscription):
    """Follows a log by looking again, a page at a time."""

    def __init__(
        self, recorder: SprintlogApplicationRecorder, gt: int | None, topics: Sequence[str]
    ) -> None:
        super().__init__(recorder=recorder, gt=gt, topics=topics)
        self._from, self._topics = recorder, topics
        self._after = gt or 0

    def __next__(self) -> Any:
        """Return the next notification, waiting for it if necessary."""
        until = time.monotonic() + SILENCE_SECONDS_MAX
        while not self._has_been_stopped:
            found = self._from.select_notifications(
                self._after, 1, topics=self._topics, inclusive_of_start=False
            )
            if found:
                self._after = found[0].id
                return found[0]
            if time.monotonic() > until:
                raise TimeoutError("nothing came")
            time.sleep(0.005)
        raise StopIteration


class SprintlogTrackingRecorder(TrackingRecorder):
    """The positions up to which other applications were followed, one stream each."""

    def __init__(self, url: str) -> None:
        self._log = RecordingLog(url)

    def insert_tracking(self, tracking: Any) -> None:
        """Append a position; one that does not advance is refused."""
        name, place = tracking.application_name, tracking.notification_id
        stream, last = f"tracking/{name}", self._last(name)
        if last is not None and last[1] >= place:
            raise IntegrityError(f"{name} was followed up to {last[1]}")
        said = json.dumps({"notification": place}).encode()
        self._log.add(stream, [_event("followed", said)], 0 if last is None else last[0])

    def max_tracking_id(self, application_name: str) -> int | None:
        """Return the last place."""
        last = self._last(application_name)
        return None if last is None else last[1]

    def _last(self, name: str) -> tuple[int, int] | None:
        """Return the version of the last position, and the position."""
        stream = f"tracking/{name}"
        with self._log.open() as log:
            version = log.version(stream)
            for event in log.read_stream(stream, after=version - 1):
                return version, int(_said(event)["notification"])
        return None


def _notifications(
    log: EventStore, after: int, until: int | None, topics: Sequence[str]
) -> Iterator[Any]:
    for event in log.read(after=after, until=until):
        if not topics or event.type in topics:
            yield Notification(
                _said(event)["originator"],
                _version(event),
                event.type,
                _state(event),
                event.position,
            )


def _stream(originator_id: Any) -> str:
    return f"aggregate/{originator_id}"


def _event(type_: str, said: bytes) -> NewEvent:
    return NewEvent(type_, said, at="2026-01-01T00:00:00Z", actor="runtime")


def _new(stored: Any) -> NewEvent:
    said = {
        "originator": str(stored.originator_id),
        "version": stored.originator_version,
        "state": b64encode(stored.state).decode(),
    }
    return _event(stored.topic, json.dumps(said).encode())


def _said(event: RecordedEvent) -> dict[str, Any]:
    assert event.payload is not None
    said: dict[str, Any] = json.loads(event.payload)
    return said


def _version(event: RecordedEvent) -> int:
    return int(_said(event)["version"])


def _state(event: RecordedEvent) -> bytes:
    return b64decode(_said(event)["state"])
