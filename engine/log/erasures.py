"""Events that record which payloads were erased.

An erased event keeps its position, header and payload digest, so the chain remains valid.
The payload and its salt are erased together: without the salt, the text cannot be guessed
from its digest.
"""

from collections.abc import Iterable

from .. import hashes
from .envelope import ERASURES, Span, places_in
from .event import Event, Kind, Reach, Subject, events_of

STREAM = ERASURES
"""The stream of erasure events."""


class PayloadErased(Event, frozen=True):
    """Payloads were erased from the log in the transaction that recorded this event."""

    stays = ("reason", "spans", "remainders")
    kind = Kind.KNOWLEDGE
    subject = Subject("erasure", ("reason",))
    reach = Reach.NOTHING
    only_caused = "payloads are erased with it, all or none"
    is_quiet = True
    reason: str
    """The reason, without any of the erased text."""
    spans: tuple[Span, ...]
    """The erased events."""
    payloads: int
    """The number of events that still had a payload."""
    bytes: int
    """The total size of those payloads."""
    remainders: tuple[str, ...] = ()
    """The SHA-256 of each event's remainder, in order; empty if nothing remains."""


ERASURE_EVENTS = events_of(__name__)


class Erasures:
    """The erasures that a log records."""

    def __init__(self, events: Iterable[PayloadErased]) -> None:
        self._spans: dict[str, list[Span]] = {}
        self._remainders: dict[tuple[str, int], str] = {}
        for event in events:
            for span in event.spans:
                self._spans.setdefault(span.stream, []).append(span)
            if event.remainders:
                places = places_in(event.spans)
                self._remainders.update(zip(places, event.remainders, strict=False))

    def tell_of(
        self, stream: str, version: int, type_: str, remainder: bytes | str | None = None
    ) -> bool:
        """Return whether the log records that the event was erased, with this remainder."""
        if remainder is not None:
            return self._remainders.get((stream, version)) == digest_of(remainder)
        return (stream, version) not in self._remainders and any(
            span.holds(stream, version, type_) for span in self._spans.get(stream, ())
        )


def digest_of(remainder: bytes | str) -> str:
    """Return the unsalted digest of an event's remainder, which contains no secret."""
    content = remainder.encode() if isinstance(remainder, str) else remainder
    return hashes.sha256(content).hexdigest()
