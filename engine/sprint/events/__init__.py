"""Every event of a sprint: what happened, in the past participle, with its wire tag.

The tag and the field names are the contract; a class may be renamed freely. A new
field needs a default; anything else needs a step in `engine/log/upcast.py`.
"""

from ...iterations.events import ITERATION_FACTS, Usage
from ...log.fact import Fact
from .gates import GateBlocked, GateChecked, GateInterrupted, GateStarted
from .goal import (
    RALPH_FACTS,
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
from .history import AUDIT_FACTS, EditAdopted, EditObserved, ForkCreated, RolledBack
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
    QUEUE_FACTS,
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
    SNAPSHOT_FACTS,
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

FACTS: tuple[type[Fact], ...] = (
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
    *RALPH_FACTS,
    *SNAPSHOT_FACTS,
    *QUEUE_FACTS,
    *ITERATION_FACTS,
    *AUDIT_FACTS,
)
