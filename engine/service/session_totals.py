"""The usage of a single run whose session contains other recorded usage."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ..judging.events import Usage
from ..sprint.events import AgentRan
from ..sprint.iterations.session_runs import used_alone
from .streams.catalogue import CODEC
from .workspace import ServiceWorkspace

SAY_TOTALS = ("codex",)
"""The agents that report totals of the whole session when it is resumed."""


def taken_alone(
    workspace: ServiceWorkspace,
    usage: Usage | None,
    *,
    agent: str | None,
    sessions: Sequence[str],
    output_sha256: str | None,
    since: int | None = None,
) -> Usage | None:
    """Return the part of a run's usage that is not recorded yet.

    Some agents report session totals, from which the usage of earlier runs is subtracted.
    For the others, the usage read from their transcript after the log position `since`, the
    start of the run, is subtracted. If an output contains several sessions, its figures are
    ambiguous and remain unchanged.
    """
    if usage is None or len(sessions) != 1:
        return usage
    if agent in SAY_TOTALS:
        before = [run for run in _runs(workspace) if run.output_sha256 != output_sha256]
    elif since is not None:
        before = [run for run in _runs_since(workspace, since) if _is_reading(run)]
    else:
        return usage
    before = [
        run for run in before if run.agent == agent and [*run.sessions] == [*sessions]
    ]
    if not before:
        return usage
    return used_alone(usage, before)


def alone(
    workspace: ServiceWorkspace, ran: AgentRan, *, since: int | None = None
) -> AgentRan:
    """Return a run with only its own usage."""
    usage = taken_alone(
        workspace,
        ran.usage,
        agent=ran.agent,
        sessions=ran.sessions,
        output_sha256=ran.output_sha256,
        since=since,
    )
    return ran if usage is ran.usage else replace(ran, usage=usage)


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
