"""The usage of a single run whose session contains other recorded usage."""

from collections.abc import Iterator

from msgspec.structs import replace

from ..sprint.events import AgentRan
from ..sprint.iterations.session_runs import used_alone
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
