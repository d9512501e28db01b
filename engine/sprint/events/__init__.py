"""Every event of a sprint: what happened, in the past participle, with its wire tag.

The tag and the field names are the contract; a class may be renamed freely. A new
field needs a default; anything else needs a step in `engine/log/upcast.py`.
"""

from ...iterations.events import ITERATION_EVENTS, Usage
from ...log.event import Event
from .gates import *
from .goal import *
from .history import *
from .loop import *
from .phases import *
from .queue import *
from .snapshots import *
from .sprint import *

EVENTS: tuple[type[Event], ...] = (
    SprintCompiled,
    SprintImported,
    SprintStarted,
    SprintPaused,
    BreakpointReached,
    SprintBlocked,
    HumanNeeded,
    SprintInterrupted,
    SprintResumed,
    SprintCompleted,
    SprintReopened,
    ActivitySeen,
    PhaseStarted,
    PhaseCompleted,
    PhaseFailed,
    RetryScheduled,
    PhaseBlocked,
    PhaseSkipped,
    PhaseRetried,
    PhaseReopened,
    PhaseInjected,
    StepInjected,
    GateStarted,
    GateChecked,
    GateInterrupted,
    GateBlocked,
    AgentRan,
    WorkDone,
    IterationStarted,
    IterationEnded,
    IterationsLimited,
    RolledBack,
    EditObserved,
    NoteAdded,
    *RALPH_EVENTS,
    *SNAPSHOT_EVENTS,
    *QUEUE_EVENTS,
    *ITERATION_EVENTS,
    *AUDIT_EVENTS,
)
