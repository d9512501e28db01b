"""A sprint's workflows: the references to them, and their phases after inlining.

The id of an inlined phase consists of the inlining phase's id, a dash, and its own id.
Since this does not depend on items, a workflow is laid out once and filled in for each
item. The size of the plan is limited while it is built; otherwise, a few workflows that
inline each other, or a template that repeats a long text, could exhaust memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...log.envelope import DOCUMENT_BYTES_MAX
from ..state.document_fields import list_of, text_of
from ..state.tree import Data
from .definitions import Definition, Path, Problems, is_given, nearest
from .templates import Template, cut

DEPTH_MAX = 5
"""The maximum depth of nested workflows, including the sprint's own."""

Workflows = Mapping[str, Definition | None]
"""The workflows by name; None for a workflow that could not be read."""


class Reference(NamedTuple):
    """A location that names a workflow."""

    name: str
    path: Path


def workflow_of(data: Any) -> str | None:
    """Return the workflow that a sprint, phase or item names, or None.

    The name has no file extension.
    """
    name = text_of(data, "workflow")
    return name.removesuffix(".yaml").removesuffix(".yml") if name else None


def sprint_references(data: Data) -> Iterator[Reference]:
    """Yield the references to workflows in a SPRINT.yaml, the sprint's own first."""
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
    """Yield the references to workflows in the phases of a workflow."""
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
    """Report a problem for each reference to a workflow that does not exist."""
    for where, references in _all_references(sprint, workflows):
        for name, path in references:
            if name not in workflows:
                message = f"there is no workflow {name!r} in {searched}"
                hint = nearest(name, list(available))
                problems.add("unknown-workflow", where, path, message, hint=hint)


def _all_references(
    sprint: Definition, workflows: Workflows
) -> Iterator[tuple[Definition, list[Reference]]]:
    yield sprint, list(sprint_references(sprint.data))
    for definition in workflows.values():
        if definition is not None:
            yield definition, list(workflow_references(definition.data))


FLAGS = ("parallel", "wait-for-parallel", "break")
PHASE_BYTES = 40
"""The minimum size of a phase in bytes, excluding its texts."""


class TooLargeError(Exception):
    """The plan is too large to be recorded."""


class Part(NamedTuple):
    """A parsed phase of a workflow."""

    id: str
    phase: Definition
    template: Template
    model: str | None
    flags: Data
    gate: Definition | None
    is_for_each: bool
    inlines: str | None
    """The workflow that replaces the phase."""


class InWorkflow(NamedTuple):
    """The context in which a workflow is used."""

    chain: tuple[str, ...] = ()
    """The enclosing workflows, outermost first."""
    prefix: str = ""
    phase_model: str | None = None
    """The model of the nearest enclosing phase that specifies a model."""
    workflow_model: str | None = None
    """The model of the nearest enclosing workflow that specifies a model."""


class Flat(NamedTuple):
    """A phase after inlining, with the settings inherited from inlining phases."""

    id: str
    part: Part
    around: InWorkflow
    """The context of the phase, with the models that apply to it."""
    flags: Data
    gate: Definition | None


class Budget:
    """The remaining size available for a plan."""

    def __init__(self) -> None:
        self._left = DOCUMENT_BYTES_MAX

    def spend(self, text: str, beside: int = 0) -> None:
        """Count a text plus `beside` bytes; raise `TooLargeError` above the limit."""
        self._left -= len(text) + beside
        if self._left < 0:
            raise TooLargeError


class Outline:
    """Lays out workflows and reports their problems."""

    def __init__(self, workflows: Workflows, problems: Problems, budget: Budget) -> None:
        self._workflows = workflows
        self._problems = problems
        self._budget = budget
        self._read: dict[str, tuple[list[Part], str | None]] = {}

    def flat(
        self, name: str, *, named_by: Definition, around: InWorkflow
    ) -> Iterator[Flat]:
        """Yield the phases of a workflow, with other workflows inlined."""
        if self._workflows.get(name) is None or not self._may_stand(name, named_by, around):
            return
        parts, model = self._parts(name)
        chain = (*around.chain, name)
        workflow_model = model or around.workflow_model
        for part in parts:
            identity = around.prefix + part.id
            self._budget.spend(identity, PHASE_BYTES)
            phase_model = part.model or around.phase_model
            if part.inlines is None:
                inside = InWorkflow(chain, around.prefix, phase_model, workflow_model)
                yield Flat(identity, part, inside, part.flags, part.gate)
                continue
            inside = InWorkflow(chain, f"{identity}-", phase_model, workflow_model)
            inlined = self.flat(part.inlines, named_by=part.phase, around=inside)
            yield from self._passed_on(part, inlined)

    def _parts(self, name: str) -> tuple[list[Part], str | None]:
        """Return a workflow's phases and its model; check the phases on first use."""
        if name not in self._read:
            where = self._workflows[name]
            assert where is not None
            self._check_phases(where)
            parts: dict[str, Part] = {}
            for index, phase in enumerate(list_of(where.data, "phases")):
                if (identity := text_of(phase, "id")) is None:
                    continue
                part = self._part(where.part(phase, "phases", index))
                if parts.setdefault(identity, part) is not part:
                    message = f"{identity!r} is the id of another phase of the workflow"
                    self._problems.add("duplicate-id", part.phase, ("id",), message)
            self._read[name] = list(parts.values()), text_of(where.data, "model")
        return self._read[name]

    def _part(self, phase: Definition) -> Part:
        self._check_phase(phase)
        data = phase.data
        gate, is_for_each = data.get("gate"), is_given(data, "for-each")
        return Part(
            data["id"],
            phase,
            cut(text_of(data, "prompt") or ""),
            text_of(data, "model"),
            {flag: True for flag in FLAGS if data.get(flag) is True},
            phase.part(gate, "gate") if isinstance(gate, dict) else None,
            is_for_each,
            None if is_for_each else workflow_of(data),
        )

    def _may_stand(self, name: str, named_by: Definition, around: InWorkflow) -> bool:
        """Return whether a workflow may be used here; report cycles and excessive depth."""
        chain, path = around.chain, ("workflow",)
        if name in chain[-1:]:
            message = f"workflow {name!r} names itself"
            self._problems.add("self-reference", named_by, path, message)
        elif name in chain:
            circle = " → ".join([*chain[chain.index(name) :], name])
            message = f"workflows name each other in a circle: {circle}"
            self._problems.add("workflow-cycle", named_by, path, message)
        elif len(chain) == DEPTH_MAX:
            message = (
                f"{name!r} would be nested {DEPTH_MAX + 1} workflows deep; at most "
                f"{DEPTH_MAX} are allowed"
            )
            self._problems.add("too-deep", named_by, path, message)
        else:
            return True
        return False

    def _passed_on(self, part: Part, inlined: Iterator[Flat]) -> Iterator[Flat]:
        """Yield inlined phases with the settings of the phase that inlines them.

        The gate and the breakpoint of the inlining phase apply to the last inlined phase.
        """
        if not part.flags and part.gate is None:
            yield from inlined
            return
        of_all = {flag: True for flag in part.flags if flag == "parallel"}
        at_first = {flag: True for flag in part.flags if flag == "wait-for-parallel"}
        at_last = {flag: True for flag in part.flags if flag == "break"}
        behind = next(inlined, None)
        while behind is not None:
            flat, behind = behind, next(inlined, None)
            flags = {**flat.flags, **of_all, **at_first}
            at_first = {}
            if behind is None:
                yield flat._replace(flags=flags | at_last, gate=self._gate(part, flat))
            else:
                yield flat._replace(flags=flags)

    def _gate(self, part: Part, last: Flat) -> Definition | None:
        if part.gate is not None and last.gate is not None:
            message = f"the last phase inlined here, {last.id!r}, has a gate as well"
            hint = "remove one of the gates"
            self._problems.add("two-gates", part.phase, ("gate",), message, hint=hint)
        return part.gate or last.gate

    def _check_phases(self, where: Definition) -> None:
        if where.data.get("phases", []) == []:
            path = ("phases",) if "phases" in where.data else ()
            message = "a workflow needs at least one phase"
            hint = "a phase is `- id: …` with a `prompt`, a `for-each` or a `workflow`"
            self._problems.add("no-phases", where, path, message, hint=hint)

    def _check_phase(self, phase: Definition) -> None:
        data = phase.data
        if is_given(data, "prompt") and is_given(data, "workflow"):
            message = f"phase {data['id']!r} has both a `prompt` and a `workflow`"
            self._problems.add("two-actions", phase, (), message, hint="remove one of them")
        elif not any(is_given(data, key) for key in ("prompt", "workflow", "for-each")):
            message = f"phase {data['id']!r} has no action"
            hint = "add a `prompt`, a `for-each` or a `workflow`"
            self._problems.add("no-action", phase, (), message, hint=hint)
        elif is_given(data, "collection") and not is_given(data, "for-each"):
            message = "a phase without a `for-each` has no items"
            hint = "write `for-each` with the name that templates use for an item"
            self._problems.add("ignored-field", phase, ("collection",), message, hint=hint)
        elif is_given(data, "prompt") and is_given(data, "for-each"):
            message = "the prompt of a `for-each` phase is not used, its items' prompts are"
            hint = "move it into a workflow, and refer to that with `workflow`"
            self._problems.add("unused-prompt", phase, ("prompt",), message, hint=hint)
