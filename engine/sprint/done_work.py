"""That the work on a leaf is done and only its end is to come: what a plan knows of it."""

import msgspec

from .facts import WorkDone
from .state import Plan


def done_work(plan: Plan, address: str) -> WorkDone | None:
    """Return that a leaf's work is done and only its end is to come, if that was said."""
    said = plan.said.get(_key(address))
    if isinstance(said, tuple):
        return msgspec.convert(said[1], WorkDone)
    return said if isinstance(said, WorkDone) else None


def keep_done(plan: Plan, fact: WorkDone) -> None:
    """Keep that the work on a leaf is done."""
    plan.say(_key(fact.phase), fact)


def forget_done(plan: Plan, address: str) -> None:
    """Forget it, since the work begins."""
    plan.said.pop(_key(address), None)


def _key(address: str) -> str:
    # No address holds a control character, so this one is nobody else's.
    return f"\nwork\n{address}"
