"""Values from the log that a shell offers: sprints, addresses, points, event types."""

from collections.abc import Callable, Iterator

from sprintlog.projections.workspace import Workspace

Offer = tuple[str, str]
ITERATIONS_MAX = 20


def sprints(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield the sprints with their status."""
    for name, version in workspace.sprints().items():
        yield name, workspace.status_of(name, version)


def addresses(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield the addresses of a sprint's plan, what can be executed first."""
    tree = workspace.sprint(workspace.choose(sprint_id)).plan.tree
    nodes = list(dict.fromkeys(tree.nodes.values()))
    for node in sorted(nodes, key=lambda node: bool(node.children)):
        if node.address:
            yield node.address, node.status


def points(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield points of a sprint: its newest iterations first."""
    sprint = workspace.sprint(workspace.choose(sprint_id))
    for number, version in sprint.knowledge.iterations[: -ITERATIONS_MAX - 1 : -1]:
        yield f"iter:{number}", f"began with version {version}"
    yield "best", "where a rollback to the best iteration goes"
    yield "start", "the first event"
    yield f"version:{sprint.version}", "the last event"
    yield from (("yesterday", ""), ("today", ""), ("9:00", ""))


def iterations(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield the numbers of a sprint's iterations, the newest first."""
    sprint = workspace.sprint(workspace.choose(sprint_id))
    for number, version in sprint.knowledge.iterations[: -ITERATIONS_MAX - 1 : -1]:
        yield str(number), f"began with version {version}"


def requests(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield the requests of a sprint's queue with their titles."""
    sprint = workspace.sprint(workspace.choose(sprint_id))
    for entry in sprint.queue:
        yield str(entry["id"]), f"{entry.get('status')}: {entry.get('title')}"


def event_types(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield every event's type."""
    from sprintlog.engine.service.streams.catalogue import CODEC

    yield from ((tag, "") for tag in CODEC.events)


def actors(workspace: Workspace, sprint_id: str | None) -> Iterator[Offer]:
    """Yield the kinds of actors."""
    yield from (("operator", ""), ("runtime", ""), ("agent:", ""), ("import:", ""))


BY_NAME: dict[str, Callable[[Workspace, str | None], Iterator[Offer]]] = {
    "actor": actors,
    "actors": actors,
    "first": iterations,
    "iteration": iterations,
    "number": iterations,
    "one": points,
    "other": points,
    "phase": addresses,
    "point": points,
    "request": requests,
    "second": iterations,
    "sprint_id": sprints,
    "tag": event_types,
    "types": event_types,
}
"""By the name of an option or an argument: what finds its values."""
