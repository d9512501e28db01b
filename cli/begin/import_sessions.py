"""Recording the sessions that agents keep: each one once, whoever recorded it before."""

from collections.abc import Sequence
from hashlib import sha256

from msgspec.structs import replace

from sprintlog.engine.service.from_transcripts.iterations import (
    SessionBegins,
    SessionEnds,
    known_as,
    sprint_of,
)
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
    sprint_id = sprint_of(
        workspace,
        session.ran()[0],
        options.sprint_id,
        actor=options.actor,
        at=session.began_at,
    )
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


def _record(run: Recording, sprint_id: str, session: TranscriptRead) -> int:
    """Record what is new of a session; return how many events came of it."""
    workspace, recorded = run.workspace, 0
    ran, summary = session.ran()
    is_known, number = known_as(workspace, sprint_id, ran)
    if not is_known:
        options = _keyed(run, sprint_id, f"{session.key}:began", at=session.began_at)
        began = Recording(run.name, options, workspace).handle_with(
            SessionBegins(), sprint_id=sprint_id, observed=True
        )
        number = number_of(began)
        recorded = 0 if began.duplicate else len(began.events)
    ends = SessionEnds(workspace, replace(ran, iteration=number), summary)
    fact = f"{session.key}:{session.sha256}"
    options = _keyed(run, sprint_id, fact, at=session.ended_at)
    ended = Recording(run.name, options, workspace).handle_with(
        ends, sprint_id=sprint_id, observed=True
    )
    return recorded + (0 if ended.duplicate else len(ended.events))


def _keyed(run: Recording, sprint_id: str, fact: str, *, at: str | None) -> Options:
    digest = sha256(f"{sprint_id}\n{fact}".encode()).hexdigest()[:40]
    return run.options.with_values(at=at, key=f"import:transcript:{digest}")
