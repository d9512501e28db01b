"""A log from one store into another: the same events, and nothing twice.

What is there already is the beginning of what comes, or nothing is copied. So a copy that
was cut short goes on where it was, and one that is repeated brings only what is new.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack

from msgspec.structs import astuple

from sprintlog.engine.errors import RefusedError, UnreadableError
from sprintlog.engine.log.chain import START, Row, check_rows, recorded
from sprintlog.engine.log.envelope import Head, RecordedEvent
from sprintlog.engine.log.port import Log, Take

from .exchange import Carried, Progress, events_of

EVENTS_A_HAND = 512
EVENTS_A_STEP = 4096
BYTES_A_STEP = 32 * 1024 * 1024

Pages = Iterator[list[Row]]


def copy_log(
    source: Log, target: Log, *, progress: Progress = lambda count: None
) -> Carried:
    """Copy what a log lacks of another one, in steps that each are whole appends.

    Positions, ids, keys and hashes stay, and the chain is checked on the way. Raise
    `RefusedError` where the target is not the beginning of the source.
    """
    end = source.head()
    before = target.head()
    if not source.holds(before):
        raise _no_beginning(before)
    pages = source.pages(after=before.position, until=end.position)
    return _copy(pages, target, before, progress)


def copy_export(
    lines: Iterable[bytes],
    target: Log,
    *,
    file: str,
    progress: Progress = lambda count: None,
) -> Carried:
    """Copy what a log lacks of an export; raise `InvalidInputError` naming a wrong line."""
    before = target.head()
    pages = _pages_of(lines, before, file)
    # Lines may come slowly: the target is not held meanwhile.
    return _copy(pages, target, before, progress, hand=EVENTS_A_STEP, start=START)


def _pages_of(lines: Iterable[bytes], before: Head, file: str) -> Pages:
    """Yield the events of an export one by one, and see that the target is in it."""
    is_met = before == START
    for _, found in events_of(lines, file=file):
        is_met = is_met or Head(found.position, found.hash) == before
        if found.position >= before.position and not is_met:
            raise _no_beginning(before)
        yield [astuple(found)]
    if not is_met:
        raise _no_beginning(before)


def _copy(
    pages: Pages,
    target: Log,
    before: Head,
    progress: Progress,
    *,
    hand: int = EVENTS_A_HAND,
    start: Head | None = None,
) -> Carried:
    """Copy pages; the target is given `hand` events at a time, and keeps steps of many."""
    count, head = 0, before
    waiting: list[RecordedEvent] = []
    take: Take | None = None
    taken = size = 0

    with ExitStack() as step:

        def hand_on() -> None:
            """Let the target write verified events while more are verified."""
            nonlocal take, taken, head
            # Whoever is cut short leaves whole appends.
            whole = len(waiting)
            while whole and waiting[whole - 1].remaining:
                whole -= 1
            if not whole:
                return
            take = take or step.enter_context(target.taking_over())
            take(waiting[:whole])
            taken += whole
            head = Head(waiting[whole - 1].position, waiting[whole - 1].hash)
            del waiting[:whole]

        def keep() -> None:
            nonlocal take, taken, size, count
            if take is None:
                return
            step.pop_all().close()
            count += taken
            take, taken, size = None, 0, 0
            progress(head.position)

        def passed() -> Iterator[Row]:
            nonlocal size
            for page in pages:
                # Asked for more, the check has found nothing wrong with those before.
                if len(waiting) >= hand or size >= BYTES_A_STEP:
                    hand_on()
                # Events of one step are stored together.
                if taken > EVENTS_A_STEP - hand or size >= BYTES_A_STEP:
                    keep()
                yield from page
                new = [recorded(row) for row in page if row[0] > before.position]
                waiting.extend(new)
                size += sum(len(event.payload or b"") for event in new)

        for problem in check_rows(passed(), after=before if start is None else start):
            raise UnreadableError(problem.problem, position=problem.position)
        hand_on()
        keep()
    return Carried(count, head)


def _no_beginning(head: Head) -> RefusedError:
    return RefusedError(
        f"nothing copied: the target has {head.position} events that are not the beginning "
        "of the source",
        hint="copy into a new log, or the other way round where the target is ahead",
    )
