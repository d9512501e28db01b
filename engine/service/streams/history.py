"""The history of a sprint, version by version, including discarded events.

A single fold processes the stream in order. At a rollback, the state of the target is
restored from a copy that was made when the fold reached the target. A fork copies its
events in a few large appends, so rollbacks, undos and forks refer to the original appends.

`follow` yields the events that other processes append, each once, in order.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ...log.chain import recorded
from ...log.envelope import RecordedEvent
from ...log.event import Event, Versioned
from ...log.port import Log
from ...sprint.fold import fold
from ...sprint.state.sprint import Sprint, pack, unpack
from .catalogue import sprint_stream

AT_ONCE = 512
"""The number of unseen events that are folded together."""


class Walked(NamedTuple):
    """An event, and the sprint after it; the next step modifies that sprint."""

    version: int
    event: Event
    sprint: Sprint
    back_to: int | None
    """The target version of a rollback; 0 for the state before the first event."""


def first_recorded(
    log: Log, sprint: Sprint, *, after: int, until: int
) -> Iterator[RecordedEvent]:
    """Yield the events of a sprint; for a fork, yield the originals of copied events."""
    for last, stream in (*sprint.knowledge.forks, (until, sprint_stream(sprint.id))):
        end = min(last, until)
        if after < end:
            yield from log.read_stream(stream, after=after, until=end)
            after = end


def append_end(log: Log, sprint: Sprint, version: int) -> int:
    """Return the last version in the append that contains the given version."""
    found = first_recorded(log, sprint, after=version - 1, until=version)
    return version + sum(event.remaining for event in found)


def walk(
    sprint: Sprint,
    events: Iterable[Versioned],
    rollbacks: Sequence[tuple[int, int]],
    at_version: Callable[[int], Sprint] | None = None,
    is_seen: Callable[[Event], bool] | None = None,
) -> Iterator[Walked]:
    """Yield the events after a state, each with the sprint after it.

    The given sprint is modified. `rollbacks` contains the (version, target) pairs of the
    rollbacks among the events. If a target other than 0 precedes the state, `at_version`
    returns the sprint after the rollback. Events that `is_seen` rejects, except rollbacks
    and their targets, are only folded, in batches.
    """
    # An imported log may name a later version as the target: that discards nothing.
    targets = {at: to for at, to in rollbacks if to < at}
    wanted = dict.fromkeys(targets.values(), 0)
    for to in targets.values():
        wanted[to] += to >= 1
    kept = {sprint.version: pack(sprint)} if wanted.get(sprint.version) else {}
    unseen: list[Versioned] = []
    for version, at, event in events:
        back_to = targets.get(version)
        is_kept = bool(wanted.get(version))
        if is_seen and back_to is None and not is_kept and not is_seen(event):
            unseen.append((version, at, event))
            if len(unseen) == AT_ONCE:
                fold(sprint, unseen)
                unseen = []
            continue
        if unseen:
            fold(sprint, unseen)
            unseen = []
        is_before = back_to is not None and back_to >= 1 and back_to not in kept
        if is_before and at_version is not None:
            sprint = at_version(version)
        else:
            if back_to is not None:
                # Knowledge gained in the meantime is kept; only the plan is rolled back.
                state = unpack(kept[back_to]) if back_to >= 1 else Sprint(sprint.id)
                state.knowledge, sprint = sprint.knowledge, state
            fold(sprint, [(version, at, event)])
        if back_to is not None:
            wanted[back_to] -= 1
            if not wanted[back_to]:
                kept.pop(back_to, None)
        if is_kept:
            kept[version] = pack(sprint)
        yield Walked(version, event, sprint, back_to)
    if unseen:
        fold(sprint, unseen)


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
