"""That the work on a leaf is done and only its end is to come: what a plan knows of it."""

from ..events import WorkDone
from ..state.sprint import Plan
from ..state.words import IN_PROGRESS, STOPPED


def done_work(plan: Plan, address: str) -> WorkDone | None:
    """Return that a leaf's work is done and only its end is to come, if that was said."""
    return plan.last.work.of(address)


def waits_to_go_on(plan: Plan) -> bool:
    """Tell whether work is done whose end waits until a stopped sprint goes on."""
    if plan.status not in STOPPED:
        return False
    begun = (leaf for leaf in plan.tree.leaves if leaf.status == IN_PROGRESS)
    return any(done_work(plan, leaf.address) for leaf in begun)
