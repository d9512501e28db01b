"""That the work on a leaf is done and only its end is to come: what a plan knows of it."""

from .facts import WorkDone
from .state import Plan


def done_work(plan: Plan, address: str) -> WorkDone | None:
    """Return that a leaf's work is done and only its end is to come, if that was said."""
    return plan.said_as(_key(address), WorkDone)


def keep_done(plan: Plan, fact: WorkDone) -> None:
    """Keep that the work on a leaf is done."""
    plan.say(_key(fact.phase), fact)


def forget_done(plan: Plan, address: str) -> None:
    """Forget it, since the work begins."""
    plan.said.pop(_key(address), None)


def _key(address: str) -> str:
    # No address holds a control character, so this one is nobody else's.
    return f"\nwork\n{address}"
