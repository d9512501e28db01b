"""Checks whether a log can be read to its end, as every command requires.

A missing payload is either damaged or erased; an event records each erasure.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from os import urandom
from pathlib import Path
from typing import Final

from ...errors import SprintlogError, UnreadableError
from ...log import envelope, port
from ...log.chain import Row
from ...log.envelope import RecordedEvent
from ...log.erasures import STREAM, Erasures, PayloadErased
from ...log.stores.sqlite import backup
from ...races import race_of
from ...sessions.names import session_of
from . import journal
from .catalogue import CODEC, SPRINTS, sprint_of
from .repository import Repository


def is_folded(stream: str) -> bool:
    """Return whether a state is folded from a stream, which requires all payloads."""
    return not (session_of(stream) or race_of(stream) or stream == STREAM)


def fold_all(log: port.EventStore) -> None:
    """Fold every stream of a log; raise `UnreadableError` if a stream cannot be folded.

    Even with a valid chain, a stream may not be foldable. Streams without a state are only
    read. A payload may be missing or replaced only if an event records its erasure.
    """
    erasures = erasures_of(log)
    for page in log.pages():
        for position, what in unsaid(page, erasures):
            raise UnreadableError(f"{position}: {what}")
    for stream in log.streams():
        if not is_folded(stream):
            for event in log.read_stream(stream):
                CODEC.today(event)
        elif (sprint := sprint_of(stream)) is not None:
            Repository(log, SPRINTS, None).from_nothing(sprint)
        else:
            Repository(log, journal.JOURNALS, None).from_nothing(stream)
            Repository(log, journal.DOCUMENTS, None).from_nothing(stream)


def back_up(log: port.Log, target: Path, *, clock: port.Clock) -> envelope.Head:
    """Copy the log into a file; read and fold the complete copy, and return its head.

    Raise `RefusedError` if the file exists.
    """
    return backup.back_up(log, target, clock=clock, entropy=urandom, check=fold_all)


_place_of: Final = RecordedEvent.__struct_fields__.index
_event_of = itemgetter(*map(_place_of, ("stream", "version", "type", "payload")))
_salt_of = itemgetter(_place_of("salt"))
_payload_of = itemgetter(_place_of("payload"))
UNSAID = "its payload is a different one"


def erasures_of(log: port.EventStore) -> Erasures:
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


def still_said(log: port.EventStore) -> int:
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
