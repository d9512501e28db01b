"""Who set a field: the last version at which its value differs from the one before.

For a rollback, and for an event that a rollback has voided since, also the event in force
that the value comes from. The search goes backwards from checkpoint to checkpoint: equal
values at both ends do not mean that nothing changed in between, so each stretch is folded
whole, and the first one that holds a difference is the last one that is read.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event, Reach
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.service.streams.repository import Repository
from sprintlog.engine.service.workspace import ServiceWorkspace
from sprintlog.engine.sprint.document.field_path import MISSING, Path, find, parse_path
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.transitions import check_exists

from .causes import causes_of, reason_of
from .probe import Probe, told_by
from .worked_in import session_behind

_IS_FILE = re.compile(r"[\w./-]+\.[A-Za-z]{1,5}", re.ASCII)
"""What may be a file of the work tree rather than a field."""

NAMED_MAX = 12
"""How many fields an error names that are there instead."""


ALWAYS_SET: set[Path] = {("stats", "elapsed"), ("last-activity",)}
"""Fields that nearly every event sets."""
EVENTS_NEAR = 64


class Blame(NamedTuple):
    """Who set a field, and what led to that."""

    field: str
    """The field as it was asked for."""
    value: Any
    """What it holds; `MISSING` when it was taken away."""
    before: Any
    """What it held before the event; `MISSING` when it was not there."""
    event: RecordedEvent
    """The last event after which it was another than before."""
    reason: str | None
    """What the event says of why, what was reached or what went wrong."""
    brought_back: RecordedEvent | None
    """The event in force that the value comes from, where that is another one."""
    causes: list[RecordedEvent]
    """What caused the event, what caused that, and so on, nearest first."""
    session: str | None = None
    """The session of an agent in which it came about, `AGENT-ID`."""


class Setting(NamedTuple):
    """Two versions about a field; 0 stands for before the first."""

    changed: int
    """The last one at which the value differs from the one before."""
    set: int
    """The last one in force at which it differs from that it came after."""
    before: Any = MISSING
    """The token of what it was before the version at which it changed."""


def blame(
    workspace: ServiceWorkspace,
    sprint_id: str,
    fields: Sequence[str],
    *,
    at: str | None = None,
) -> Iterator[Blame]:
    """Yield who set each of some fields of a sprint's PROGRESS.yaml.

    Raise `InvalidInputError` for what names no field, `NotFoundError` for a field that
    was never there.
    """
    paths = [parse_path(field) for field in fields]
    sprint = workspace.sprint(sprint_id, at=at)
    check_exists(sprint)
    version, document = sprint.version, sprint.document
    values = [find(document, path) for path in paths]
    settings = search(workspace.repository, sprint_id, paths, until=version)
    for field, path, value, setting in zip(fields, paths, values, settings, strict=True):
        if not setting.changed:
            raise _never_there(sprint_id, field, path, document)
        event = event_at(workspace, sprint_id, setting.changed)
        origin = setting.set if setting.set != setting.changed else 0
        back = event_at(workspace, sprint_id, origin) if origin else None
        before = told_by(setting.before)
        yield blamed(workspace, field, (value, before), event, brought_back=back)


def blamed(
    workspace: ServiceWorkspace,
    field: str,
    values: tuple[Any, Any],
    event: RecordedEvent,
    *,
    brought_back: RecordedEvent | None = None,
) -> Blame:
    """Return what an event that set a field says of it, with what caused the event.

    `values` are what the field is since the event, and what it was before.
    """
    causes = causes_of(workspace.log, event)
    session = session_behind(workspace.log, event)
    return Blame(field, *values, event, reason_of(event), brought_back, causes, session)


def search(
    repository: Repository[Sprint],
    sprint_id: str,
    paths: Sequence[Path],
    *,
    until: int,
    as_lines: bool = False,
    near: int = EVENTS_NEAR,
) -> list[Setting]:
    """Return for each path when its value last changed, as of a version.

    `as_lines` asks when what its line shows did.
    """
    found = [Setting(0, 0) for _ in paths]
    # Where nearly every event sets a field, those before the last ones need no look.
    first = near if set(paths) <= ALWAYS_SET else 0
    for stretch in repository.stretches(sprint_id, until, near=first):
        watch = _Watch([Probe(path, is_line=as_lines) for path in paths])
        repository.follow(watch, stretch)
        # What a later stretch has found stands; what it left open is looked for here.
        found = [
            Setting(
                old.changed or changed,
                old.set or set_at,
                old.before if old.changed else before,
            )
            for old, changed, set_at, before in zip(
                found, watch.changed, watch.set, watch.before, strict=True
            )
        ]
        if all(setting.changed and setting.set for setting in found):
            break
    return found


def event_at(workspace: ServiceWorkspace, sprint_id: str, version: int) -> RecordedEvent:
    """Return the event of a version."""
    stream = sprint_stream(sprint_id)
    return next(workspace.log.read_stream(stream, after=version - 1, until=version))


class _Watch:
    """Notes for several fields at which version each was last changed."""

    def __init__(self, probes: Sequence[Probe]) -> None:
        self.changed = [0] * len(probes)
        """In the order of the stream."""
        self.set = [0] * len(probes)
        """On the way that is in force."""
        self._probes = list(enumerate(probes))
        self._sprint = Sprint("")

    @property
    def before(self) -> list[Any]:
        """Return the token of what each field was before it changed last."""
        return [probe.before for _, probe in self._probes]

    def begin(self, sprint: Sprint) -> None:
        """Take the values before the first event."""
        self._sprint = sprint
        for _, probe in self._probes:
            probe.begin(sprint)

    def seen(self, version: int, event: Event) -> None:
        """Note which fields an event has changed."""
        for index, probe in self._probes:
            if probe.changes(self._sprint, event.reach, records=event.records):
                self.changed[index] = self.set[index] = version

    def keep(self) -> list[int]:
        """Return when each field was set that is in force now."""
        return list(self.set)

    def went_back(self, version: int, sprint: Sprint, kept: list[int] | None) -> None:
        """Note which fields a rollback has changed; it sets none itself."""
        self._sprint = sprint
        self.set = list(kept) if kept else [0] * len(self.set)
        for index, probe in self._probes:
            if probe.changes(sprint, Reach.WHOLE):
                self.changed[index] = version


def _never_there(
    sprint_id: str, field: str, path: Path, document: dict[str, Any]
) -> NotFoundError:
    """Return the error that names what is there instead."""
    holder: Any = document
    for step in path:
        inside = find(holder, (step,))
        if inside is MISSING:
            break
        holder = inside
    there = f"there are: {_named(holder)}" if isinstance(holder, dict | list) else None
    if holder is document and _IS_FILE.fullmatch(field):
        there = f"who set a line of a file: `sprintlog why {field}:1`"
    return NotFoundError(
        f"PROGRESS.yaml of sprint {sprint_id} has no field {field[:80]}, and never had",
        hint=there,
        sprint=sprint_id,
        field=field,
    )


def _named(holder: dict[str, Any] | list[Any]) -> str:
    if isinstance(holder, dict):
        names = list(holder)
    else:
        names = [str(item.get("id")) for item in holder if isinstance(item, dict)]
    shown = ", ".join(names[:NAMED_MAX])
    return shown + ", …" if len(names) > NAMED_MAX else shown
