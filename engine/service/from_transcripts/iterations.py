"""Sessions that agents keep as iterations, each once, whoever recorded them before."""

from ...log.event import Event
from ...sprint.events import AgentRan
from ...sprint.iterations.session_runs import check_not_under_way, runs_of, session_ended
from ...sprint.iterations.wrapped import StartWrapped, start_wrapped
from ...sprint.state.sprint import Sprint
from ..workspace import ServiceWorkspace
from ..wrap import sprint_for


def sprint_of(
    workspace: ServiceWorkspace,
    session: AgentRan,
    named: str | None,
    *,
    actor: str,
    at: str | None,
) -> str:
    """Return the sprint that knows a session, else the one that is meant; make one."""
    known = [one for one in workspace.sprints() if _before(workspace, one, session)]
    if known:
        return named if named in known else known[0]
    when = at or workspace.now()
    return sprint_for(workspace, named, place=None, actor=actor, at=when)


def known_as(
    workspace: ServiceWorkspace, sprint_id: str, session: AgentRan
) -> tuple[bool, int | None]:
    """Return whether a sprint knows a session, and the iteration that it was last in."""
    before = _before(workspace, sprint_id, session)
    return bool(before), before[-1].iteration if before else None


def _before(
    workspace: ServiceWorkspace, sprint_id: str, session: AgentRan
) -> list[AgentRan]:
    return runs_of(session, workspace.repository.events(sprint_id, AgentRan))


class SessionBegins:
    """Begins an iteration for a session; refuses where it would end one."""

    def __call__(self, sprint: Sprint, at: str) -> list[Event]:
        """Decide."""
        check_not_under_way(sprint)
        return start_wrapped(sprint, StartWrapped(), at)


class SessionEnds:
    """Says what a session did beyond what was recorded of it."""

    def __init__(
        self, workspace: ServiceWorkspace, session: AgentRan, summary: str | None
    ) -> None:
        self._workspace = workspace
        self._session = session
        self._summary = summary

    def __call__(self, sprint: Sprint, at: str) -> list[Event]:
        """Decide, on what is recorded by now: another import may have been first."""
        before = _before(self._workspace, sprint.id, self._session)
        return session_ended(sprint, self._session, before=before, summary=self._summary)
