"""What is recorded of an agent's run: who it was, what it did, how it ended."""

from typing import Any, NamedTuple

from ...adapters.agents.activity import Activity
from ...adapters.agents.answer import key_of
from ...adapters.agents.calls import StreamCalls
from ...adapters.processes.output import Output
from ...log.port import Log
from ...sessions.events import SessionStarted, ToolCalled
from ...sessions.names import session_of
from ...sprint.answers.verdict import Verdict
from ...sprint.events import AgentRan, GitState
from ...sprint.state.words import NO_SUCCESS
from .known_sessions import event_of

_WITHIN = "compact"
"""How a session starts that never ended."""


class AgentRunEnded(NamedTuple):
    """A command that ran, and what it printed."""

    work: str
    """The correlation id that it was given."""
    since: int
    """The position of the log when it began."""
    is_only: bool
    """Whether nobody else works under this id, such as a command around this one."""
    agent: str | None
    """Whose output it was."""
    calls: StreamCalls


class HookedSession(NamedTuple):
    """A session of which hooks told while a command ran."""

    stream: str
    is_over: bool
    """Whether it began, or was taken up, in this run, and so ended with its process."""


def hooked_sessions(log: Log, run: AgentRunEnded) -> list[HookedSession]:
    """Return the sessions of which hooks told as part of a run, in their order."""
    began: dict[str, bool] = {}
    for recorded in log.read(after=run.since):
        stream = recorded.stream
        if recorded.correlation_id != run.work or session_of(stream) is None:
            continue
        event = event_of(recorded)
        if isinstance(event, ToolCalled) and event.found_in is not None:
            continue
        starts = isinstance(event, SessionStarted) and event.how != _WITHIN
        is_over = run.is_only or starts or recorded.version == 1
        began[stream] = began.get(stream, False) or is_over
    return [HookedSession(stream, is_over) for stream, is_over in began.items()]


NAMES_MAX = 10


def printed(output: Output, activity: Activity, verdict: Verdict) -> AgentRan:
    """Return a run of which no more is known than what the agent printed."""
    return AgentRan(
        "",
        duration_ms=verdict.usage.duration_ms if verdict.usage else None,
        output=output.text(),
        output_bytes=output.bytes,
        output_sha256=output.sha256,
        **figures(activity),
        **outcome(verdict),
    )


def kept(
    activity: Activity,
    verdict: Verdict,
    *,
    size: int,
    sha256: str,
    last_at: str | None,
) -> AgentRan:
    """Return a run of which no more is known than the transcript that its agent kept.

    `last_at` is the time of its last line; lines of subagents alone decide on no outcome.
    """
    tools = dict.fromkeys(key_of(call.key) for call in activity.calls if call.key)
    return AgentRan(
        "",
        duration_ms=verdict.usage.duration_ms if verdict.usage else None,
        output_bytes=size,
        output_sha256=sha256,
        git_before=GitState(activity.commit) if activity.commit else None,
        calls=activity.counted,
        tools=tuple(tools),
        last_at=last_at if activity.is_own else None,
        **figures(activity),
        **outcome(verdict),
    )


def figures(activity: Activity) -> dict[str, Any]:
    """Return what its output says it did, as fields of `AgentRan`."""
    return {
        "agent": activity.agent,
        "agent_version": next(iter(activity.versions), None),
        "models": tuple(activity.models[:NAMES_MAX]),
        "sessions": tuple(activity.sessions[:NAMES_MAX]),
        # Where only the result is said, nobody knows what was called.
        "tool_calls": activity.tool_calls if activity.tells_calls else None,
        "unknown_lines": activity.unknown,
        "lines": activity.lines,
    }


def outcome(verdict: Verdict) -> dict[str, Any]:
    """Return how it ended, as fields of `AgentRan`."""
    has_failed = verdict.status in NO_SUCCESS
    return {
        "status": verdict.status,
        "usage": verdict.usage,
        "error": verdict.error,
        "error_kind": verdict.category if has_failed else None,
        "limit": verdict.limit,
    }
