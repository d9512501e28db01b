"""The injection of phases and steps into a running plan.

Wherever work is injected, the pointer stays on the same leaf (SPR-074).
"""

from collections.abc import Iterator
from copy import deepcopy

from msgspec import structs

from ...command import Command, Events
from ...errors import RefusedError
from ...log.event import Event
from ..events import Injection, InjectionPosition, PhaseInjected, Source, StepInjected
from ..phases.gate import forget_gates
from ..state import transitions, words
from ..state.sprint import Evolves, Knowledge, Learns, Plan, Sprint
from ..state.tree import CHILDREN, Data, escape, put, takes_part
from .create import prepare_nodes
from .insertion_points import STEP, SUB_PHASE, TOP, Spot, spot_of_phases, spot_of_steps


class InjectPhases(Command, frozen=True):
    """Inject phases into the plan as siblings in the given order, all of them or none.

    `nodes` have the structure of PROGRESS.yaml; they become steps if their siblings are
    steps. With `id_prefix`, their ids are `id_prefix-0`, `id_prefix-1` and so on; these ids
    are never reused. A repeated command has no effect unless `is_new` is set. Raise
    `RefusedError` if the position does not exist or does not accept such nodes, or if an id
    is in use.
    """

    nodes: list[Data]
    position: InjectionPosition
    id_prefix: str | None = None
    sources: tuple[Source, ...] = ()
    is_new: bool = False

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        transitions.check_exists(sprint)
        spot = spot_of_phases(
            sprint, self.position, is_for_each=any("steps" in n for n in self.nodes)
        )
        return _inject(sprint, spot, self, is_new=self.is_new)


class InjectSteps(Command, frozen=True):
    """Inject steps into a phase that has steps, as `InjectPhases` does with phases."""

    nodes: list[Data]
    position: InjectionPosition
    id_prefix: str | None = None
    sources: tuple[Source, ...] = ()

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        transitions.check_exists(sprint)
        spot = spot_of_steps(sprint, self.position)
        if spot.level != STEP:
            where = self.position.ref or self.position.type
            raise RefusedError(
                f"{where} is not a place for a step: a step belongs to a phase with steps",
                hint="specify a step (before:PHASE/STEP, after:PHASE/STEP) or its phase "
                "(end-of-phase:PHASE), or inject a phase",
                command="inject",
            )
        return _inject(sprint, spot, self)


def injection_of(
    level: int, nodes: list[Data], position: InjectionPosition
) -> InjectPhases | InjectSteps:
    """Return the command that injects nodes at a level of the plan."""
    return (InjectSteps if level == STEP else InjectPhases)(nodes, position)


def _injects(event: Injection) -> InjectPhases | InjectSteps:
    kind = InjectPhases if isinstance(event, PhaseInjected) else InjectSteps
    return kind(event.nodes, event.position, event.id_prefix)


def addresses(event: Injection) -> list[str]:
    """Return the addresses of the injected nodes, in order."""
    came = filter(takes_part, event.nodes)
    return [_address(event.into or "", node["id"]) for node in came]


def _address(into: str, identity: str) -> str:
    return f"{into}/{escape(identity)}" if into else escape(identity)


def _inject(
    sprint: Sprint, spot: Spot, command: InjectPhases | InjectSteps, *, is_new: bool = False
) -> list[Event]:
    if not command.nodes:
        raise RefusedError("nodes: there is nothing to inject", field="nodes")
    for named in _named(sprint, command.nodes, command.id_prefix):
        coming = _coming(spot, named, command.position, command.id_prefix)
        # Agents retry, so repeating a command records nothing (SPR-042).
        last = sprint.plan.last.nodes
        if not is_new and all(last.of(a) == x for a, x in _said(coming, spot.into)):
            return []
    transitions.check_growing(sprint)
    _check_free(sprint.plan, coming, spot)
    where = {"into": spot.into, "after": spot.after, "before": spot.before}
    return [structs.replace(coming, **where, sources=command.sources)]


def _coming(
    spot: Spot, nodes: list[Data], position: InjectionPosition, id_prefix: str | None
) -> Injection:
    _check_nodes(nodes, "nodes", level=spot.level)
    prepared = prepare_nodes(nodes, "nodes", level=spot.level)
    is_step = spot.level == STEP
    for step in prepared if is_step else (s for n in prepared for s in n.get("steps", ())):
        # A step always has this list, even if the step itself is executed.
        step.setdefault("phases", [])
    kind = StepInjected if is_step else PhaseInjected
    return kind(prepared, position, id_prefix=id_prefix)


def _named(sprint: Sprint, nodes: list[Data], id_prefix: str | None) -> list[list[Data]]:
    """Return the nodes with the last assigned ids, and again with new ids.

    The former are used to detect a repeated command.
    """
    if id_prefix is None:
        return [nodes]
    transitions.check_id(id_prefix and f"{id_prefix}-0", field="id_prefix")
    given = sprint.knowledge.allotted.get(id_prefix, 0)
    taken = {node.data["id"] for node in sprint.plan.tree.nodes.values()}
    free = given
    # The ids are consecutive, so that a repeated command can compute them from the last.
    while not taken.isdisjoint(f"{id_prefix}-{free + n}" for n in range(len(nodes))):
        free += 1
    return [
        [
            {**node, "id": f"{id_prefix}-{number}"}
            for number, node in enumerate(nodes, first)
        ]
        for first in (given - len(nodes), free)
    ]


def _said(event: Injection, into: str) -> Iterator[tuple[str, Injection]]:
    """Yield each node's address and its injection as requested."""
    for node in filter(takes_part, event.nodes):
        one = type(event)([node], event.position, id_prefix=event.id_prefix)
        yield _address(into, node["id"]), one


def _check_free(plan: Plan, coming: Injection, spot: Spot) -> None:
    holder, key = _holder(plan.document, spot.holder)
    taken = [child.get("id") for child in holder.get(key) or () if isinstance(child, dict)]
    for index, node in enumerate(coming.nodes):
        if node["id"] in taken:
            address = _address(spot.into, node["id"])
            raise RefusedError(
                f"nodes[{index}].id: phase {address} already exists",
                hint="ids must be unique among siblings: choose a different id, or a "
                "prefix to be numbered",
                field=f"nodes[{index}].id",
                phase=address,
                command="inject",
            )


def _check_nodes(nodes: list[Data], field: str, *, level: int) -> None:
    """Raise `RefusedError` if nodes are valid but could not be executed."""
    key = CHILDREN[level] if level < len(CHILDREN) else None
    for index, node in enumerate(nodes):
        where = f"{field}[{index}]"
        if not isinstance(node, dict):
            raise _refused(where, "must be a mapping")
        for other in ("steps", "phases"):
            if other != key and other in node:
                raise _refused(f"{where}.{other}", *_MISPLACED[level])
        prompt = node.get("prompt")
        if "prompt" in node and not (isinstance(prompt, str) and prompt.strip()):
            raise _refused(f"{where}.prompt", "is empty or not text")
        if "model" in node and node["model"] not in words.MODELS:
            raise _refused(f"{where}.model", f"must be one of {', '.join(words.MODELS)}")
        if node.get("status", words.PENDING) != words.PENDING:
            raise _refused(f"{where}.status", f"must be {words.PENDING}")
        if level != TOP and node.get("break"):
            raise _refused(f"{where}.break", "only a top-level phase can have a breakpoint")
        if key is not None and isinstance(children := node.get(key), list):
            _check_nodes(children, f"{where}.{key}", level=level + 1)


_MISPLACED = {
    TOP: ("only a step can contain phases", "inject a step, or a phase with steps"),
    STEP: (
        "a phase with steps is at the top of the workflow, not among steps",
        "name a top phase (after:PHASE), or end-of-workflow",
    ),
    SUB_PHASE: (
        "there is nothing below a sub-phase",
        "name a top phase (after:PHASE) or a step (after:PHASE/STEP)",
    ),
}


def _refused(field: str, problem: str, hint: str | None = None) -> RefusedError:
    return RefusedError(f"{field}: {problem}", hint=hint, field=field, command="inject")


def _holder(document: Data, indices: tuple[int, ...]) -> tuple[Data, str]:
    """Return the node that contains a position, and the key of its list of children."""
    for key, index in zip(CHILDREN, indices, strict=False):
        document = document[key][index]
    return document, CHILDREN[len(indices)]


def _evolve(plan: Plan, event: Injection, at: str) -> None:
    tree = plan.tree
    # The rules inject nothing else, but an imported log may contain anything.
    nodes = [node for node in event.nodes if takes_part(node)]
    beside = tree.find(event.after or event.before or "")
    into = tree.find(event.into) if event.into else tree.root
    owner = beside.parent if beside is not None else into
    if owner is None or owner.level == SUB_PHASE or not nodes:
        return
    place = owner.place if beside is None else beside.place[:-1]
    holder, key = _holder(plan.document, place)
    if not isinstance(holder.get(key), list):
        _open(holder, key)
    siblings = holder[key]
    index = len(siblings)
    if beside is not None:
        index = beside.place[-1] + (event.after is not None)
    marked = [_marked(node, at, level=len(place) + 1) for node in nodes]
    if plan.status != words.NOT_STARTED:
        # The pointer may have passed a gate that is forgotten next.
        tree.open_leaf()
    # The gate did not check the new work. Parents derive their error from their gate.
    forget_gates(owner)
    plan.grow(owner, siblings, index, marked, at)
    for address, said in _said(event, event.into or ""):
        plan.last.nodes[address] = said


def _open(holder: Data, key: str) -> None:
    """Add an empty list of children; in a sprint, insert the list before the pointer."""
    behind = list(holder)
    behind = behind[behind.index("current") :] if "current" in holder else []
    put(holder, key, [])
    for name in behind:
        if name != key:
            holder[name] = holder.pop(name)


def _marked(node: Data, at: str, *, level: int) -> Data:
    """Return a copy of a node, marked as injected at the given time (SPR-141)."""
    first = ("id", "status", "prompt", "model")
    marked = {key: value for key, value in node.items() if key in first}
    marked.update({"injected": True, "injected-at": at})
    below = CHILDREN[level] if level < len(CHILDREN) else None
    for key, value in node.items():
        if key == below and isinstance(value, list):
            marked[key] = [
                _marked(child, at, level=level + 1) if isinstance(child, dict) else child
                for child in value
            ]
        elif key not in marked:
            marked[key] = deepcopy(value)
    return marked


def record_injected(knowledge: Knowledge, event: Injection, version: int) -> None:
    """Record the highest number used with each id prefix, so that no number is reused."""
    if event.id_prefix is None:
        return
    for node in event.nodes:
        number = str(node.get("id")).removeprefix(f"{event.id_prefix}-")
        if number.isascii() and number.isdigit():
            given = knowledge.allotted.get(event.id_prefix, 0)
            knowledge.allotted[event.id_prefix] = max(given, int(number) + 1)


EVOLVE: Evolves = {PhaseInjected: _evolve, StepInjected: _evolve}

LEARN: Learns = {PhaseInjected: record_injected, StepInjected: record_injected}


CAUSED: Events = {PhaseInjected: _injects, StepInjected: _injects}
