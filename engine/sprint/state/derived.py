"""The settled document: whole, for a document that comes in, or one field of it alone.

Whoever follows a field through many versions pays for that field, not for all of them.
"""

from typing import Any

from .document_fields import MISSING
from .figures import figure
from .queue import QUEUE
from .sprint import Plan, Sprint


def settled(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document with the pointer and the figures of its plan."""
    plan = Plan()
    plan.replace(document)
    plan.touched = True
    return plan.derive()


def part(sprint: Sprint, key: str) -> Any:
    """Return one field of a sprint's settled document; `MISSING` when it has none."""
    plan = sprint.plan
    if key == QUEUE:
        # Its requests are kept by the knowledge, so it is more than the plan says.
        return sprint.document.get(key, MISSING)
    if plan.touched:
        plan.derive_empty()
        if key == "current":
            return plan.pointer()
        if key in ("stats", "last-activity"):
            return plan.derive().get(key, MISSING)
    return plan.document.get(key, MISSING)


def figure_of(plan: Plan, name: str) -> Any:
    """Return one figure of a plan's settled document; `MISSING` when it has none."""
    stats = plan.document.get("stats")
    if plan.touched:
        plan.derive_empty()
        return figure(name, stats, plan.tree, plan.last_at)
    return stats.get(name, MISSING) if isinstance(stats, dict) else MISSING
