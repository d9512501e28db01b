"""Follows a log while other processes append to it, yielding each event once, in order."""

from collections.abc import Callable, Iterator

from ...log.chain import recorded
from ...log.envelope import RecordedEvent
from ...log.port import Log

PAUSE_SECONDS = 0.1
PAUSES_PER_LOOK = 20
"""The number of pauses between checks of the log itself, as the head file may be stale."""


def follow(
    log: Log, *, after: int, pause: Callable[[], None]
) -> Iterator[list[RecordedEvent]]:
    """Yield the events after a position in batches, then continue with new events.

    In between, only the 48-byte head file is read, without a lock. `pause` waits briefly,
    and raises an exception to end the iteration.
    """
    while True:
        for rows in log.pages(after=after):
            page = [recorded(row) for row in rows]
            after = page[-1].position
            yield page
        for _ in range(PAUSES_PER_LOOK):
            pause()
            if (head := log.acknowledged()) is not None and head.position > after:
                break
        else:
            log.check_acknowledged()
