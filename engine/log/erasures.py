"""The events that say which payloads were erased: what was said is gone, that it was stays.

An erased event keeps its place, its header and its payload's digest, so the chain holds.
Payload and salt go together: without the salt nobody can guess the text by its digest.
"""

from collections.abc import Iterable
from typing import ClassVar

from .envelope import Span
from .event import Event, Kind, Reach, Subject, events_in

STREAM = "erasures"
"""The stream of these events, one for the whole log."""


class PayloadErased(Event, frozen=True):
    """Payloads were taken out of the log, in the same moment as this was recorded."""

    type: ClassVar[str] = "payload-erased"
    kind: ClassVar[Kind] = Kind.KNOWLEDGE
    subject: ClassVar[Subject] = Subject("erasure", ("reason",))
    reach: ClassVar[Reach] = Reach.NOTHING
    only_caused: ClassVar[str] = "payloads are erased with it, all or none"
    is_quiet: ClassVar[bool] = True
    reason: str
    """Why; no word of what was erased."""
    spans: tuple[Span, ...]
    """Of which events."""
    payloads: int
    """Of how many events there was a payload still."""
    bytes: int
    """How long those were."""


ERASURE_EVENTS = events_in(globals())


class Erasures:
    """What a log says of itself that it was erased."""

    def __init__(self, events: Iterable[PayloadErased]) -> None:
        self._spans: dict[str, list[Span]] = {}
        for event in events:
            for span in event.spans:
                self._spans.setdefault(span.stream, []).append(span)

    def tell_of(self, stream: str, version: int, type_: str) -> bool:
        """Tell whether an event is among those that were erased."""
        spans = self._spans.get(stream, ())
        return any(span.holds(stream, version, type_) for span in spans)
