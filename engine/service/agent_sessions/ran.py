"""The record of an agent's run, with its agent, figures and outcome.

This module also finds the sessions that hooks reported while an agent's command ran.
"""

from typing import Any, NamedTuple

from ...adapters.agents.outcome import Activity, key_of
from ...adapters.hooks.transcript_calls import StreamCalls
from ...adapters.processes.output import Output
from ...log.port import Log
from ...sessions.events import SessionStarted, ToolCalled, TurnEnded
from ...sessions.names import session_of
from ...sprint.answers.verdict import Answer, Verdict
from ...sprint.events import AgentRan, GitState
from ...sprint.state.words import NO_SUCCESS
from .known_sessions import event_of

_WITHIN = "compact"
"""The kind of session start that continues a session that has not ended."""
NAMES_MAX = 10


class AgentRunEnded(NamedTuple):
    """A completed run of an agent's command, and its output."""

    work: str
    """The run's correlation id."""
    since: int
    """The position of the log at the start of the run."""
    is_only: bool
    """Whether nothing else, such as an enclosing command, uses this correlation id."""
    agent: str | None
    """The agent that wrote the output."""
    calls: StreamCalls


class HookedSession(NamedTuple):
    """A session that hooks reported while a command ran."""

    stream: str
    is_over: bool
    """Whether the session started or resumed in this run, and so ended with its process."""


def answer_of(end: TurnEnded | None, known: Answer | None) -> Answer:
    """Return the answer of a turn, as its hook and its transcript report it."""
    if end is None:
        # The outcome is unknown, unless the transcript states it.
        return Answer("", is_stopped=known is not None and known.is_stopped, is_cut=True)
    text = end.text if end.text is not None else known.text if known else ""
    if not end.failed:
        return Answer(text)
    error = (known and known.error) or end.error or "the user stopped the agent"
    is_stopped, refusal = end.error in (None, "aborted"), known.refusal if known else None
    return Answer(text, error, is_stopped=is_stopped, refusal=refusal)


def printed(output: Output, activity: Activity, verdict: Verdict) -> AgentRan:
    """Return an agent's run that is known only from its output."""
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
    activity: Activity, verdict: Verdict, *, size: int, sha256: str, last_at: str | None
) -> AgentRan:
    """Return an agent's run that is known only from its transcript.

    `last_at` is the time of the transcript's last line. The lines of subagents alone do not
    determine an outcome.
    """
    return AgentRan(
        "",
        duration_ms=verdict.usage.duration_ms if verdict.usage else None,
        output_bytes=size,
        output_sha256=sha256,
        git_before=GitState(activity.commit) if activity.commit else None,
        calls=activity.counted,
        tools=tuple(dict.fromkeys(key_of(call.key) for call in activity.calls if call.key)),
        last_at=last_at if activity.is_own else None,
        **figures(activity),
        **outcome(verdict),
    )


def figures(activity: Activity) -> dict[str, Any]:
    """Return the figures from an agent's output, as fields of `AgentRan`."""
    return {
        "agent": activity.agent,
        "agent_version": next(iter(activity.versions), None),
        "models": tuple(activity.models[:NAMES_MAX]),
        "sessions": tuple(activity.sessions[:NAMES_MAX]),
        # If only the result is printed, the number of calls is unknown.
        "tool_calls": activity.tool_calls if activity.tells_calls else None,
        "unknown_lines": activity.unknown,
        "lines": activity.lines,
    }


def outcome(verdict: Verdict) -> dict[str, Any]:
    """Return the outcome of a run, as fields of `AgentRan`."""
    return {
        "status": verdict.status,
        "usage": verdict.usage,
        "error": verdict.error,
        "error_kind": verdict.category if verdict.status in NO_SUCCESS else None,
        "limit": verdict.limit,
    }


def hooked_sessions(log: Log, run: AgentRunEnded) -> list[HookedSession]:
    """Return the sessions that hooks reported as part of a run, in log order."""
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
