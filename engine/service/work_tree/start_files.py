"""The files at the start of an iteration, saved to determine the iteration's changes."""

from collections.abc import Callable

from msgspec.structs import replace

from ...adapters.snapshots.capture import Limits
from ...command import Command, decided
from ...sprint.events import OF_MOMENT, IterationStarted, SnapshotTaken
from ...sprint.iterations.snapshots import TakeSnapshot, files_now
from ...sprint.state.knowledge import HeldSnapshot
from ...sprint.state.sprint import open_iteration
from ..port import Decide, Envelope, Service
from ..streams.catalogue import CODEC, sprint_stream
from .snapshot import kept_files


def files_at_start(
    workspace: Service,
    sprint_id: str,
    *,
    limits: Limits | None = None,
    envelope: Envelope,
    is_late: Callable[[], bool] = bool,
) -> str | None:
    """Return the snapshot of the files at the start of an iteration.

    This is the latest snapshot if the work tree still contains its files. Otherwise, or if
    another iteration is open, a new snapshot is taken and recorded, so that earlier and
    later changes remain separate. Return None if `is_late`, which is called after the files
    are read, returns true: the agent may have started to edit them.
    """
    workspace.finish_restores(workspace.sprint(sprint_id))
    sprint = workspace.sprint(sprint_id)
    last = files_now(sprint, tree=workspace.tree)
    goes_on = open_iteration(sprint.plan) is not None
    tree = "" if last is None or goes_on else _content_of(workspace, sprint_id, last)
    held = kept_files(workspace, sprint_id, limits=limits, at=envelope.get("at"), last=tree)
    with held as (taken, event_for):
        if is_late():
            return None
        if last is not None and taken.tree == tree:
            return last.snapshot
        event = event_for(sprint)
        if event.iteration:
            event = replace(event, purpose=OF_MOMENT)
        workspace.handle_with(
            sprint_id, lambda sprint, at: TakeSnapshot(event).decide(sprint, at), **envelope
        )
        return event.snapshot


def _content_of(workspace: Service, sprint_id: str, held: HeldSnapshot) -> str:
    """Return the id of a snapshot's content; an empty string if a redaction changed it."""
    stream, at = sprint_stream(sprint_id), held.version
    for recorded in workspace.log.read_stream(stream, after=at - 1, until=at):
        event = CODEC.decode(recorded)
        if isinstance(event, SnapshotTaken) and event.snapshot == held.snapshot:
            return event.tree
    return ""


def begun_with(command: Command, files: str | None) -> Decide:
    """Return a decision that records the start snapshot in a command's iteration."""
    return lambda sprint, at: [
        replace(event, before=files) if isinstance(event, IterationStarted) else event
        for event in decided(command, sprint, at)
    ]
