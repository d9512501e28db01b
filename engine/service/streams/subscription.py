"""Follow a log while other processes append to it: each event once, in order."""

from collections.abc import Callable, Iterator

from ...log.chain import recorded
from ...log.envelope import RecordedEvent
from ...log.port import Log

PAUSE_SECONDS = 0.1
PAUSES_PER_LOOK = 20
"""After so many pauses the log itself is looked at: a head file may stay behind."""


def follow(
    log: Log, *, after: int, pause: Callable[[], None]
) -> Iterator[list[RecordedEvent]]:
    """Yield the events after a position, many at a time, and for ever what comes then.

    In between only the head file is read, 48 bytes, without a lock. `pause` waits for a
    moment, and raises an exception to end the iteration.
    """
    while True:
        for rows in log.pages(after=after):
            page = [recorded(row) for row in rows]
            after = page[-1].position
            yield page
        for _ in range(PAUSES_PER_LOOK):
            pause()
            head = log.acknowledged()
            if head is not None and head.position > after:
                break
        else:
            log.check_acknowledged()
