"""Which version of a stream a moment means, found without reading all of its events.

What is handed in may have happened before what was recorded earlier, and clocks go back.
So of every block of events the earliest moment is kept: the last version that happened no
later than a moment stands in the last block whose earliest is no later.
"""

from datetime import UTC, datetime

from ...log.port import Log
from .readings import TIMES, KeptReading, Reading

BLOCK_EVENTS = 512
_MEANING = 1
_TO_MICROSECONDS = 26
"""The characters of a moment that count, without the `Z`: none of ours is finer."""


class Times(Reading):
    """The earliest moment of each whole block of a stream's events."""

    earliest: list[str]


def last_until(log: Log, stream: str, moment: datetime) -> int:
    """Return the last version that happened no later than a moment; 0 if none did."""
    text = moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
    times, tail = _times(log, stream)
    found = _last(tail, text)
    if found:
        return found
    early = (n for n in reversed(range(len(times.earliest))) if times.earliest[n] <= text)
    block = next(early, None)
    return 0 if block is None else _last(_rows(log, stream, block), text)


def _times(log: Log, stream: str) -> tuple[Times, list[tuple[int, str]]]:
    """Return what is known of whole blocks, and the events behind the last of them."""
    kept = KeptReading(log, TIMES, stream, Times, meaning=_MEANING)
    times = kept.load() or Times(0, [])
    before = times.version
    while len(rows := _rows(log, stream, len(times.earliest))) == BLOCK_EVENTS:
        times.earliest.append(min(at for _, at in rows))
        times.version = rows[-1][0]
    if times.version > before:
        kept.keep_only(times)
    return times, rows


def _rows(log: Log, stream: str, block: int) -> list[tuple[int, str]]:
    """Return version and moment of the events in a block."""
    after = block * BLOCK_EVENTS
    pages = log.scan(stream, after=after, until=after + BLOCK_EVENTS)
    # A moment that goes on is the later one, so texts are compared as the moments are.
    return [
        (version, at[:-1][:_TO_MICROSECONDS])
        for page in pages
        for version, (at, *_) in zip(page.versions, page.rows, strict=True)
    ]


def _last(rows: list[tuple[int, str]], moment: str) -> int:
    return next((version for version, at in reversed(rows) if at <= moment), 0)
