"""Answers about agent sessions."""

from msgspec import Struct
from msgspec.structs import asdict

from sprintlog.engine.log.port import Log
from sprintlog.engine.service.agent_sessions.known_sessions import summary
from sprintlog.engine.sessions.names import session_of

from .events import EventReference


class Reconciled(Struct, frozen=True, kw_only=True):
    """The result of comparing a session with its transcript."""

    session: str
    """`AGENT-ID`."""
    transcript: str
    calls: int
    """The number of calls in the transcript."""
    seen: int
    """The number of these calls that hooks reported."""
    taken: int
    """The number of calls imported from the transcript, now or earlier."""
    unfinished: int
    """The number of the transcript's calls that have no end."""
    left: int
    """The number of those calls that are not recorded, because they may still be
    running."""
    only_hooks: int
    recorded: int
    """The number of new events in the log."""
    input_tokens: int | None = None
    """The session's usage according to its transcript, if no other source has it."""
    output_tokens: int | None = None
    at_least: tuple[str, ...] = ()
    """The names of figures that are lower bounds."""
    sprint: str | None = None
    """The sprint that records these tokens; null if the session belongs to no sprint."""


class SessionsPruned(Struct, frozen=True):
    """Sessions whose recorded texts were erased."""

    sessions: list[str]
    """The names of the sessions, `AGENT-ID`."""
    payloads: int
    """The number of events whose contents were erased."""
    bytes_erased: int
    bytes_freed: int
    """The number of bytes by which the log file has shrunk."""
    events: list[EventReference]


class SessionsPruning(Struct, frozen=True):
    """Sessions whose recorded texts would be erased."""

    sessions: list[str]
    payloads: int
    bytes: int


class SessionAnswer(Struct, frozen=True, kw_only=True):
    """An agent session."""

    session: str
    """`AGENT-ID`."""
    agent: str
    started_at: str
    last_at: str
    ended_at: str | None
    """Null while the session is active, or if its end was not recorded."""
    reason: str | None
    events: int
    starts: int
    prompts: int
    turns: int
    failed_turns: int
    tool_calls: int
    failed_calls: int
    unknown_calls: int
    """The number of calls with an unknown outcome."""
    erased: int
    """The number of events whose contents were erased, such as calls of an old session."""
    subagents: int
    compactions: int
    files_changed: list[str]
    lines_added: int
    lines_removed: int
    model: str | None
    version: str | None
    """The version of the agent's program."""
    transcript: str | None


def session_answer(log: Log, stream: str) -> SessionAnswer:
    """Return a session's summary."""
    name = session_of(stream) or stream
    found = asdict(summary(log, stream))
    return SessionAnswer(session=name, agent=name.partition("-")[0], **found)
