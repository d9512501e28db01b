"""The `sprintlog session` and `show session` commands: recorded agent sessions."""

from collections.abc import Iterator

from sprintlog.engine.service.agent_sessions import known_sessions
from sprintlog.projections.text.event_line import figures, short_name
from sprintlog.projections.views import sessions
from sprintlog.projections.views.sessions import SessionAnswer

from .. import typed
from ..context import open_workspace, with_json
from ..output import first, hint, print_json, print_text, table, wrapped
from ..screen import times


@typed.group("session", lazy={"reconcile": "agents.reconciliation:reconcile_command"})
def command() -> None:
    """Reconcile recorded sessions with the agent's transcripts."""


@typed.command("session")
@typed.argument("session", required=False)
@with_json
def show_session(session: str | None, as_json: bool) -> None:
    """Print an agent's actions in a session, or list the sessions.

    SESSION is `AGENT-ID`, the agent's session id, or a prefix of either.

    Examples: sprintlog show session

    sprintlog show session 1f3a
    """
    with open_workspace() as workspace:
        log = workspace.log
        named = session and [known_sessions.choose_session(log, session)]
        streams = named or [f"session/{name}" for name in known_sessions.sessions(log)]
        found = [sessions.session_answer(log, stream) for stream in streams]
    if as_json:
        print_json(found if session is None else found[0])
    elif not found:
        print_text("no sessions")
        hint("run `sprintlog setup claude` to record sessions")
    elif session is None:
        found.sort(key=lambda one: one.last_at)
        print_text(*table([session_row(x) for x in found]))
    else:
        print_text(*session_lines(found[0]))


FILES_LISTED = 20


def session_row(found: SessionAnswer) -> tuple[str, ...]:
    """Return a session's row in the session list."""
    at = times.when(found.last_at)
    return short_name(f"session/{found.session}"), at, figures(found)


def session_lines(found: SessionAnswer) -> Iterator[str]:
    """Yield the lines that describe a session."""
    ended = times.when(found.ended_at) if found.ended_at else "end not known"
    reason = f" ({found.reason})" if found.reason else ""
    rows = {
        "session": found.session,
        "started": times.when(found.started_at),
        "last": times.when(found.last_at),
        "ended": f"{ended}{reason}",
        "model": found.model,
        "version": found.version,
        "did": figures(found, ends=False),
        "transcript": found.transcript,
    }
    width = max(map(len, rows))
    for name, value in rows.items():
        if value:
            yield from wrapped(f"{name.ljust(width)}  {value}", indent=" " * (width + 2))
    for path in first(found.files_changed, FILES_LISTED, "and {} more"):
        yield f"{'changed'.ljust(width)}  {path}"
