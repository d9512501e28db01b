"""The usage of a single run whose session contains other recorded usage."""

from collections.abc import Iterator

from msgspec.structs import replace

from ..sprint.events import AgentRan
from ..sprint.iterations.session_runs import CALLS_MAX, of_turn, runs_of, used_alone
from .streams.catalogue import CODEC
from .workspace import ServiceWorkspace

SAY_TOTALS = ("codex",)
"""The agents that report totals for the entire session when it is resumed."""


def alone(
    workspace: ServiceWorkspace, ran: AgentRan, *, since: int | None = None
) -> AgentRan:
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


def turn_alone(
    workspace: ServiceWorkspace, ran: AgentRan, session: AgentRan | None
) -> AgentRan:
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


def _runs(workspace: ServiceWorkspace) -> Iterator[AgentRan]:
    for name in workspace.sprints():
        yield from workspace.repository.events(name, AgentRan)


def _runs_since(workspace: ServiceWorkspace, since: int) -> Iterator[AgentRan]:
    for recorded in workspace.log.read(after=since):
        if recorded.type == AgentRan.type and recorded.payload is not None:
            event = CODEC.decode(recorded)
            assert isinstance(event, AgentRan)
            yield event


def _is_reading(run: AgentRan) -> bool:
    """Return whether a run was read from a transcript, without its output."""
    return run.command is None and not run.output and run.exit_code is None
