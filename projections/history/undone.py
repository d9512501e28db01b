"""What goes along when something is taken back: the work that was recorded since."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event, Kind
from sprintlog.engine.log.port import Log
from sprintlog.engine.service.place.state_places import PROGRESS
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.service.streams.history import append_end
from sprintlog.engine.sprint.document.field_path import under_key
from sprintlog.engine.sprint.document.patch import segments
from sprintlog.engine.sprint.events import ActivitySeen, RolledBack
from sprintlog.engine.sprint.state.effective_history import path, stretches_only_in
from sprintlog.engine.sprint.state.sprint import Sprint

NAMED_MAX = 2


def edited(edit: Mapping[str, Any], *, of_journal: bool = False) -> str:
    """Return what an `edit-observed` says: which file, which fields, what becomes of it."""
    said, changes = f"{edit['path']} was edited by hand", edit.get("changes")
    if changes is None:
        return f"{said}: {edit.get('problem') or 'what changed is not known'}"
    names = edit.get("fields") or [_named(change["path"]) for change in changes]
    shown, more = names[:NAMED_MAX], len(changes) - NAMED_MAX
    if len(names) > NAMED_MAX:
        shown = [*shown[:-1], f"{shown[-1]} and {more} more"]
    count = f"{len(changes)} change{'s' * (len(changes) != 1)}"
    told = f"{said}: {', '.join(shown)} ({count})" if shown else f"{said}: {count}"
    if of_journal:
        return f"{told}, not taken over until `sprintlog adopt --journal` does it"
    if str(edit["path"]).endswith(PROGRESS):
        return f"{told}, not taken over until `sprintlog adopt` does it"
    return told


def _named(pointer: str) -> str:
    """Return a pointer as a name; what it leads through is not known, so by index."""
    name = ""
    steps: Sequence[str] = segments(pointer)
    for step in steps:
        is_index = bool(name) and step.isascii() and step.isdecimal()
        name = f"{name}[{step}]" if is_index else under_key(name, step)
    return name


def undone_event(log: Log, events: Iterable[RecordedEvent]) -> RecordedEvent | None:
    """Return what the rollback among events took back; None where it is no undo."""
    for event in events:
        taken = CODEC.decode(event)
        if isinstance(taken, RolledBack) and taken.undoes is not None:
            at = taken.undoes
            (undone,) = log.read_stream(event.stream, after=at - 1, until=at)
            return undone
    return None


def work_gone(log: Log, sprint: Sprint) -> list[RecordedEvent]:
    """Return the work that the last undo or redo took along with what it took back."""
    stream, rollbacks = sprint_stream(sprint.id), sprint.knowledge.rollbacks
    at, _ = rollbacks[-1]
    last = log.read_stream(stream, after=at - 1, until=at)
    if (undone := undone_event(log, last)) is None:
        return []
    # What was recorded in one append with it is no later work.
    since = append_end(log, sprint, undone.version)
    return [
        event
        for first, end in stretches_only_in(path(rollbacks, at - 1), path(rollbacks, at))
        for event in log.read_stream(stream, after=max(first - 1, since), until=end)
        if _is_work(CODEC.decode(event))
    ]


def _is_work(event: Event) -> bool:
    return event.kind is Kind.EXECUTION and not isinstance(event, ActivitySeen)
