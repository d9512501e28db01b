"""Sessions that agents keep as iterations, each once, whoever recorded them before."""

from operator import attrgetter

from ...log.event import Event
from ...sprint.events import AgentRan
from ...sprint.iterations.session_runs import check_not_under_way, runs_of, session_ended
from ...sprint.iterations.wrapped import StartWrapped, start_wrapped
from ...sprint.state.sprint import Sprint
from ..streams.catalogue import CODEC, sprint_stream
from ..workspace import ServiceWorkspace
from ..wrap import sprint_for

_KEY = attrgetter("key")


class KnownSessions:
    """The sessions that the sprints of a log know; each recorded run is decoded once."""

    def __init__(self, workspace: ServiceWorkspace) -> None:
        self.workspace = workspace
        self._runs: dict[str, list[tuple[int, AgentRan]]] = {}
        """By sprint, with their versions."""
        self._owners: dict[str, frozenset[str]] = {}
        """By the key of a call, the sessions that it is recorded of."""

    def before(self, sprint_id: str, session: AgentRan) -> list[AgentRan]:
        """Return what a sprint has recorded of a session by now."""
        known = self._runs.setdefault(sprint_id, [])
        after = known[-1][0] if known else 0
        stream = sprint_stream(sprint_id)
        rows = self.workspace.log.scan(stream, after=after, only=AgentRan.type)
        for version, _, run in CODEC.events_of_rows(rows):
            assert isinstance(run, AgentRan)
            known.append((version, run))
            owners = frozenset(run.sessions)
            self._owners |= dict.fromkeys((*map(_KEY, run.calls), *run.tools), owners)
        return runs_of(session, [run for _, run in known])

    def sprint_of(
        self, session: AgentRan, named: str | None, *, actor: str, at: str | None
    ) -> str:
        """Return the sprint that knows a session, else the one that is meant; make one."""
        sprints = self.workspace.sprints()
        known = [one for one in sprints if self.before(one, session)]
        if known:
            return named if named in known else known[0]
        when = at or self.workspace.now()
        return sprint_for(self.workspace, named, place=None, actor=actor, at=when)

    def elsewhere(self, session: AgentRan) -> set[str]:
        """Return the keys of its calls that are recorded of other sessions."""
        keys = self._owners.keys() & {*map(_KEY, session.calls), *session.tools}
        return {key for key in keys if self._owners[key].isdisjoint(session.sessions)}


class SessionBegins:
    """Begins an iteration for a session; refuses where it would end one."""

    def __call__(self, sprint: Sprint, at: str) -> list[Event]:
        """Decide."""
        check_not_under_way(sprint)
        return start_wrapped(sprint, StartWrapped(), at)


class SessionEnds:
    """Says what a session did beyond what was recorded of it."""

    def __init__(
        self, known: KnownSessions, session: AgentRan, summary: str | None
    ) -> None:
        self._known = known
        self._session = session
        self._summary = summary

    def __call__(self, sprint: Sprint, at: str) -> list[Event]:
        """Decide, on what is recorded by now: another import may have been first."""
        session = self._session
        before = self._known.before(sprint.id, session)
        elsewhere = self._known.elsewhere(session)
        return session_ended(
            sprint, session, before=before, summary=self._summary, elsewhere=elsewhere
        )
