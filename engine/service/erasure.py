"""Erasure of payloads from the log, recorded in the same transaction."""

from collections.abc import Iterable, Iterator, Sequence

from ..errors import RefusedError
from ..log.codec import encode
from ..log.envelope import Appended, RecordedEvent, Span
from ..log.erasures import STREAM, PayloadErased, digest_of
from ..log.port import Log
from .streams.catalogue import CODEC, new_event

EVENTS_OF_AN_ERASURE = 5_000
"""The maximum number of events erased by a single event, which lists them."""


def measured(log: Log, span: Span) -> tuple[int, int]:
    """Return how many events in a span have a payload, and the payloads' size in bytes."""
    pages = log.scan(span.stream, after=span.first - 1, until=span.last, only=span.only)
    # A store may return payloads as text.
    texts = [text for page in pages for _, _, text in page.rows if text is not None]
    return len(texts), sum(
        len(text.encode() if isinstance(text, str) else text) for text in texts
    )


def erase(
    log: Log, spans: Sequence[Span], *, reason: str, actor: str, at: str
) -> Appended | None:
    """Erase the payloads and salts of events, and record the erasure.

    `at` is the time of the erasure. Return None if no payload is left. Raise `RefusedError`
    for events that record erasures.
    """
    check_not_erasures(span.stream for span in spans)
    found = [measured(log, span) for span in spans]
    payloads, size = sum(count for count, _ in found), sum(size for _, size in found)
    event = PayloadErased(reason, tuple(spans), payloads=payloads, bytes=size)
    return log.erase(spans, stream=STREAM, said=new_event(event, at=at, actor=actor))


def remainder(event: RecordedEvent) -> bytes:
    """Return the remainder of an erased event's payload: its structure without its text."""
    return encode(CODEC.decode(event).remains())


def erase_words(
    log: Log, events: Sequence[RecordedEvent], *, reason: str, actor: str, at: str
) -> Iterator[Appended]:
    """Erase the text of events, except references; yield the recorded erasures.

    All states that depend on the events can still be computed. Erased events are skipped.
    """
    check_not_erasures(event.stream for event in events)
    meant = (event for event in events if event.salt is not None)
    ordered = sorted(meant, key=lambda event: (event.stream, event.version))
    for start in range(0, len(ordered), EVENTS_OF_AN_ERASURE):
        some = ordered[start : start + EVENTS_OF_AN_ERASURE]
        left = [remainder(event) for event in some]
        said = PayloadErased(
            reason,
            tuple(_spans(some)),
            payloads=len(some),
            bytes=sum(len(event.payload or b"") for event in some),
            remainders=tuple(map(digest_of, left)),
        )
        new = new_event(said, at=at, actor=actor)
        appended = log.erase(said.spans, stream=STREAM, said=new, remainders=left)
        if appended is not None:
            yield appended


def _spans(events: Sequence[RecordedEvent]) -> Iterator[Span]:
    """Yield the spans of consecutive events, given events sorted by stream and version."""
    begin = events[0]
    for event, after in zip(events, (*events[1:], None), strict=True):
        follows = after is not None and after.stream == event.stream
        if after is None or not follows or after.version != event.version + 1:
            yield Span(begin.stream, begin.version, event.version)
            if after is not None:
                begin = after


def check_not_erasures(streams: Iterable[str | None]) -> None:
    """Raise `RefusedError` if the streams include the stream that records erasures."""
    if STREAM in streams:
        raise RefusedError("records of erasures cannot be erased")
