"""Breakpoints: a sprint pauses for a review after a phase with `break: true`."""

from ...log.event import Event
from ..events import BreakpointReached
from ..state.tree import Node, gate_is_open
from ..state.words import COMPLETED, FINISHED, SKIPPED


def breakpoint_after(node: Node, status: str) -> list[Event]:
    """Return the breakpoint reached when a node ends so, if it completes its phase.

    `status` is what the node is about to become: `completed` or `skipped`.
    """
    while node.level > 1 and node.parent is not None:
        parent = node.parent
        words = {status, *(child.status for child in parent.children if child is not node)}
        if not words <= FINISHED:
            return []
        status = COMPLETED if COMPLETED in words else SKIPPED
        if status == COMPLETED and gate_is_open(parent.data):
            return []
        node = parent
    if status == COMPLETED and node.data.get("break") is True:
        return [BreakpointReached(node.address)]
    return []


def breakpoint_after_skipping(node: Node) -> list[Event]:
    """Return the breakpoint reached when all that is unfinished of a node is skipped."""
    if any(gate_is_open(x.data) and _is_done(x) for x in (node, *node.walk())):
        return []
    return breakpoint_after(node, COMPLETED if _is_done(node) else SKIPPED)


def _is_done(node: Node) -> bool:
    """Tell whether there is something that a gate could check."""
    return any(leaf.status == COMPLETED for leaf in node.leaves())
