"""Random injections: at every position, of phases and steps, with ids and with prefixes."""

from typing import Any, NamedTuple

from sprintlog.engine.command import decided
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint.events import InjectionPosition
from sprintlog.engine.sprint.plan.injection import InjectPhases, InjectSteps
from sprintlog.engine.sprint.plan.insertion_points import AFTER_CURRENT, BESIDE, POSITIONS
from sprintlog.engine.sprint.state.sprint import Sprint

Data = dict[str, Any]

SHAPES: tuple[list[Data], ...] = (
    [{"id": "n", "prompt": "x"}],
    [{"id": "n", "prompt": "x", "model": "opus"}, {"id": "m", "prompt": "x"}],
    [{"id": "n", "prompt": "x", "phases": [{"id": "i/0", "prompt": "x"}]}],
    [{"id": "n", "steps": [{"id": "s0", "prompt": "x"}]}, {"id": "m", "prompt": "x"}],
    [{"id": "n", "steps": []}],
    [{"id": "p0", "prompt": "x", "gate": {}}],
)
"""Random injections; the last one often has a used id."""


class Injection(NamedTuple):
    """A command to inject work, as `inject` creates it."""

    step: bool
    nodes: list[Data]
    position: InjectionPosition
    id_prefix: str | None


def injection(sprint: Sprint, i: int, j: int) -> Injection:
    """Return an injection that two numbers choose."""
    addresses = [""] if i % 7 == 6 else list(sprint.plan.tree.nodes) or [""]
    kind = POSITIONS[i % len(POSITIONS)]
    takes_ref = kind in BESIDE or (kind != AFTER_CURRENT and i % 2 == 1)
    position = InjectionPosition(kind, addresses[j % len(addresses)] if takes_ref else None)
    nodes = SHAPES[j % len(SHAPES)]
    numbered = [{**node, "id": f"{node['id']}{i}"} for node in nodes[: 1 + i % 2]]
    prefix = (None, "fix", "p")[i % 3]
    return Injection(j % 3 == 2, nodes if j % 5 == 4 else numbered, position, prefix)


def inject(sprint: Sprint, *, asked: Injection) -> list[Event]:
    """Decide on an injection."""
    kind = InjectSteps if asked.step else InjectPhases
    command = kind(asked.nodes, asked.position, asked.id_prefix)
    return decided(command, sprint, "2026-01-15T09:00:00Z")
