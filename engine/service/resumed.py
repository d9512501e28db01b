"""What a run took alone of a session that was taken up again, and told as a whole."""

from collections.abc import Sequence

from ..iterations.events import Usage
from ..sprint.events import AgentRan
from .workspace import ServiceWorkspace

SAY_TOTALS = ("codex",)
"""The agents that say, of a session that is taken up again, what it took since it began."""


def taken_alone(
    workspace: ServiceWorkspace,
    usage: Usage | None,
    *,
    agent: str | None,
    sessions: Sequence[str],
    output_sha256: str | None,
) -> Usage | None:
    """Return what a run took beyond what earlier ones of its session did, in any sprint.

    Of several sessions in one output it is not known whose figures they are.
    """
    if usage is None or agent not in SAY_TOTALS or len(sessions) != 1:
        return usage
    # Imported here: few agents say totals.
    from ..sprint.iterations.session_runs import used_alone

    before = [
        run
        for name in workspace.sprints()
        for run in workspace.repository.events(name, AgentRan)
        if run.agent == agent
        and [*run.sessions] == [*sessions]
        # What is recorded again is as it was.
        and run.output_sha256 != output_sha256
    ]
    return used_alone(usage, before) if before else usage


def alone(workspace: ServiceWorkspace, ran: AgentRan) -> AgentRan:
    """Return a run with what it took alone."""
    # Imported here, as above.
    from msgspec.structs import replace

    usage = taken_alone(
        workspace,
        ran.usage,
        agent=ran.agent,
        sessions=ran.sessions,
        output_sha256=ran.output_sha256,
    )
    return ran if usage is ran.usage else replace(ran, usage=usage)
