"""Which workflows a sprint names, directly or through others, and whether all are there."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..state.document_fields import list_of, text_of
from ..state.tree import Data
from .problems import Definition, Path, Problems, nearest

DEPTH_MAX = 5
"""How many workflows may be in each other, the sprint's own counted."""

Workflows = Mapping[str, Definition | None]
"""By name; None for one that is there and could not be read."""


class Reference(NamedTuple):
    """A place that names a workflow."""

    name: str
    path: Path


def canonical(name: str) -> str:
    """Return a workflow's name without the ending of its file."""
    return name.removesuffix(".yaml").removesuffix(".yml")


def workflow_of(data: Any) -> str | None:
    """Return the workflow that a sprint, phase or item names."""
    name = text_of(data, "workflow")
    return canonical(name) if name else None


def sprint_references(data: Data) -> Iterator[Reference]:
    """Yield where a SPRINT.yaml names workflows: the sprint's own first."""
    if name := workflow_of(data):
        yield Reference(name, ("workflow",))
    collections = data.get("collections")
    lists: list[tuple[Path, Any]] = [(("steps",), data.get("steps"))]
    if isinstance(collections, dict):
        lists += [(("collections", key), value) for key, value in collections.items()]
    for path, items in lists:
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if name := workflow_of(item):
                yield Reference(name, (*path, index, "workflow"))


def workflow_references(data: Data) -> Iterator[Reference]:
    """Yield where the phases of a workflow name workflows."""
    for index, phase in enumerate(list_of(data, "phases")):
        if name := workflow_of(phase):
            yield Reference(name, ("phases", index, "workflow"))


def check_references(
    sprint: Definition,
    workflows: Workflows,
    problems: Problems,
    *,
    available: Sequence[str],
    searched: str,
) -> None:
    """Take each place that names a workflow which is not there as a problem."""
    for where, references in _all_references(sprint, workflows):
        for name, path in references:
            if name not in workflows:
                problems.add(
                    "unknown-workflow",
                    where,
                    path,
                    f"there is no workflow {name!r} in {searched}",
                    hint=nearest(name, list(available)),
                )


def _all_references(
    sprint: Definition, workflows: Workflows
) -> Iterator[tuple[Definition, list[Reference]]]:
    yield sprint, list(sprint_references(sprint.data))
    for definition in workflows.values():
        if definition is not None:
            yield definition, list(workflow_references(definition.data))
