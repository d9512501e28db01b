"""How far a fact reaches: which parts of a document it can change.

Whoever follows a document through its history looks only there after each fact. A fact
that is not named here can change all of it.
"""

from enum import Enum

from ..log.fact import Fact
from . import events as f
from .events import QUEUE_FACTS, RALPH_FACTS


class Reach(Enum):
    """What of a document a fact can change."""

    TOP = "top"
    """All but its phases."""
    NODE = "node"
    """Besides, the node that the fact names, and all above it."""
    WHOLE = "whole"
    """Everything, and which nodes there are."""


_TOP: tuple[type[Fact], ...] = (
    f.SprintStarted,
    f.SprintPaused,
    f.BreakpointReached,
    f.SprintBlocked,
    f.SprintInterrupted,
    f.SprintResumed,
    f.SprintCompleted,
    f.SprintReopened,
    f.ActivitySeen,
    f.IterationStarted,
    f.IterationEnded,
    f.IterationsLimited,
    f.AgentRan,
    f.NoteAdded,
    f.EditObserved,
    *RALPH_FACTS,
    *QUEUE_FACTS,
)
_NODE: tuple[type[Fact], ...] = (
    f.HumanNeeded,
    f.PhaseStarted,
    f.PhaseCompleted,
    f.PhaseFailed,
    f.RetryScheduled,
    f.PhaseBlocked,
    f.PhaseSkipped,
    f.PhaseRetried,
    f.PhaseReopened,
    f.GateStarted,
    f.GateChecked,
    f.GateInterrupted,
    f.GateBlocked,
    f.WorkDone,
)
REACHES: dict[type[Fact], Reach] = {
    **dict.fromkeys(_TOP, Reach.TOP),
    **dict.fromkeys(_NODE, Reach.NODE),
}
"""By the kind of fact. For-each phases without steps follow the pointer (P31): where a
document has some, even a fact that reaches the top alone can change their status."""
