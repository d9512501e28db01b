"""All events, and the types of their fields; `decode` decodes a recorded event."""

from .engine.journal.events import (
    EntryRecorded as EntryRecorded,
    JournalCorrected as JournalCorrected,
    JournalMoved as JournalMoved,
    JournalOpened as JournalOpened,
    JournalRaised as JournalRaised,
    LearningAdded as LearningAdded,
    LearningReferenced as LearningReferenced,
    LearningRetired as LearningRetired,
    PatternDiscovered as PatternDiscovered,
)
from .engine.journal.parts import (
    Context as Context,
    Entry as Entry,
    Learning as Learning,
    Observation as Observation,
    Pattern as Pattern,
)
from .engine.judging.events import (
    ArtifactsApplied as ArtifactsApplied,
    BaselineCaptured as BaselineCaptured,
    BaselineReplaced as BaselineReplaced,
    BestAnew as BestAnew,
    BestSelected as BestSelected,
    InstrumentsAccepted as InstrumentsAccepted,
    IterationDescribed as IterationDescribed,
    IterationMeasured as IterationMeasured,
    MeasurementChanged as MeasurementChanged,
    MeasurementFailed as MeasurementFailed,
    MeasurementRetracted as MeasurementRetracted,
    Metrics as Metrics,
    RecommendationGiven as RecommendationGiven,
    RulesSet as RulesSet,
)
from .engine.judging.loop_rules import (
    LoopRules as LoopRules,
    MeasureRules as MeasureRules,
    OwnMetric as OwnMetric,
    Thresholds as Thresholds,
    Weights as Weights,
)
from .engine.judging.parts import (
    ChangedInstrument as ChangedInstrument,
    KeptReport as KeptReport,
    MeasuringRun as MeasuringRun,
    Origin as Origin,
)
from .engine.log.envelope import RecordedEvent as RecordedEvent, Span as Span
from .engine.log.erasures import PayloadErased as PayloadErased
from .engine.log.event import Event as Event, Kind as Kind
from .engine.races import (
    AttemptApplied as AttemptApplied,
    AttemptEnded as AttemptEnded,
    AttemptRemoved as AttemptRemoved,
    AttemptStarted as AttemptStarted,
    Entrant as Entrant,
    RaceDecided as RaceDecided,
    RaceStarted as RaceStarted,
    Ranked as Ranked,
)
from .engine.sessions.events import (
    ContextCompacted as ContextCompacted,
    PromptGiven as PromptGiven,
    SessionEnded as SessionEnded,
    SessionStarted as SessionStarted,
    SubagentEnded as SubagentEnded,
    SubagentStarted as SubagentStarted,
    ToolCalled as ToolCalled,
    TouchedFile as TouchedFile,
    TurnEnded as TurnEnded,
)
from .engine.sprint.events.gates import (
    GateBlocked as GateBlocked,
    GateChecked as GateChecked,
    GateInterrupted as GateInterrupted,
    GateRepaired as GateRepaired,
    GateStarted as GateStarted,
)
from .engine.sprint.events.goal import (
    ClaimAccepted as ClaimAccepted,
    ClaimRefused as ClaimRefused,
    ClaimReviewed as ClaimReviewed,
    DynamicStepAdded as DynamicStepAdded,
    DynamicStepUpdated as DynamicStepUpdated,
    GoalClaimed as GoalClaimed,
    GoalCompleted as GoalCompleted,
    GoalSet as GoalSet,
    HookTaskCompleted as HookTaskCompleted,
    HookTaskFailed as HookTaskFailed,
    HookTaskRunning as HookTaskRunning,
    HookTaskSpawned as HookTaskSpawned,
    IterationFailed as IterationFailed,
    ReflectionStarted as ReflectionStarted,
)
from .engine.sprint.events.history import (
    EditAdopted as EditAdopted,
    EditObserved as EditObserved,
    ForkCreated as ForkCreated,
    RolledBack as RolledBack,
)
from .engine.sprint.events.loop import (
    AgentRan as AgentRan,
    BudgetWarned as BudgetWarned,
    Budgets as Budgets,
    BudgetsSet as BudgetsSet,
    GitState as GitState,
    IterationEnded as IterationEnded,
    IterationStarted as IterationStarted,
    IterationsLimited as IterationsLimited,
    Limit as Limit,
    Price as Price,
    RunEnded as RunEnded,
    RunStarted as RunStarted,
    Took as Took,
    TurnFacts as TurnFacts,
)
from .engine.sprint.events.phases import (
    BreakpointReached as BreakpointReached,
    HumanNeeded as HumanNeeded,
    InjectionPosition as InjectionPosition,
    PhaseBlocked as PhaseBlocked,
    PhaseCompleted as PhaseCompleted,
    PhaseFailed as PhaseFailed,
    PhaseInjected as PhaseInjected,
    PhaseReopened as PhaseReopened,
    PhaseRetried as PhaseRetried,
    PhaseSkipped as PhaseSkipped,
    PhaseStarted as PhaseStarted,
    RetryScheduled as RetryScheduled,
    StepInjected as StepInjected,
    WorkDone as WorkDone,
)
from .engine.sprint.events.queue import (
    RequestDecided as RequestDecided,
    RequestInjection as RequestInjection,
    RequestOrigin as RequestOrigin,
    RequestQueued as RequestQueued,
    RequestReopened as RequestReopened,
    RequestReturned as RequestReturned,
)
from .engine.sprint.events.snapshots import (
    FileLeft as FileLeft,
    FilesRestored as FilesRestored,
    KeptCopy as KeptCopy,
    RestoreStarted as RestoreStarted,
    SnapshotRewritten as SnapshotRewritten,
    SnapshotTaken as SnapshotTaken,
    SnapshotsPruned as SnapshotsPruned,
)
from .engine.sprint.events.sprint import (
    ActivitySeen as ActivitySeen,
    NoteAcknowledged as NoteAcknowledged,
    NoteAdded as NoteAdded,
    NoteDelivered as NoteDelivered,
    Place as Place,
    Source as Source,
    SprintBlocked as SprintBlocked,
    SprintCompiled as SprintCompiled,
    SprintCompleted as SprintCompleted,
    SprintImported as SprintImported,
    SprintInterrupted as SprintInterrupted,
    SprintPaused as SprintPaused,
    SprintReopened as SprintReopened,
    SprintResumed as SprintResumed,
    SprintStarted as SprintStarted,
)
from .engine.usage import ModelCall as ModelCall, Usage as Usage
from .engine.service.streams.catalogue import CODEC

decode = CODEC.decode
"""Return the event of a `RecordedEvent`; raise `UnreadableError` if it is damaged."""
