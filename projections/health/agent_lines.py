"""How much of what agents printed was understood, among the newest events."""

from typing import NamedTuple

from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import AgentRan

from ..workspace import Workspace

EVENTS_LOOKED_AT = 10_000
"""An agent that changed what it prints is known by its newest runs."""


class AgentLines(NamedTuple):
    """What was read of one version of an agent."""

    agent: str
    version: str | None
    """None where its output does not say."""
    lines: int
    unknown: int
    """How many of the lines were not understood."""
    position: int | None
    """The newest run with such a line whose output is kept."""

    @property
    def name(self) -> str:
        """Return agent and version."""
        return f"{self.agent} {self.version or '(version not said)'}"


def agent_lines(workspace: Workspace) -> tuple[AgentLines, ...]:
    """Return what was read of each agent, by name and version."""
    found: dict[tuple[str, str], AgentLines] = {}
    after = max(0, workspace.log.head().position - EVENTS_LOOKED_AT)
    for recorded in workspace.log.read(after=after):
        if recorded.type != AgentRan.type or recorded.payload is None:
            continue
        ran = CODEC.decode(recorded)
        assert isinstance(ran, AgentRan)
        if ran.agent is None or not ran.lines:
            continue
        key = ran.agent, ran.agent_version or ""
        before = found.get(key, AgentLines(ran.agent, ran.agent_version, 0, 0, None))
        is_odd = ran.unknown_lines > 0 and bool(ran.output)
        found[key] = before._replace(
            lines=before.lines + ran.lines,
            unknown=before.unknown + ran.unknown_lines,
            position=recorded.position if is_odd else before.position,
        )
    return tuple(found[key] for key in sorted(found))
