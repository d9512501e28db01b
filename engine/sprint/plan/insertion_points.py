"""The conversion of a requested position to an insertion point in a plan."""

from typing import NamedTuple

from ...errors import RefusedError
from ..events import Injection, InjectionPosition
from ..phases.leaves import check_word
from ..state import transitions, words
from ..state.sprint import Plan, Sprint
from ..state.tree import Node

AFTER_CURRENT = "after-current"
END_OF_PHASE = "end-of-phase"
END_OF_WORKFLOW = "end-of-workflow"
BESIDE = ("after", "before")
POSITIONS = (AFTER_CURRENT, *BESIDE, END_OF_PHASE, END_OF_WORKFLOW)

TOP, STEP, SUB_PHASE = 1, 2, 3
"""The levels of a plan, numbered as in `Node.level`."""


def parse_position(text: str) -> InjectionPosition | None:
    """Return the position in a text such as `after:build`, or None if it is invalid."""
    kind, _, ref = text.partition(":")
    return InjectionPosition(kind, ref or None) if kind in POSITIONS else None


class Spot(NamedTuple):
    """An insertion point: next to a node, or after the last child of the node `into`."""

    holder: tuple[int, ...]
    """The indices of the parent, from the root."""
    into: str
    """The parent's address."""
    after: str | None = None
    before: str | None = None

    @property
    def level(self) -> int:
        """Return the level of the inserted nodes."""
        return len(self.holder) + 1


def spot_of_phases(
    sprint: Sprint, position: InjectionPosition, *, is_for_each: bool
) -> Spot:
    """Return the insertion point for phases; for-each phases belong at the top level."""
    leaf = sprint.plan.pointed()
    if spot := _named_spot(sprint, position, leaf):
        return spot
    if position.type == END_OF_WORKFLOW or leaf is None:
        return Spot((), "")
    return _behind(sprint.plan, ancestor(leaf, TOP) if is_for_each else leaf)


def spot_of_steps(sprint: Sprint, position: InjectionPosition) -> Spot:
    """Return the insertion point for steps; the caller must check its level."""
    leaf = sprint.plan.pointed()
    if spot := _named_spot(sprint, position, leaf):
        return spot
    if position.type == END_OF_WORKFLOW:
        return _last_open(sprint.plan)
    return _behind(sprint.plan, ancestor(leaf, STEP)) if leaf else Spot((), "")


def _last_open(plan: Plan) -> Spot:
    """Return the end of the last unfinished phase that has steps."""
    tops = [top for top in plan.tree.root.children if "steps" in top.data]
    if not tops:
        return Spot((), "")
    last = next((top for top in reversed(tops) if top.status not in words.FINISHED), None)
    if last is None:
        last = tops[-1]
        raise RefusedError(
            f"phase {last.address} is {last.status}, and no other phase accepts a step",
            hint=f"use end-of-phase:{last.address} to reopen it, or `sprintlog phase "
            "inject --prompt TEXT --position end-of-workflow` to add work after it",
            field="position",
            phase=last.address,
            state=last.status,
        )
    return Spot(last.place, last.address)


def _named_spot(
    sprint: Sprint, position: InjectionPosition, leaf: Node | None
) -> Spot | None:
    """Return the insertion point if the position alone determines it, or None."""
    check_word("position", position.type, POSITIONS)
    takes_ref = position.type in (*BESIDE, END_OF_PHASE)
    if (position.type in BESIDE and not position.ref) or (position.ref and not takes_ref):
        raise RefusedError(
            f"position {position.type}: "
            f"{'accepts no address' if position.ref else 'requires a phase address'}",
            field="position",
        )
    if not takes_ref:
        return None
    if position.ref:
        node = transitions.find_node(sprint, position.ref)
    elif leaf is not None:
        node = ancestor(leaf, TOP)
    else:
        return None
    into, holder = node.address.rpartition("/")[0], node.place[:-1]
    if position.type == "before":
        return Spot(holder, into, before=node.address)
    if position.type == END_OF_PHASE and (node.children or node.is_empty):
        return Spot(node.place, node.address)
    return Spot(holder, into, after=node.address)


def _behind(plan: Plan, node: Node) -> Spot:
    """Return the point after a node and after earlier insertions at the same position.

    Nodes inserted after the current node are therefore processed in order of insertion.
    """
    if not node.place:
        return Spot((), "")
    into = node.address.rpartition("/")[0]
    prefix = f"{into}/" if into else ""
    behind: Node | None = node
    while behind is not None:
        node = behind
        behind = plan.tree.find(f"{prefix}#{node.place[-1] + 1}")
        if behind is not None and not _waits(plan, behind):
            behind = None
    return Spot(node.place[:-1], into, after=node.address)


def _waits(plan: Plan, node: Node) -> bool:
    """Return whether a node was inserted after the current node and is unchanged."""
    last = plan.last.nodes.of(node.address)
    return isinstance(last, Injection) and last.position.type == AFTER_CURRENT


def ancestor(node: Node, level: int) -> Node:
    """Return the ancestor of a node at a level, or the node itself."""
    while node.level > level and node.parent is not None:
        node = node.parent
    return node
