"""What is left to try: retries of a leaf, of an iteration, checks of a gate.

The figures of a document go on for ever. A budget counts from where a person stepped in
last, since who resolves a matter wants it tried again.
"""

from ..state.given import count_of
from ..state.sprint import Plan
from ..state.tree import Node, gate_is_open
from ..state.turns import LimitWait


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


def is_waiting(plan: Plan, now: str) -> bool:
    """Return whether a wait for a limit, or for another attempt, is in force."""
    waiting, leaf = plan.waiting, plan.tree.open_leaf()
    if waiting is not None and waiting.holds(now):
        return True
    due = plan.turns.due if leaf is None else leaf.data.get("next-retry-at")
    return isinstance(due, str) and LimitWait(now, due).holds(now)


def end_waits(plan: Plan, at: str) -> None:
    """End every wait: the work is due at this time."""
    plan.turns.due = None
    if plan.waiting is not None:
        # It is remembered: the waits in a row go on from it.
        plan.waiting.until = at
    leaf = plan.tree.open_leaf()
    if leaf is not None and "next-retry-at" in leaf.data:
        leaf.data["next-retry-at"] = at


def _renew_gate(plan: Plan, node: Node) -> None:
    tracking = node.data.get("gate-tracking")
    if gate_is_open(node.data) and isinstance(tracking, dict):
        plan.renewed[node.address] = True
