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
    """How many calls the transcript has."""
    seen: int
    """How many of them hooks reported."""
    taken: int
    """How many were taken from the transcript, now or before."""
    unfinished: int
    """How many of the transcript's calls have no end in it."""
    left: int
    """How many of those are not recorded, since they may go on."""
    only_hooks: int
    recorded: int
    """How many events are new in the log."""
    input_tokens: int | None = None
    """The cost of the session by its transcript, if no other source has it."""
    output_tokens: int | None = None
    at_least: tuple[str, ...] = ()
    """The names of the figures here that are lower bounds."""
    sprint: str | None = None
    """The sprint that records these tokens; None if the session belongs to none."""


class SessionsPruned(Struct, frozen=True):
    """Sessions whose recorded tool-call contents were erased."""

    sessions: list[str]
    """By name, `AGENT-ID`."""
    tool_calls: int
    """How many calls said something until now."""
    bytes_erased: int
    bytes_freed: int
    """By how much the file of the log is shorter."""
    events: list[EventReference]


class SessionsPruning(Struct, frozen=True):
    """Sessions whose recorded tool-call contents would be erased."""

    sessions: list[str]
    tool_calls: int
    bytes: int


class SessionAnswer(Struct, frozen=True, kw_only=True):
    """An agent session."""

    session: str
    """`AGENT-ID`."""
    agent: str
    started_at: str
    last_at: str
    ended_at: str | None
    """Null while it goes on, or since nobody saw its end."""
    reason: str | None
    events: int
    starts: int
    prompts: int
    turns: int
    failed_turns: int
    tool_calls: int
    failed_calls: int
    unknown_calls: int
    """Calls of unknown outcome."""
    erased: int
    """Events of which it was erased what they said: calls of an old session."""
    subagents: int
    compactions: int
    files_changed: list[str]
    lines_added: int
    lines_removed: int
    model: str | None
    version: str | None
    """That of the agent's program."""
    transcript: str | None


def session_answer(log: Log, stream: str) -> SessionAnswer:
    """Return the summary of a session."""
    name = session_of(stream) or stream
    found = asdict(summary(log, stream))
    return SessionAnswer(session=name, agent=name.partition("-")[0], **found)
