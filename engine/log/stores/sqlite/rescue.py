"""Creates a new log from the intact part of a damaged one, which is only read.

The intact part is the longest prefix with a valid chain; its positions and hashes do not
change. It is read from the pages (`page_rows`), because SQLite rejects a database even if
the damage is outside the events.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ....errors import BusyError, RefusedError, UnreadableError
from ...chain import GENESIS, check_chain, follows, is_whole
from ...envelope import ERASURES, Head, RecordedEvent
from ...port import Clock, Entropy
from ..descriptors import sync
from ..head_file import HeadFile
from .backup import check_copy, files_now
from .database import head_path
from .errors import explained, not_read
from .page_rows import PageImages, PageRows
from .store import SqliteLog

EVENTS_A_STEP = 256
SAVED, READABLE, DAMAGED, MISSING = "saved", "readable", "damaged", "missing"
IN_DOUBT = "it may never have been committed"
LATER = "follows an event that was not saved"
CHANGED = "its hash does not match: it or the previous event was changed"
NOT_WHOLE = "its payload is not the recorded one, or a field is invalid"
UNREADABLE = "it was found but cannot be read"
NOTHING = "it was not found"
OTHER = "the head file states a different event: this log replaced another one"

Problem = Callable[[RecordedEvent], str | None]
"""A function that returns an event's problem, apart from its place in the chain."""
Judge = Callable[[Callable[[], Iterator[RecordedEvent]]], Problem]
"""A function that returns a `Problem`, given a function that finds erasure events."""
Keep = Callable[[RecordedEvent, str], None]
"""A function that receives an event that is not saved in the new log, and the reason."""


class RescuedRange(NamedTuple):
    """The state of the events in a range of positions."""

    first: int
    last: int
    state: str
    """`saved`: in the new log; `readable`: complete, but the chain before it is broken;
    `damaged`: found, but changed; `missing`: not found."""


class Salvaged(NamedTuple):
    """The result of a rescue."""

    head: Head
    """The end of the new log."""
    ranges: list[RescuedRange]
    """All positions that are known to have existed, in order."""
    problem: str | None
    """The problem of the first event that was not saved; None if all were."""
    unread: int
    """The number of pages that the disk failed to read; they may contain lost events."""


def salvage(
    source: Path,
    target: Path,
    *,
    clock: Clock,
    entropy: Entropy,
    judge: Judge,
    keep: Keep,
    progress: Callable[[int], None],
) -> Salvaged:
    """Create a log from the intact part of `source`; pass later events to `keep`.

    Raise `UnreadableError` if no event is found, and `BusyError` if another process
    recorded an event in the meantime. Do not call this in a process that has the old log
    open: closing a file that was read would release SQLite's locks on it.
    """
    before = files_now(source)
    known = HeadFile(head_path(source)).read()
    try:
        with closing(PageImages(source)) as pages:
            rows = PageRows(pages)
            if not rows.positions:
                if pages.unread:
                    raise not_read(source)
                raise UnreadableError(
                    f"nothing can be saved: no event was found in {source}",
                    hint="restore a backup",
                )
            with closing(SqliteLog.create(target, clock=clock, entropy=entropy)) as log:
                # A draft damaged by a power failure is discarded; it is synced below.
                log.connection.raw.execute("PRAGMA synchronous=OFF")
                problem = judge(lambda: _erasures(rows))
                said = _save(log, sound_events(rows, known), problem, progress)
                head = log.head()
                other = (
                    known is not None
                    and known.position <= head.position
                    and not log.holds(known)
                )
            ranges, why = _account(rows, head, known, keep, said)
            unread = pages.unread
    except OSError as error:
        raise RefusedError(f"{error.filename or source}: {error.strerror}") from error
    except sqlite3.Error as error:
        raise explained(error, target) from error
    if files_now(source) != before:
        raise BusyError(
            f"{source} was written to while it was read",
            hint="end every sprintlog process that has it open, and repeat the command",
        )
    check_copy(target, clock=clock, entropy=entropy)
    sync(target)
    if why is not None:
        why = f"position {head.position + 1}: {why}"
    return Salvaged(head, ranges, why or (OTHER if other else None), unread)


def sound_events(rows: PageRows, known: Head | None) -> Iterator[RecordedEvent]:
    """Yield the events from position 1 on, as long as the chain is valid.

    An uncommitted event counts only if it is followed by a committed event or by the
    acknowledged head in the head file.
    """
    position, previous = 0, GENESIS
    waiting: list[RecordedEvent] = []
    while True:
        position += 1
        fitting = [
            (event, committed)
            for event, committed in rows.at(position)
            if is_whole(event) and follows(event, previous)
        ]
        if not fitting:
            return
        event, committed = next(
            (found for found in fitting if Head(position, found[0].hash) == known),
            fitting[0],
        )
        waiting.append(event)
        if committed or Head(position, event.hash) == known:
            yield from waiting
            waiting.clear()
        previous = event.hash


def _erasures(rows: PageRows) -> Iterator[RecordedEvent]:
    """Yield all events that record erasures, including those after the first damage."""
    for position in rows.positions:
        for event, _ in rows.at(position):
            if event.stream == ERASURES and event.salt is not None and is_whole(event):
                yield event


def _save(
    log: SqliteLog,
    events: Iterator[RecordedEvent],
    problem: Problem,
    progress: Callable[[int], None],
) -> str | None:
    """Copy complete appends up to the first problem; return that problem or None."""
    waiting: list[RecordedEvent] = []
    said: list[str] = []

    def passed() -> Iterator[RecordedEvent]:
        # When the check requests the next event, it has accepted the previous ones.
        for event in events:
            if len(waiting) >= EVENTS_A_STEP and not waiting[-1].remaining:
                with log.taking_over() as take:
                    take(waiting)
                progress(waiting[-1].position)
                waiting.clear()
            if wrong := problem(event):
                said.append(wrong)
                return
            waiting.append(event)
            yield event

    for found in check_chain(passed()):
        said.append(found.problem)
        waiting.pop()
        break
    while waiting and waiting[-1].remaining:
        waiting.pop()
    if waiting:
        with log.taking_over() as take:
            take(waiting)
    return said[0] if said else None


def _account(
    rows: PageRows, head: Head, known: Head | None, keep: Keep, said: str | None
) -> tuple[list[RescuedRange], str | None]:
    """Return the state of all positions, and the problem with the first lost event."""
    ranges = [RescuedRange(1, head.position, SAVED)] if head.position else []
    last = max(head.position, known.position if known else 0, rows.last_plausible)
    before: Head | None = head
    for found in rows.positions:
        if found <= head.position:
            continue
        event, state, wrong = _looked_at(rows, found, before)
        if found > last and state == DAMAGED:
            # Not an event, but data that looked like the start of one.
            continue
        if gap := _gap(ranges, found, last):
            said = said or NOTHING
            _extend(ranges, gap)
        if found == head.position + 1:
            wrong = said or (IN_DOUBT if wrong is LATER else wrong)
        said = said or wrong
        _extend(ranges, RescuedRange(found, found, state))
        before = None
        if event is not None:
            keep(event, wrong)
            before = Head(found, event.hash) if isinstance(event.hash, bytes) else None
    if gap := _gap(ranges, last + 1, last):
        said = said or NOTHING
        _extend(ranges, gap)
    return ranges, said


def _looked_at(
    rows: PageRows, position: int, before: Head | None
) -> tuple[RecordedEvent | None, str, str]:
    """Return the best event found at a position, its state, and its problem."""
    events = [event for event, _ in rows.at(position)]
    whole = [event for event in events if is_whole(event)]
    has_neighbour = before is not None and before.position == position - 1
    for event in whole:
        if before is not None and has_neighbour and follows(event, before.hash):
            return event, READABLE, LATER
    if whole:
        return whole[0], READABLE, CHANGED if has_neighbour else LATER
    first = next(iter(events), None)
    return first, DAMAGED, UNREADABLE if first is None else NOT_WHOLE


def _gap(ranges: list[RescuedRange], found: int, last: int) -> RescuedRange | None:
    """Return the missing range between the last range and a position, or None."""
    first = ranges[-1].last + 1 if ranges else 1
    end = min(found - 1, last)
    return RescuedRange(first, end, MISSING) if first <= end else None


def _extend(ranges: list[RescuedRange], new: RescuedRange) -> None:
    if ranges and ranges[-1].state == new.state and ranges[-1].last + 1 == new.first:
        new = new._replace(first=ranges.pop().first)
    ranges.append(new)
