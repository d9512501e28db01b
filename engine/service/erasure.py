"""Taking payloads out of the log, and saying so in the same moment."""

from collections.abc import Sequence

from ..errors import RefusedError
from ..log.envelope import Appended, Span
from ..log.erasures import STREAM, PayloadErased
from ..log.port import Log
from .streams.catalogue import masked, new_event


def measured(log: Log, span: Span) -> tuple[int, int]:
    """Return how many of some events have a payload, and how many bytes those are."""
    pages = log.scan(span.stream, after=span.first - 1, until=span.last, only=span.only)
    # A store may give payloads as text.
    texts = [text for page in pages for _, _, text in page.rows if text is not None]
    return len(texts), sum(
        len(text.encode() if isinstance(text, str) else text) for text in texts
    )


def erase(
    log: Log, spans: Sequence[Span], *, reason: str, actor: str, at: str
) -> Appended | None:
    """Erase payload and salt of events, and record that; None where nothing is left of it.

    `at` is when it happens. Raise `RefusedError` for what the log says of erasures itself.
    """
    if any(span.stream == STREAM for span in spans):
        raise RefusedError("what was erased is not forgotten: its events stay")
    found = [measured(log, span) for span in spans]
    event = PayloadErased(
        reason,
        tuple(spans),
        payloads=sum(count for count, _ in found),
        bytes=sum(size for _, size in found),
    )
    said = new_event(masked(event), at=at, actor=actor)
    return log.erase(spans, stream=STREAM, said=said)
