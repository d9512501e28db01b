"""The record of an agent's run, with its agent, figures and outcome.

This module also finds the sessions that hooks reported while an agent's command ran, and
the usage of a single run whose session contains other recorded usage.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from ...adapters.agents.outcome import Activity, key_of
from ...adapters.hooks.transcript_calls import StreamCalls
from ...adapters.processes.output import Output
from ...log.port import Log
from ...sessions.events import SessionStarted, ToolCalled, TurnEnded
from ...sessions.names import session_of
from ...sprint.answers.verdict import Answer, Verdict
from ...sprint.events import AgentRan, GitState
from ...sprint.iterations.session_runs import CALLS_MAX, of_turn, runs_of, used_alone
from ...sprint.state.words import NO_SUCCESS
from ..port import Service
from ..streams.catalogue import CODEC
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


SAY_TOTALS = ("codex",)
"""The agents that report totals for the entire session when it is resumed."""


def alone(workspace: Service, ran: AgentRan, *, since: int | None = None) -> AgentRan:
    """Return a run with only the part of its usage that is not recorded yet.

    Some agents report session totals, from which the usage of earlier runs is subtracted.
    For other agents, the usage read from their transcript after the log position `since`,
    the start of the run, is subtracted. If an output contains several sessions, its figures
    are ambiguous and remain unchanged.
    """
    if ran.usage is None or len(ran.sessions) != 1:
        return ran
    if ran.agent in SAY_TOTALS:
        digest = ran.output_sha256
        before = [run for run in _runs(workspace) if run.output_sha256 != digest]
    elif since is not None:
        before = [run for run in _runs_since(workspace, since) if _is_reading(run)]
    else:
        return ran
    own = ran.agent, ran.sessions
    before = [run for run in before if (run.agent, run.sessions) == own]
    return replace(ran, usage=used_alone(ran.usage, before)) if before else ran


def turn_alone(workspace: Service, ran: AgentRan, session: AgentRan | None) -> AgentRan:
    """Return a turn's run with the figures that no earlier run of its session contains.

    `session` contains all figures so far; None if the transcript could not be read.
    """
    known, turn = [*_runs(workspace)], ran.turn
    if ran.iteration is not None and turn is not None:
        # The iteration may have ended before, and continued.
        before = [x for x in known if x.turn and x.iteration == ran.iteration]
        before = [x for x in before if x.turn and x.turn.session == turn.session]
        calls = (ran.tool_calls or 0) - sum(x.tool_calls or 0 for x in before)
        duration = (ran.duration_ms or 0) - sum(x.duration_ms or 0 for x in before)
        ran = replace(ran, tool_calls=max(calls, 0), duration_ms=max(duration, 0))
    if session is None:
        return ran
    own = of_turn(session, runs_of(session, known))
    return replace(
        ran,
        usage=own.usage,
        tool_calls=own.tool_calls or ran.tool_calls,
        calls=own.calls[:CALLS_MAX],
        tools=own.tools[:CALLS_MAX],
        settled=own.settled,
        last_at=own.last_at,
        unknown_lines=own.unknown_lines,
        lines=own.lines,
    )


def _runs(workspace: Service) -> Iterator[AgentRan]:
    for name in workspace.sprints():
        yield from workspace.repository.events(name, AgentRan)


def _runs_since(workspace: Service, since: int) -> Iterator[AgentRan]:
    for recorded in workspace.log.read(after=since):
        if recorded.type == AgentRan.type and recorded.payload is not None:
            event = CODEC.decode(recorded)
            assert isinstance(event, AgentRan)
            yield event


def _is_reading(run: AgentRan) -> bool:
    """Return whether a run was read from a transcript, without its output."""
    return run.command is None and not run.output and run.exit_code is None
