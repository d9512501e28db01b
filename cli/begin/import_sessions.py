"""Recording the sessions that agents keep: each one once, whoever recorded it before."""

from collections.abc import Sequence
from hashlib import sha256

from sprintlog.engine.log.event import Event
from sprintlog.engine.service.wrap import sprint_for
from sprintlog.engine.sprint.events import AgentRan
from sprintlog.engine.sprint.iterations.sessions import (
    check_not_under_way,
    runs_of,
    session_ended,
)
from sprintlog.engine.sprint.iterations.wrapped import StartWrapped, start_wrapped
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.workspace import Workspace

from ..intake.others.transcript import TranscriptRead
from ..record import Options, Recording, refresh
from .loop_facts import number_of
from .taken import tell


def take_sessions(
    workspace: Workspace, sessions: Sequence[tuple[TranscriptRead, Options]]
) -> None:
    """Record sessions, the earliest first."""
    for session, options in sorted(sessions, key=lambda one: one[0].began_at or ""):
        _take_session(workspace, session, options)


def _take_session(workspace: Workspace, session: TranscriptRead, options: Options) -> None:
    run = Recording("import transcript", options, workspace)
    sprint_id = _sprint_of(run, session)
    recorded = _record(run, sprint_id, session)
    found = {"line": session.activity.lines, "tool call": session.activity.tool_calls}
    if session.subagents:
        found["subagent"] = session.subagents
    tell(
        workspace,
        session.file,
        kind=f"transcript of {session.activity.agent}",
        sprint_id=sprint_id,
        found=found,
        recorded=recorded,
        unread=session.unread,
        as_json=options.as_json,
    )
    refresh(workspace, sprint_id)


def _sprint_of(run: Recording, session: TranscriptRead) -> str:
    """Return the sprint that knows the session, else the one that is meant; make one."""
    workspace, named = run.workspace, run.options.sprint_id
    known = [one for one in workspace.sprints() if _before(workspace, one, session)]
    if known:
        return named if named in known else known[0]
    at = session.began_at or workspace.now()
    return sprint_for(workspace, named, place=None, actor=run.options.actor, at=at)


def _before(
    workspace: Workspace, sprint_id: str, session: TranscriptRead
) -> list[AgentRan]:
    """Return the runs of a session that were recorded."""
    runs = workspace.repository.events(sprint_id, AgentRan)
    return runs_of(session.ran(None)[0], runs)


def _record(run: Recording, sprint_id: str, session: TranscriptRead) -> int:
    """Record what is new of a session; return how many events came of it."""
    workspace, recorded = run.workspace, 0
    before = _before(workspace, sprint_id, session)
    number = before[-1].iteration if before else None
    if not before:
        options = _keyed(run, sprint_id, f"{session.key}:began", at=session.began_at)
        began = Recording(run.name, options, workspace).handle_with(
            _begins, sprint_id=sprint_id, observed=True
        )
        number = number_of(began)
        recorded = 0 if began.duplicate else len(began.events)

    def ends(sprint: Sprint, at: str) -> list[Event]:
        # Asked once more: another import may have been first.
        known = _before(workspace, sprint_id, session)
        ran, summary = session.ran(number)
        return session_ended(sprint, ran, before=known, summary=summary)

    options = _keyed(run, sprint_id, f"{session.key}:{session.sha256}", at=session.ended_at)
    ended = Recording(run.name, options, workspace).handle_with(
        ends, sprint_id=sprint_id, observed=True
    )
    return recorded + (0 if ended.duplicate else len(ended.events))


def _begins(sprint: Sprint, at: str) -> list[Event]:
    check_not_under_way(sprint)
    return start_wrapped(sprint, StartWrapped(), at)


def _keyed(run: Recording, sprint_id: str, fact: str, *, at: str | None) -> Options:
    digest = sha256(f"{sprint_id}\n{fact}".encode()).hexdigest()[:40]
    return run.options.with_values(at=at, key=f"import:transcript:{digest}")
