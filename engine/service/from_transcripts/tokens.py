"""What a session cost of which nobody saw the end: its transcript says it, once."""

from typing import NamedTuple

from msgspec.structs import replace

from ... import hashes
from ...log.envelope import RecordedEvent
from ...log.event import Event
from ...sprint.events import AgentRan, IterationStarted
from ...sprint.iterations.session_runs import is_stated, recovered, runs_of
from ...sprint.state.sprint import Sprint
from ..streams.catalogue import CODEC, sprint_stream
from ..workspace import ServiceWorkspace


class Recovered(NamedTuple):
    """Whether a session's tokens are recorded, and where."""

    is_known: bool
    """Whether somebody else stated them."""
    sprint: str | None = None
    events: int = 0


def recover(
    workspace: ServiceWorkspace, stream: str, session: AgentRan, *, actor: str, at: str
) -> Recovered:
    """Record what a session cost in the sprint that it worked on, if nobody did."""
    for one in workspace.sprints():
        before = runs_of(session, workspace.repository.events(one, AgentRan))
        if any(map(is_stated, before)):
            return Recovered(True, one)
    events = workspace.log.read_stream(stream)
    first = next(iter(events), None)
    linked = first and _linked(workspace, first)
    if not linked:
        return Recovered(False)
    sprint_id, number = linked
    runs = workspace.repository.events(sprint_id, AgentRan)
    if any(is_stated(x) and not x.sessions and x.iteration == number for x in runs):
        # Its result did not name it.
        return Recovered(True, sprint_id)
    seen = [x for x in runs if x.found_in is None and _is_same(x, session, number)]
    found = replace(session, iteration=number, found_in="transcript", is_rest=bool(seen))

    def decide(sprint: Sprint, at: str) -> list[Event]:
        known = workspace.repository.events(sprint.id, AgentRan)
        before = runs_of(found, known)
        before += [run for run in known if run in seen and run not in before]
        return recovered(found, before=before)

    said = f"{sprint_id}\n{stream}\n{session.output_sha256}"
    outcome = workspace.handle_with(
        sprint_id,
        decide,
        at=at,
        actor=actor,
        observed=True,
        correlation_id=first.correlation_id if first else None,
        key=f"reconcile:{hashes.sha256(said.encode()).hexdigest()[:40]}",
    )
    return Recovered(False, sprint_id, 0 if outcome.duplicate else len(outcome.events))


def _is_same(run: AgentRan, session: AgentRan, number: int | None) -> bool:
    """Tell whether a run was that session's, or the one of its iteration."""
    if run.sessions and session.sessions:
        return not set(run.sessions).isdisjoint(session.sessions)
    return run.iteration == number


def _linked(
    workspace: ServiceWorkspace, first: RecordedEvent
) -> tuple[str, int | None] | None:
    """Return the sprint whose work a session is part of, and the iteration it began in."""
    work = first.correlation_id
    for sprint_id in workspace.sprints():
        events = [*workspace.log.read_stream(sprint_stream(sprint_id))]
        if all(event.correlation_id != work for event in events):
            continue
        starts = [x for x in events if x.type == IterationStarted.type]
        own = [x for x in starts if x.correlation_id == work]
        before = [x for x in own or starts if x.position < first.position]
        # A wrapped command's hooks may be heard before its iteration is recorded.
        meant = before[-1] if before else next(iter(own), None)
        return sprint_id, None if meant is None else _number(meant)
    return None


def _number(recorded: RecordedEvent) -> int | None:
    event = CODEC.decode(recorded) if recorded.payload is not None else None
    return event.number if isinstance(event, IterationStarted) else None
