"""What agents took, added up over all their runs: the knowledge's part."""

from ..events import AgentRan
from .sprint import Knowledge, Spent

_COUNTED = [n for n in Spent.__struct_fields__ if n not in ("runs", "duration_ms")]


def record_spent(knowledge: Knowledge, event: AgentRan, version: int) -> None:
    """Add what a run took to what all of them took."""
    spent, used = knowledge.spent, event.usage
    spent.runs += 1
    spent.duration_ms += event.duration_ms or 0
    for name in _COUNTED:
        if (value := getattr(used, name, None)) is not None:
            setattr(spent, name, (getattr(spent, name) or 0) + value)
