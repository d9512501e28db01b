"""What is left to try: retries of a leaf, of an iteration, checks of a gate.

The figures of a document go on for ever. A budget counts from where a person stepped in
last, since who resolves a matter wants it tried again.
"""

from ..state.given import count_of
from ..state.sprint import Plan
from ..state.tree import Node, gate_is_open


def retries_used(plan: Plan, leaf: Node) -> int:
    """Return how often a leaf was retried since a person stepped in."""
    return max(count_of(leaf.data, "retry-count") - plan.retried.get(leaf.address, 0), 0)


def renew(plan: Plan, node: Node) -> None:
    """Give a leaf all of its retries again, and its gate and those above their checks."""
    if count := count_of(node.data, "retry-count"):
        plan.retried[node.address] = count
    for one in (node, *node.above()):
        _renew_gate(plan, one)


def renew_all(plan: Plan) -> None:
    """Do so with the whole plan: a person resolved what it was stuck at."""
    for node in plan.tree.root.walk():
        if node.leaf >= 0 and (count := count_of(node.data, "retry-count")):
            plan.retried[node.address] = count
        _renew_gate(plan, node)
    plan.turns.forgiven = plan.turns.failures


def _renew_gate(plan: Plan, node: Node) -> None:
    tracking = node.data.get("gate-tracking")
    if gate_is_open(node.data) and isinstance(tracking, dict):
        plan.renewed[node.address] = True
