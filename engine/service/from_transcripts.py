"""Sessions from agents' transcripts, imported as iterations, and their unrecorded cost.

Each session is recorded once, whichever source recorded it first. If no other source
observed the end of a session, the cost in its transcript is recorded, also once.
"""

from operator import attrgetter
from typing import NamedTuple

from msgspec.structs import replace

from ...engine import hashes
from ..log.envelope import RecordedEvent
from ..log.event import Event
from ..sprint.events import AgentRan, IterationStarted
from ..sprint.iterations import session_runs
from ..sprint.iterations.loop import StartWrapped
from ..sprint.state.sprint import Sprint
from .streams.catalogue import CODEC, sprint_stream
from .workspace import ServiceWorkspace
from .wrap import sprint_for

_KEY = attrgetter("key")


class Recovered(NamedTuple):
    """The result of recovering a session's cost, and the sprint with the session."""

    is_known: bool
    """Whether another source already recorded the cost."""
    sprint: str | None = None
    events: int = 0


class KnownSessions:
    """The sessions recorded in a log's sprints; each run is decoded once."""

    def __init__(self, workspace: ServiceWorkspace) -> None:
        self.workspace = workspace
        self._runs: dict[str, list[tuple[int, AgentRan]]] = {}
        """The runs by sprint, each with its version."""
        self._owners: dict[str, frozenset[str]] = {}
        """The sessions for which each call is recorded, by the call's key."""

    def before(self, sprint_id: str, session: AgentRan) -> list[AgentRan]:
        """Return a session's runs that are recorded in a sprint."""
        known = self._runs.setdefault(sprint_id, [])
        after = known[-1][0] if known else 0
        stream = sprint_stream(sprint_id)
        rows = self.workspace.log.scan(stream, after=after, only=AgentRan.type)
        for version, _, run in CODEC.events_of_rows(rows):
            assert isinstance(run, AgentRan)
            known.append((version, run))
            owners = frozenset(run.sessions)
            self._owners |= dict.fromkeys((*map(_KEY, run.calls), *run.tools), owners)
        return session_runs.runs_of(session, [run for _, run in known])

    def sprint_of(
        self, session: AgentRan, named: str | None, *, actor: str, at: str | None
    ) -> str:
        """Return the sprint that contains a session, the named sprint, or a new sprint."""
        known = [one for one in self.workspace.sprints() if self.before(one, session)]
        if known:
            return named if named in known else known[0]
        when = at or self.workspace.now()
        return sprint_for(self.workspace, named, place=None, actor=actor, at=when)

    def elsewhere(self, session: AgentRan) -> set[str]:
        """Return the keys of a session's calls that are recorded for other sessions."""
        keys = self._owners.keys() & {*map(_KEY, session.calls), *session.tools}
        return {key for key in keys if self._owners[key].isdisjoint(session.sessions)}

    def ends(
        self, session: AgentRan, summary: str | None, sprint: Sprint, _at: str
    ) -> list[Event]:
        """Return the events for a session's end that no import has recorded yet."""
        before = self.before(sprint.id, session)
        elsewhere = self.elsewhere(session)
        return session_runs.session_ended(
            sprint, session, before=before, summary=summary, elsewhere=elsewhere
        )

    @staticmethod
    def begins(sprint: Sprint, at: str) -> list[Event]:
        """Return the events that start a session's iteration; refuse if one is open."""
        session_runs.check_not_under_way(sprint)
        return StartWrapped().decide(sprint, at)


def recover(
    workspace: ServiceWorkspace, stream: str, session: AgentRan, *, actor: str, at: str
) -> Recovered:
    """Record the cost of a session in its sprint, unless the cost is already recorded."""
    for one in workspace.sprints():
        before = session_runs.runs_of(session, workspace.repository.events(one, AgentRan))
        if any(map(session_runs.is_stated, before)):
            return Recovered(True, one)
    first = next(iter(workspace.log.read_stream(stream)), None)
    linked = first and _linked(workspace, first)
    if not linked:
        return Recovered(False)
    sprint_id, number = linked
    runs = workspace.repository.events(sprint_id, AgentRan)
    if any(
        session_runs.is_stated(x) and not x.sessions and x.iteration == number for x in runs
    ):
        # The result of that run did not name the session.
        return Recovered(True, sprint_id)
    seen = [x for x in runs if x.found_in is None and _is_same(x, session, number)]
    found = replace(session, iteration=number, found_in="transcript", is_rest=bool(seen))

    def decide(sprint: Sprint, at: str) -> list[Event]:
        known = workspace.repository.events(sprint.id, AgentRan)
        before = session_runs.runs_of(found, known)
        before += [run for run in known if run in seen and run not in before]
        return session_runs.recovered(found, before=before)

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
    """Return whether a run belongs to a session, or to the session's iteration."""
    if run.sessions and session.sessions:
        return not set(run.sessions).isdisjoint(session.sessions)
    return run.iteration == number


def _linked(
    workspace: ServiceWorkspace, first: RecordedEvent
) -> tuple[str, int | None] | None:
    """Return a session's sprint, and the iteration in which the session started."""
    work = first.correlation_id
    for sprint_id in workspace.sprints():
        events = [*workspace.log.read_stream(sprint_stream(sprint_id))]
        if all(event.correlation_id != work for event in events):
            continue
        starts = [x for x in events if x.type == IterationStarted.type]
        own = [x for x in starts if x.correlation_id == work]
        before = [x for x in own or starts if x.position < first.position]
        # The hooks of a wrapped command may run before its iteration is recorded.
        meant = before[-1] if before else next(iter(own), None)
        return sprint_id, None if meant is None else _number(meant)
    return None


def _number(recorded: RecordedEvent) -> int | None:
    event = CODEC.decode(recorded) if recorded.payload is not None else None
    return event.number if isinstance(event, IterationStarted) else None
