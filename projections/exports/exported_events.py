"""Events as other tools are told of them: what an event says, and what stays with us.

Without content an event says what would remain of it if it were erased: addresses, names
and figures, and no words. Whatever is told is masked, also what was recorded as it came.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.log.codec import encode
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import ERASED, Event, Kind
from sprintlog.engine.log.port import EventStore
from sprintlog.engine.masking import mask, mask_all
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_of
from sprintlog.engine.sprint.events import EVENTS, IterationStarted, RolledBack

from .survey import Progress, Survey

EVENTS_A_STEP = 512
_NEVER_VOIDED = {event.type for event in EVENTS if event.kind is not Kind.EXECUTION}


class ToldEvent(NamedTuple):
    """An event of the log, and what is told of it."""

    recorded: RecordedEvent
    event: Event | None
    """What it says in today's shape; None where nothing of it was kept."""
    data: Any
    """What is told of that, as JSON has it; None where nothing of it was kept."""
    is_in_force: bool
    """False once a rollback went back before it."""
    iteration: int | None
    """Of a sprint's event: the iteration it happened in; None after a rollback."""
    previous: bytes
    """The hash of the event before it in the log."""

    @property
    def is_erased(self) -> bool:
        """Tell whether what it said was erased; its data is what remains."""
        return self.recorded.salt is None


class LogTold(NamedTuple):
    """What of a log is told."""

    log: EventStore
    known: Survey
    stream: str | None = None
    """The only stream that is told; None for all."""
    with_content: bool = False
    progress: Progress = lambda count: None

    def events(self, after: int = 0) -> Iterator[ToldEvent]:
        """Yield the events in their order, as far as the survey went."""
        iterations: dict[str, int | None] = {}
        previous = bytes(32)
        for event in self.log.read(until=self.known.head.position):
            if event.position % EVENTS_A_STEP == 0:
                self.progress(event.position)
            if self.stream in (None, event.stream):
                said = None if event.payload is None else CODEC.decode(event)
                is_in = event.type in _NEVER_VOIDED or self.known.is_in_force(event)
                iteration = None
                if sprint_of(event.stream) is not None:
                    iteration = _iteration(iterations, event.stream, said)
                if event.position > after:
                    data = told(said, with_content=self.with_content)
                    yield ToldEvent(event, said, data, is_in, iteration, previous)
            previous = event.hash


def _iteration(
    known: dict[str, int | None], stream: str, event: Event | None
) -> int | None:
    if isinstance(event, IterationStarted):
        known[stream] = event.number
    elif isinstance(event, RolledBack):
        known[stream] = None
    return known.setdefault(stream, 0)


def told(event: Event | None, *, with_content: bool) -> Any:
    """Return what an event says, as JSON has it; its words only if they are asked for."""
    if event is None:
        return None
    said = msgspec.json.decode(encode(event if with_content else event.remains()))
    return mask_all(said if with_content else _without_words(said))


def who(event: RecordedEvent) -> str:
    """Return who caused an event."""
    return mask(event.actor)


def _without_words(value: Any) -> Any:
    """Return a JSON value without the fields that say only that words were there."""
    if isinstance(value, dict):
        return {n: _without_words(x) for n, x in value.items() if not _is_word(x)}
    if isinstance(value, list):
        return [_without_words(x) for x in value if not _is_word(x)]
    return value


def _is_word(value: Any) -> bool:
    """Tell whether a value stands for words; the script of a gate is made around it."""
    return isinstance(value, str) and ERASED in value
