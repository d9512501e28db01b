"""Blame: who set a field, determined by the last version at which its value changed.

For a rollback or a discarded event, the effective event that provides the value is also
returned. The search goes backwards from checkpoint to checkpoint. Equal values at both
ends of a stretch do not prove that nothing changed in between, so each stretch is folded
completely. The search ends at the first stretch that contains a change.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event, Reach
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.service.streams.repository import Repository, Stretch
from sprintlog.engine.service.workspace import ServiceWorkspace
from sprintlog.engine.sprint.state.patch import MISSING, Path, find, named_items, parse_path
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.transitions import check_exists
from sprintlog.engine.sprint.state.tree import CHILDREN, Node, Tree

from .causes import causes_of, reason_of, session_behind
from .replay import RECORDS, SharedDocument

_IS_FILE = re.compile(r"[\w./-]+\.[A-Za-z]{1,5}", re.ASCII)
"""Matches names that probably refer to a file in the work tree rather than a field."""

NAMED_MAX = 12
"""The maximum number of existing fields that an error names."""


ALWAYS_SET: set[Path] = {("stats", "elapsed"), ("last-activity",)}
"""Fields that nearly every event sets."""
EVENTS_NEAR = 64


class Blame(NamedTuple):
    """The event that set a field, and its causes."""

    field: str
    """The field as requested."""
    value: Any
    """The field's value; `MISSING` if the field was removed."""
    before: Any
    """The field's value before the event; `MISSING` if there was none."""
    event: RecordedEvent
    """The last event that changed the value."""
    reason: str | None
    """The reason, result or error that the event records."""
    brought_back: RecordedEvent | None
    """The effective event that the value comes from, if it is another event."""
    causes: list[RecordedEvent]
    """The chain of the event's causes, nearest first."""
    session: str | None = None
    """The agent session in which the event occurred, `AGENT-ID`."""


class Setting(NamedTuple):
    """The last version, and the last effective version, that changed a field."""

    changed: int
    """The last version that changed the value."""
    set: int
    """The last effective version that changed the value."""
    before: Any = MISSING
    """The token of the value before version `changed`."""


def blame(
    workspace: ServiceWorkspace,
    sprint_id: str,
    fields: Sequence[str],
    *,
    at: str | None = None,
) -> Iterator[Blame]:
    """Yield the blame for each given field of a sprint's PROGRESS.yaml.

    Raise `InvalidInputError` for an invalid field name, and `NotFoundError` for a field
    that never existed.
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
    """Return the blame for a field, with the causes of the event that set it.

    `values` are the field's values after and before the event.
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
    """Return when the value at each path last changed, as of a version.

    If `as_lines` is true, only the text on the field's own line is compared.
    """
    found = [Setting(0, 0) for _ in paths]
    # For fields that nearly every event sets, only the last events need to be read.
    first = near if set(paths) <= ALWAYS_SET else 0
    imports = repository.imports(sprint_id, until)
    for stretch in repository.stretches(sprint_id, until, near=first, together=imports):
        watch, each = (FieldWatch(sprint_id, paths, as_lines=as_lines) for _ in range(2))
        changed, set_at = changes_in(repository, stretch, imports, watch, each)
        # Findings from later stretches take precedence; only the rest is searched for here.
        found = [
            Setting(
                old.changed or changed.get(index, 0),
                old.set or set_at.get(index, 0),
                old.before if old.changed else watch.before[index],
            )
            for index, old in enumerate(found)
        ]
        if all(setting.changed and setting.set for setting in found):
            break
    return found


def event_at(workspace: ServiceWorkspace, sprint_id: str, version: int) -> RecordedEvent:
    """Return the event at a version."""
    stream = sprint_stream(sprint_id)
    return next(workspace.log.read_stream(stream, after=version - 1, until=version))


Field = TypeVar("Field")
FieldT = TypeVar("FieldT", covariant=True)


class Watch(Protocol[FieldT]):
    """Compares a sprint's fields with their previous values."""

    def concerns(self, event: Event) -> bool:
        """Return whether an event can change a watched field."""

    def changes(self, sprint: Sprint, event: Event | None = None) -> Iterable[FieldT]:
        """Yield the fields changed by `event` or, without it, by any number of events."""


def changes_in(
    repository: Repository[Sprint],
    stretch: Stretch,
    imports: Mapping[int, int],
    watch: Watch[Field],
    each: Watch[Field],
) -> tuple[dict[Field, int], dict[Field, int]]:
    """Return the last version, and the last effective version, that changed each field.

    The events of an import count as one change: an imported version is folded event by
    event, and derived fields have intermediate values that no version of the document ever
    contained. Within an import, `each` determines which event changed a field.
    """
    changed, set_at = dict[Field, int](), dict[Field, int]()
    kept, targets = dict[int, dict[Field, int]](), {to for _, to in stretch.rollbacks}
    by_event, end = dict[Field, int](), 0
    for one in (watch, each):
        deque(one.changes(stretch.begin), maxlen=0)
    # The events of an import count as one change, so none of them may be skipped.
    is_seen = None if imports else watch.concerns
    for version, event, sprint, back_to in repository.walk(stretch, is_seen):
        compared = event if back_to is None else None
        if imports:
            if version in imports:
                by_event, end = {}, imports[version]
            by_event |= dict.fromkeys(each.changes(sprint, compared), version)
            if version < end:
                continue
        fields = watch.changes(sprint, compared)
        now = {x: by_event.get(x, version) if version == end else version for x in fields}
        changed |= now
        if back_to is None:
            set_at |= now
        else:
            set_at = dict(kept.get(back_to, {}))
        if version in targets:
            kept[version] = dict(set_at)
    return changed, set_at


class FieldWatch:
    """Watches several fields.

    Events that cannot change a field's node are skipped. The node is looked up again after
    events that can move it.
    """

    def __init__(
        self, sprint_id: str, paths: Sequence[Path], *, as_lines: bool = False
    ) -> None:
        """Watch fields; if `as_lines` is true, ignore changes inside mappings and lists."""
        self.before: list[Any] = [MISSING for _ in paths]
        """The token of each value before its last change."""
        self._paths, self._token = paths, line_token if as_lines else token
        self._shared = SharedDocument(Sprint(sprint_id))
        self._values: list[Any] = [MISSING for _ in paths]
        self._lists: list[Any] = [None for _ in paths]
        """The list that contains each field, if only events that declare the list change
        it."""
        self._addresses: list[str | None] = [None for _ in paths]
        """The node of each field, if the node alone determines which events can change
        it."""
        self._touched = False

    def concerns(self, event: Event) -> bool:
        """Return whether an event can change one of the fields."""
        reach = event.reach
        if reach is Reach.NOTHING or reach is Reach.WHOLE:
            return reach is Reach.WHOLE
        return any(map(partial(_can_change, event), self._lists, self._addresses))

    def changes(self, sprint: Sprint, event: Event | None = None) -> Iterator[int]:
        """Yield the indexes of the changed fields."""
        if event is None:
            self._shared.replace(sprint)
        else:
            self._shared.follow(sprint, event)
        document, plan = self._shared.document, sprint.plan
        is_moved = event is None or event.reach is Reach.WHOLE
        if is_moved or plan.touched is not self._touched:
            is_settled = plan.touched and not plan.tree.empty
            found = (_address_of(document, path) for path in self._paths)
            self._addresses = [x if is_settled else None for x in found]
            self._touched = plan.touched
        for index, path in enumerate(self._paths):
            value = self._token(find(document, path))
            if value != self._values[index]:
                self.before[index], self._values[index] = self._values[index], value
                is_kept = path[0] in RECORDS and value is not MISSING
                self._lists[index] = path[0] if is_kept else None
                yield index


def _can_change(event: Event, list_: Any, address: str | None) -> bool:
    """Return whether an event of limited reach can change a field in a list or node."""
    if list_ is not None:
        return bool(list_ == event.records)
    if address is None:
        return True
    if event.reach is Reach.TOP:
        return False
    # An event about a node can also change its ancestors or descendants.
    about = f"{getattr(event, event.subject.address)}/"
    is_below = event.reach is Reach.BRANCH and address.startswith(about)
    return is_below or about.startswith(address)


def _address_of(document: dict[str, Any], path: Path) -> str | None:
    """Return the address, with a trailing slash, of the node that contains a path."""
    address = ""
    holder: Any = document
    for level, key in enumerate(CHILDREN):
        step = path[2 * level : 2 * level + 2]
        holder = find(holder, step) if len(step) == 2 and step[0] == key else None
        if not isinstance(holder, dict) or not isinstance(holder.get("id"), str):
            break
        address += f"{holder['id']}/"
    return address or None


def token(value: Any) -> Any:
    """Return an immutable token that is equal only for equal values."""
    if value is MISSING or type(value) is str:
        return value
    # The bytes distinguish 1, 1.0 and True, and the order of keys.
    return msgspec.msgpack.encode(value)


def told_by(kept: Any) -> Any:
    """Return the value that a token represents."""
    return msgspec.msgpack.decode(kept) if type(kept) is bytes else kept


def line_token(value: Any) -> Any:
    """Return a token for the line that displays a value."""
    return type(value) if value and isinstance(value, dict | list) else token(value)


def _never_there(
    sprint_id: str, field: str, path: Path, document: dict[str, Any]
) -> NotFoundError:
    """Return an error that names existing fields, for a field that never existed."""
    holder: Any = document
    for step in path:
        inside = find(holder, (step,))
        if inside is MISSING:
            break
        holder = inside
    there = f"there are: {_named(holder)}" if isinstance(holder, dict | list) else None
    if holder is document and _IS_FILE.fullmatch(field):
        there = f"use `sprintlog why {field}:1` to see who set a line of a file"
    elif holder is document and (node := Tree(document).find(field)) is not None:
        there = (
            f"use `sprintlog why '{_place_of(node, document)}.status'` to see its status"
        )
    return NotFoundError(
        f"PROGRESS.yaml of sprint {sprint_id} does not have a field {field[:80]} and never "
        "had one",
        hint=there,
        sprint=sprint_id,
        field=field,
    )


def _place_of(node: Node, document: dict[str, Any]) -> str:
    """Return the path of a phase, step or sub-phase in the document."""
    place, holder = "", document
    for index, level in zip(node.place, ("phases", "steps", "phases"), strict=False):
        name = f"{place}.{level}" if place else level
        place, holder = [*named_items(name, holder[level])][index]
    return place


def _named(holder: dict[str, Any] | list[Any]) -> str:
    if isinstance(holder, dict):
        names = list(holder)
    else:
        names = [str(item.get("id")) for item in holder if isinstance(item, dict)]
    shown = ", ".join(names[:NAMED_MAX])
    return shown + ", …" if len(names) > NAMED_MAX else shown
