"""What has ended: top phases of a plan, and the sprint."""

from ..state.sprint import Plan
from ..state.tree import gate_is_open
from ..state.words import COMPLETED, FINISHED, SKIPPED


def has_ended(plan: Plan) -> bool:
    """Tell whether nothing is left to do; in Ralph mode the goal says so, not phases."""
    if plan.status == COMPLETED:
        return True
    tree = plan.tree
    return tree.leaf_count > 0 and not plan.is_ralph and tree.open_leaf() is None


def finished_phases(plan: Plan) -> set[str]:
    """Return the addresses of the top phases that nothing is left of.

    One that the pointer passes over never was anything.
    """
    return {
        phase.address
        for phase in plan.tree.root.children
        if not phase.is_passed_over
        and phase.status in FINISHED
        and (phase.status == SKIPPED or not gate_is_open(phase.data))
    }
