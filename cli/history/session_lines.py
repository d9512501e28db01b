"""Sessions of agents, listed and one by one."""

from collections.abc import Iterator

from sprintlog.projections.views.sessions import SessionAnswer
from sprintlog.projections.words.of_sessions import figures, short_name

from ..output import wrapped
from ..screen import phrases

FILES_LISTED = 20


def session_row(found: SessionAnswer) -> tuple[str, ...]:
    """Return a session's row in the list of them."""
    at = phrases.when(found.last_at)
    return short_name(f"session/{found.session}"), at, figures(found)


def session_lines(found: SessionAnswer) -> Iterator[str]:
    """Yield what is known of a session."""
    ended = phrases.when(found.ended_at) if found.ended_at else "end not known"
    reason = f" ({found.reason})" if found.reason else ""
    rows = {
        "session": found.session,
        "started": phrases.when(found.started_at),
        "last": phrases.when(found.last_at),
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
    for path in found.files_changed[:FILES_LISTED]:
        yield f"{'changed'.ljust(width)}  {path}"
    if (more := len(found.files_changed) - FILES_LISTED) > 0:
        yield f"{'changed'.ljust(width)}  and {more} more"
