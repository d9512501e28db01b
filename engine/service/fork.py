"""Forks: new sprints from any point in an existing sprint, which does not change.

All events up to that point are copied into a new stream, with their versions, times and
actors, so that the fork does not depend on its origin. They are followed by a
`fork-created` event.
"""

import re

from msgspec import structs

from ..errors import RefusedError
from ..judging.events import BaselineCaptured
from ..log.append import APPEND_EVENTS_MAX
from ..log.codec import encode
from ..log.envelope import NewEvent, RecordedEvent
from ..log.event import Event
from ..sprint.events import ForkCreated, Place, SprintCompiled, SprintImported
from ..sprint.iterations.measurement import LOOP_ID
from ..sprint.plan.create import check_sprint_id
from . import port, state_file_owner
from .streams import catalogue, history
from .workspace import ServiceWorkspace


def fork(
    workspace: ServiceWorkspace,
    source_id: str,
    *,
    name: str,
    version: int,
    place: Place | None,
    actor: str,
    reason: str | None = None,
    is_dry: bool = False,
) -> port.Outcome:
    """Create a sprint in the state that another sprint had at a version.

    Repeating a fork has no effect, and an interrupted fork is continued. Nothing is
    recorded if `is_dry` is true. Raise `RefusedError` if a different sprint has the name,
    or if the version is in the middle of an append.
    """
    check_sprint_id(name, field="NAME")
    source = catalogue.sprint_stream(source_id)
    if history.append_end(workspace.log, workspace.sprint(source_id), version) > version:
        raise RefusedError(
            f"cannot fork from version {version}: it is inside an atomic append",
            hint="run `sprintlog log` and choose the version before or after that append",
            command="fork",
        )
    (last,) = workspace.log.read_stream(source, after=version - 1, until=version)
    created = ForkCreated(source, version, last.hash.hex(), reason)
    tree = workspace.tree.id if is_dry else workspace.own_tree.recorded()
    wanted = []
    # A copy has the version of its original, so references to versions remain valid.
    for recorded in workspace.log.read_stream(source, until=version):
        event = catalogue.CODEC.decode(recorded)
        copy = NewEvent(
            type=recorded.type,
            payload=_payload(recorded, event, name, place, tree),
            at=recorded.at,
            actor=recorded.actor,
            schema_version=event.schema_version,
            causation_id=recorded.id,
            observed=recorded.observed,
            payload_bytes_max=event.payload_bytes_max,
        )
        wanted.append(copy)
    known = _check_free(workspace, name, wanted, created)
    state_file_owner.check_loop(workspace, workspace.sprint(name), name)
    if is_dry or known > len(wanted):
        return port.Outcome(workspace.sprint(name), [])
    if place is not None:
        state_file_owner.free_place(workspace, workspace.sprint(name), place)
    wanted.append(catalogue.new_event(created, at=workspace.now(), actor=actor))
    stream = catalogue.sprint_stream(name)
    events: list[RecordedEvent] = []
    for first in range(known, len(wanted), APPEND_EVENTS_MAX):
        batch = wanted[first : first + APPEND_EVENTS_MAX]
        events = workspace.log.append(stream, batch, expect=first).events
        workspace.behind.add(stream)
    return port.Outcome(workspace.sprint(name), events[-1:])


def _payload(
    recorded: RecordedEvent, event: Event, name: str, place: Place | None, tree: str | None
) -> bytes:
    if isinstance(event, SprintCompiled | SprintImported) and event.document is not None:
        document = dict(event.document)
        if "sprint-id" in document:
            document["sprint-id"] = name
        event = structs.replace(event, document=document, place=place, work_tree=tree)
        return encode(event)
    if isinstance(event, BaselineCaptured) and event.loop_id is not None:
        # A loop belongs to one sprint: the fork writes separate files.
        event = structs.replace(
            event, loop_id=name if re.fullmatch(LOOP_ID, name) else None
        )
        return encode(event)
    return catalogue.CODEC.today(recorded) or b""


def _check_free(
    workspace: ServiceWorkspace, name: str, wanted: list[NewEvent], created: ForkCreated
) -> int:
    """Return how many events of the fork exist; refuse if another sprint has the name."""
    stream = catalogue.sprint_stream(name)
    version = 0
    for recorded, draft_ in zip(
        workspace.log.read_stream(stream), [*wanted, None], strict=False
    ):
        version = recorded.version
        if draft_ is None:
            event = catalogue.CODEC.decode(recorded)
            same = isinstance(event, ForkCreated) and (
                (event.source, event.version) == (created.source, created.version)
            )
        else:
            same = recorded.causation_id == draft_.causation_id
        if not same:
            raise RefusedError(
                f"sprint {name} already exists",
                hint="choose another name for the fork",
                sprint=name,
                command="fork",
            )
    return version
