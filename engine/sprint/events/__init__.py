"""Every event of a sprint: what happened, in the past participle, with its wire tag.

The tag and the field names are the contract; a class may be renamed freely. A new
field needs a default; anything else needs a step in `engine/log/upcast.py`.
"""

from ...iterations.events import ITERATION_EVENTS, Usage
from ...log.event import Event
from .gates import GateBlocked, GateChecked, GateInterrupted, GateStarted
from .goal import (
    RALPH_EVENTS,
    DynamicStepAdded,
    DynamicStepUpdated,
    GoalClaimed,
    GoalCompleted,
    GoalSet,
    HookTaskCompleted,
    HookTaskFailed,
    HookTaskRunning,
    HookTaskSpawned,
    IterationFailed,
    ReflectionStarted,
)
from .history import AUDIT_EVENTS, EditAdopted, EditObserved, ForkCreated, RolledBack
from .loop import AgentRan, IterationEnded, IterationsLimited, IterationStarted
from .phases import (
    BreakpointReached,
    HumanNeeded,
    Injection,
    InjectionPosition,
    PhaseBlocked,
    PhaseCompleted,
    PhaseFailed,
    PhaseInjected,
    PhaseReopened,
    PhaseRetried,
    PhaseSkipped,
    PhaseStarted,
    RetryScheduled,
    StepInjected,
    WorkDone,
)
from .queue import (
    QUEUE_EVENTS,
    REQUEST,
    RequestDecided,
    RequestInjection,
    RequestOrigin,
    RequestQueued,
    RequestReopened,
    RequestReturned,
)
from .snapshots import (
    BEFORE_RESTORE,
    OF_ITERATION,
    OF_MOMENT,
    SNAPSHOT_EVENTS,
    FileLeft,
    FilesRestored,
    KeptCopy,
    RestoreStarted,
    SnapshotsPruned,
    SnapshotTaken,
)
from .sprint import (
    ActivitySeen,
    NoteAdded,
    Place,
    Source,
    SprintBlocked,
    SprintCompiled,
    SprintCompleted,
    SprintImported,
    SprintInterrupted,
    SprintPaused,
    SprintReopened,
    SprintResumed,
    SprintStarted,
)

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
