"""What in an imported document contradicts our rules: reported, never changed."""

from copy import deepcopy

from .state import Plan
from .tree import Data, Node, Tree, derived_status


def contradictions(document: Data) -> list[str]:
    """Return what in a document contradicts our rules, one sentence each.

    Such a document is taken as it is (DESIGN.md section 7): figures, pointer and parents
    are derived anew from the first fact of our own on.
    """
    plan = Plan()
    plan.replace(deepcopy(document))
    plan.touched = True
    return [
        *_in_nodes(plan.tree),
        *_in_figures(document, plan.settle()),
        *_in_pointer(document, plan.settle()),
    ]


def _in_nodes(tree: Tree) -> list[str]:
    found = [
        f"{address} has no id or no status and takes no part"
        for address in sorted(tree.inert)
        if _is_by_index(address)
    ]
    for node in tree.root.walk():
        found.extend(_in_node(node))
    return found


def _in_node(node: Node) -> list[str]:
    found = []
    if node.children and (derived := derived_status(node)) != node.status:
        found.append(f"{node.address} is {node.status}, its children say {derived}")
    if node.level == 1 and "prompt" in node.data and "steps" in node.data:
        found.append(f"{node.address} has both a prompt and steps")
    if node.level == 1 and "prompt" not in node.data and "steps" not in node.data:
        found.append(f"{node.address} has neither a prompt nor steps")
    if _is_by_index(node.address):
        found.append(f"{node.address} shares its id with another one beside it")
    return found


def _in_figures(document: Data, view: Data) -> list[str]:
    stats = document.get("stats")
    given = stats if isinstance(stats, dict) else {}
    keys = ("total-phases", "completed-phases", "total-steps", "completed-steps")
    return [
        f"stats.{key} is {given[key]}, the tree says {view['stats'].get(key)}"
        for key in keys
        if key in given and given[key] != view["stats"].get(key)
    ]


def _in_pointer(document: Data, view: Data) -> list[str]:
    if document.get("current") == view["current"]:
        return []
    given, derived = _text(document.get("current")), _text(view["current"])
    return [f"current is {given}, the first open leaf is {derived}"]


def _text(pointer: object) -> str:
    if not isinstance(pointer, dict):
        return "missing"
    indices = (pointer.get(key) for key in ("phase", "step", "sub-phase"))
    return "/".join("null" if index is None else str(index) for index in indices)


def _is_by_index(address: str) -> bool:
    return address.rsplit("/", 1)[-1].startswith("#")
