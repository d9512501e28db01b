"""All commands: requests, as data, that `handle` turns into events.

The most common commands are `CreateSprint`, `StartSprint`, `StartPhase`, `CompletePhase`,
`FailPhase`, `RetryPhase`, `SkipPhase`, `StartIteration`, `EndIteration`, `AddNote`,
`CompleteSprint`, and `RollBack(to)`, which goes back to a version of the sprint's stream.
If an optional phase is omitted, the phase at the pointer is used. Use `help()` on a command
to list its fields.
"""

from .engine.command import Command as Command
from .engine.journal.rules import (
    AddExtractedLearnings as AddExtractedLearnings,
    AddLearning as AddLearning,
    DiscoverPattern as DiscoverPattern,
    HandOverLearnings as HandOverLearnings,
    OpenJournal as OpenJournal,
    RecordEntry as RecordEntry,
    ReferenceLearning as ReferenceLearning,
    RetireLearning as RetireLearning,
)
from .engine.judging.loop_rules import LoopChange as LoopChange
from .engine.sprint.agent.runs import (
    EndRepair as EndRepair,
    EndRun as EndRun,
    EndTurn as EndTurn,
    RecordRun as RecordRun,
    ReportWork as ReportWork,
    StartRepair as StartRepair,
    StartRun as StartRun,
    StartTurn as StartTurn,
    TakeSaid as TakeSaid,
)
from .engine.sprint.answers.items import (
    SaidItems as SaidItems,
    SaidLearning as SaidLearning,
    SaidRequest as SaidRequest,
)
from .engine.sprint.answers.verdict import Verdict as Verdict
from .engine.sprint.iterations.budgets import (
    ChangeBudgets as ChangeBudgets,
    WarnOfBudgets as WarnOfBudgets,
)
from .engine.sprint.iterations.claims import (
    DecideClaim as DecideClaim,
    RecordReview as RecordReview,
)
from .engine.sprint.iterations.decisions import (
    AcceptInstruments as AcceptInstruments,
    ApplyArtifacts as ApplyArtifacts,
    ChangeRules as ChangeRules,
    GiveRecommendation as GiveRecommendation,
    GoOn as GoOn,
    ReplaceBaseline as ReplaceBaseline,
    RetractMeasurement as RetractMeasurement,
    SelectBest as SelectBest,
    SetRules as SetRules,
)
from .engine.sprint.iterations.described import DescribeIteration as DescribeIteration
from .engine.sprint.iterations.goal import (
    CompleteGoal as CompleteGoal,
    FailIteration as FailIteration,
    SetGoal as SetGoal,
)
from .engine.sprint.iterations.hook_tasks import (
    CompleteHook as CompleteHook,
    FailHook as FailHook,
    RunHook as RunHook,
    SpawnHook as SpawnHook,
)
from .engine.sprint.iterations.loop import (
    EndIteration as EndIteration,
    EndWrapped as EndWrapped,
    LimitIterations as LimitIterations,
    StartIteration as StartIteration,
    StartWrapped as StartWrapped,
)
from .engine.sprint.iterations.measurement import (
    CaptureBaseline as CaptureBaseline,
    EndMeasuredIteration as EndMeasuredIteration,
    FailMeasurement as FailMeasurement,
    MeasureIteration as MeasureIteration,
)
from .engine.sprint.iterations.rollback import (
    Redo as Redo,
    RollBack as RollBack,
    Undo as Undo,
)
from .engine.sprint.iterations.run_record import (
    BeginRun as BeginRun,
    FinishRun as FinishRun,
    LoseRun as LoseRun,
)
from .engine.sprint.iterations.snapshots import (
    EndRestore as EndRestore,
    GiveRestoreUp as GiveRestoreUp,
    PruneSnapshots as PruneSnapshots,
    StartRestore as StartRestore,
    TakeSnapshot as TakeSnapshot,
)
from .engine.sprint.phases.gate import GateResult as GateResult
from .engine.sprint.phases.gate_checks import (
    CheckGate as CheckGate,
    InterruptGate as InterruptGate,
    RecordGate as RecordGate,
    RepairGate as RepairGate,
    StartGate as StartGate,
)
from .engine.sprint.phases.leaves import (
    BlockPhase as BlockPhase,
    CompletePhase as CompletePhase,
    EndWork as EndWork,
    FailPhase as FailPhase,
    ReopenPhase as ReopenPhase,
    RetryPhase as RetryPhase,
    SkipPhase as SkipPhase,
    StartPhase as StartPhase,
)
from .engine.sprint.phases.lifecycle import (
    AddNote as AddNote,
    BlockSprint as BlockSprint,
    CompleteSprint as CompleteSprint,
    InterruptSprint as InterruptSprint,
    NeedHuman as NeedHuman,
    PauseSprint as PauseSprint,
    RecordHeartbeat as RecordHeartbeat,
    ReopenSprint as ReopenSprint,
    ResumeSprint as ResumeSprint,
    StartSprint as StartSprint,
)
from .engine.sprint.phases.waits import ScheduleRetry as ScheduleRetry
from .engine.sprint.plan.adoption import AdoptEdit as AdoptEdit
from .engine.sprint.plan.create import (
    CreateSprint as CreateSprint,
    ImportDocument as ImportDocument,
)
from .engine.sprint.plan.goal_steps import AddStep as AddStep, UpdateStep as UpdateStep
from .engine.sprint.plan.injection import (
    InjectPhases as InjectPhases,
    InjectSteps as InjectSteps,
)
from .engine.sprint.plan.recompile import TakePlan as TakePlan
from .engine.sprint.queue.decisions import (
    ApproveRequest as ApproveRequest,
    BacklogRequest as BacklogRequest,
    DeferRequest as DeferRequest,
    RejectRequest as RejectRequest,
    ReopenRequest as ReopenRequest,
)
from .engine.sprint.queue.requests import (
    QueueRequests as QueueRequests,
    SubmittedRequest as SubmittedRequest,
    TakeOverRequest as TakeOverRequest,
)
