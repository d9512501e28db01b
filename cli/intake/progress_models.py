"""PROGRESS.yaml as its two documents specify it; its JSON Schema is made from this.

Every field of progress-yaml-reference and progress-yaml-schema is here. Unknown keys
are allowed and kept; known ones must have their type and their word list.
"""

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from sprintlog.engine.sprint.compile.settings import KEPT

from .fields import (
    Count,
    DecisionWord,
    Deferral,
    Flag,
    GateStatus,
    HookTaskStatus,
    Identity,
    Mode,
    Model,
    Moment,
    Open,
    PhaseStatus,
    Priority,
    RequestStatus,
    RequestType,
    SprintStatus,
    Text,
)


class CompiledGate(Open):
    """CompiledGate; an authored gate has its prompt under `on-fail` (SPR-101)."""

    script: Text
    on_fail_prompt: Text | None = None
    on_fail: dict[str, Any] | None = None
    max_retries: Count = 3
    timeout: Annotated[float, Field(gt=0, strict=True)] | Text = 60


class GateTracking(Open):
    """GateTracking: the run-time state of a gate."""

    attempts: Count | None = None
    status: GateStatus | None = None
    last_output: Text | None = None
    last_exit_code: Annotated[int, Field(strict=True)] | None = None
    error: Text | None = None


class HumanNeededReason(Open):
    """The problem that a person has to resolve."""

    reason: Text
    details: Text | None = None


class CompiledNode(Open):
    """The fields that phases, steps and sub-phases share.

    `id` and `status` may be missing in documents other tools left behind: such a node
    is inert.
    """

    known_beside: ClassVar[tuple[str, ...]] = (
        *("parallel", "wait-for-parallel", "depends-on", "description", "error-category"),
        *("commit", "name", "workflow"),
    )

    id: Identity | None = None
    status: PhaseStatus | None = None
    prompt: Text | None = None
    model: Model | None = None
    started_at: Moment = None
    completed_at: Moment = None
    elapsed: Text | None = None
    summary: Text | None = None
    error: Text | None = None
    retry_count: Count | None = None
    next_retry_at: Moment = None
    injected: Flag | None = None
    injected_at: Moment = None
    human_needed: HumanNeededReason | None = None
    gate: CompiledGate | None = None
    gate_tracking: GateTracking | None = None


class SubPhase(CompiledNode):
    """CompiledPhase."""


class CompiledStep(CompiledNode):
    """CompiledStep."""

    phases: list[SubPhase] | None = None


class CompiledTopPhase(CompiledNode):
    """CompiledTopPhase: simple with a prompt, or for-each with steps."""

    steps: list[CompiledStep] | None = None
    break_: Flag | None = None


class CurrentPointer(Open):
    """CurrentPointer: the indices of the current phase, step and sub-phase."""

    phase: Count
    step: Count | None = None
    sub_phase: Count | None = None


class SprintStats(Open):
    """SprintStats: times, counters and iteration figures."""

    started_at: Moment = None
    completed_at: Moment = None
    total_phases: Count | None = None
    completed_phases: Count | None = None
    total_steps: Count | None = None
    completed_steps: Count | None = None
    elapsed: Text | None = None
    current_iteration: Count | None = None
    max_iterations: Count | None = None


class OperatorDecision(BaseModel):
    """OperatorDecision; its keys are camel case in the document."""

    model_config = ConfigDict(extra="allow", frozen=True)

    decision: DecisionWord
    reasoning: Text
    injection: dict[str, Any] | None = None
    deferredUntil: Text | None = None  # noqa: N815
    rejectionReason: Text | None = None  # noqa: N815


class QueuedRequest(Open):
    """QueuedRequest: an entry of the operator queue."""

    id: Identity
    title: Text
    description: Text | None = None
    priority: Priority
    type: RequestType
    status: RequestStatus
    created_at: Moment = None
    discovered_in: Text | None = None
    decided_at: Moment = None
    decision: OperatorDecision | None = None
    rejection_reason: Text | None = None
    deferred_until: Deferral | None = None
    context: dict[str, Any] | None = None


class Ralph(Open):
    """Settings of Ralph mode."""

    idle_threshold: Count = 3
    min_iterations: Count | None = None


class RalphHook(Open):
    """A per-iteration hook."""

    id: Identity
    workflow: Text | None = None
    prompt: Text | None = None
    command: Text | None = None
    parallel: Flag | None = None
    enabled: Flag | None = None


class DynamicStep(Open):
    """A step added by the agent during the run."""

    id: Identity
    prompt: Text
    status: PhaseStatus
    added_at: Moment = None
    added_in_iteration: Count | None = None


class HookTask(Open):
    """One execution of a per-iteration hook."""

    iteration: Count
    hook_id: Identity
    status: HookTaskStatus
    pid: Count | None = None
    transcript: Text | None = None


class RalphExit(Open):
    """Detection of the goal's completion."""

    detected_at: Moment = None
    iteration: Count | None = None
    final_summary: Text | None = None


class Phases(Open):
    """Top phases by themselves."""

    phases: list[CompiledTopPhase]


class Steps(Open):
    """Steps by themselves."""

    steps: list[CompiledStep]


class CompiledPlan(Open):
    """A compiled plan: a PROGRESS.yaml in which nothing has happened yet."""

    known_beside: ClassVar[tuple[str, ...]] = (
        *KEPT,
        *("retry", "goal-prompt", "reflection-prompt", "parallel-tasks", "step-queue"),
        *("human-needed", "name", "description", "created", "owner"),
    )

    sprint_id: Identity | None = None
    status: SprintStatus | None = None
    mode: Mode | None = None
    goal: Text | None = None
    phases: list[CompiledTopPhase] | None = None
    current: CurrentPointer | None = None
    stats: SprintStats | None = None
    operator_queue: list[QueuedRequest] | None = None
    last_activity: Moment = None
    ralph: Ralph | None = None
    per_iteration_hooks: list[RalphHook] | None = None
    dynamic_steps: list[DynamicStep] | None = None
    hook_tasks: list[HookTask] | None = None
    ralph_exit: RalphExit | None = None


class Progress(CompiledPlan):
    """PROGRESS.yaml."""

    sprint_id: Identity
    status: SprintStatus
