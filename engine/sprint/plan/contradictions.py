"""What in an imported document contradicts our rules: reported, never changed."""

from copy import deepcopy

from ...errors import InvalidInputError
from ..gates.gate import gate_problems
from ..state.derived import settled
from ..state.document_fields import list_of, mapping_of
from ..state.times import parse
from ..state.tree import Data, Node, Tree, derived_status

_TIMES = ("started-at", "completed-at", "next-retry-at", "injected-at")


def contradictions(document: Data) -> list[str]:
    """Return what in a document contradicts our rules, one sentence each.

    Such a document is imported unchanged (SPR-170): figures, pointer and parents are
    derived from the first event that sprintlog records itself.
    """
    view = settled(deepcopy(document))
    return [
        *_in_nodes(Tree(document)),
        *_in_hooks(document),
        *_in_times(document, "", ("last-activity",)),
        *_in_times(mapping_of(document, "stats"), "stats.", _TIMES),
        *_in_figures(document, view),
        *_in_pointer(document, view),
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
    if _leads_elsewhere(identity := node.data["id"]):
        found.append(f"{node.address} has an id that would lead elsewhere: {identity}")
    if _has_nul(node.data.get("prompt")):
        found.append(f"{node.address} has a prompt with a NUL, which no agent can be given")
    if isinstance(gate := node.data.get("gate"), dict):
        found.extend(
            f"{node.address} has a gate whose {field} counts as not given: it {problem}"
            for field, problem in gate_problems(gate)
        )
    return [*found, *_in_times(node.data, f"{node.address}.", _TIMES)]


def _in_hooks(document: Data) -> list[str]:
    return [
        f"hook {hook.get('id')} has a {key} with a NUL, which no program can be given"
        for hook in list_of(document, "per-iteration-hooks")
        for key in ("command", "prompt")
        if isinstance(hook, dict) and _has_nul(hook.get(key))
    ]


def _in_times(data: Data, where: str, fields: tuple[str, ...]) -> list[str]:
    return [
        f"{where}{field} is {data[field][:40]!r}, which is no time"
        for field in fields
        if isinstance(data.get(field), str) and not _is_time(data[field])
    ]


def _is_time(text: str) -> bool:
    try:
        parse(text)
    except InvalidInputError:
        return False
    return True


def _has_nul(text: object) -> bool:
    return isinstance(text, str) and "\0" in text


def _leads_elsewhere(identity: str) -> bool:
    return identity in (".", "..") or "/" in identity or "\\" in identity


def _in_figures(document: Data, view: Data) -> list[str]:
    given = mapping_of(document, "stats")
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
