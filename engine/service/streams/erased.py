"""Missing payloads, which are either damaged or erased; an event records each erasure."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import Final

from ...errors import SprintlogError, UnreadableError
from ...log.chain import Row
from ...log.envelope import RecordedEvent
from ...log.erasures import STREAM, Erasures, PayloadErased
from ...log.port import EventStore
from .catalogue import CODEC

_place_of: Final = RecordedEvent.__struct_fields__.index
_event_of = itemgetter(*map(_place_of, ("stream", "version", "type", "payload")))
_salt_of = itemgetter(_place_of("salt"))
_payload_of = itemgetter(_place_of("payload"))
UNSAID = "its payload is a different one"


def erasures_of(log: EventStore) -> Erasures:
    """Return the erasures recorded in a log."""
    return erasures_in(log.read_stream(STREAM))


def erasures_in(events: Iterable[RecordedEvent]) -> Erasures:
    """Return the erasures recorded in the given events.

    Damaged events are ignored here, because reading the chain reports them.
    """
    said = []
    with suppress(SprintlogError):
        for event in events:
            with suppress(UnreadableError):
                said.append(CODEC.decode(event))
    return Erasures(event for event in said if isinstance(event, PayloadErased))


def still_said(log: EventStore) -> int:
    """Return the number of events that still contain erased text.

    Only a copy of the log that was made before the erasure contains such events.
    """
    count = 0
    for recorded in log.read_stream(STREAM):
        said = CODEC.decode(recorded)
        for span in said.spans if isinstance(said, PayloadErased) else ():
            events = log.read_stream(span.stream, after=span.first - 1, until=span.last)
            meant = (e for e in events if span.holds(e.stream, e.version, e.type))
            count += sum(event.salt is not None for event in meant)
    return count


def unsaid(rows: Sequence[Row], erasures: Erasures) -> Iterator[tuple[str, str]]:
    """Yield the location and problem of each missing payload that no erasure explains."""
    # This checks every event in a log, and usually nothing is missing: avoid a Python loop.
    if all(map(_salt_of, rows)) and all(map(_payload_of, rows)):
        return
    for row in rows:
        payload = _payload_of(row)
        is_whole = _salt_of(row) is not None and payload is not None
        if is_whole or erasures.tell_of(*_event_of(row)):
            continue
        what = "its payload is gone" if payload is None else UNSAID
        yield f"position {row[0]}", f"{what}, and no event records an erasure"
