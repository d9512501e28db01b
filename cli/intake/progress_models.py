"""PROGRESS.yaml as its two documents specify it; its JSON Schema is made from this.

Every field of progress-yaml-reference and progress-yaml-schema is here. Unknown keys
are allowed and kept; known ones must have their type and their word list.
"""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from sprintlog.engine.sprint import words

Text = Annotated[str, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(strict=True, ge=0)]
Identity = Annotated[str, Field(strict=True, min_length=1, max_length=128)]
Moment = Text | None


class _OneOf:
    """Accepts one of some words, and says which when it is another."""

    def __init__(self, allowed: tuple[str, ...]) -> None:
        self._allowed = allowed

    def __call__(self, word: str) -> str:
        if word not in self._allowed:
            raise PydanticCustomError(
                "word",
                "{word} is unknown; allowed: {allowed}",
                {"word": repr(word[:40]), "allowed": ", ".join(self._allowed)},
            )
        return word


SprintStatus = Annotated[
    str,
    Field(strict=True),
    AfterValidator(_OneOf(words.SPRINT_STATUSES)),
    WithJsonSchema({"enum": list(words.SPRINT_STATUSES)}),
]
PhaseStatus = Annotated[
    str,
    Field(strict=True),
    AfterValidator(_OneOf(words.PHASE_STATUSES)),
    WithJsonSchema({"enum": list(words.PHASE_STATUSES)}),
]
Model = Annotated[
    str,
    Field(strict=True),
    AfterValidator(_OneOf(words.MODELS)),
    WithJsonSchema({"enum": list(words.MODELS)}),
]
GateStatus = Annotated[
    str,
    Field(strict=True),
    AfterValidator(_OneOf(words.GATE_STATUSES)),
    WithJsonSchema({"enum": list(words.GATE_STATUSES)}),
]
DecisionWord = Annotated[
    str,
    Field(strict=True),
    AfterValidator(_OneOf(words.DECISIONS)),
    WithJsonSchema({"enum": list(words.DECISIONS)}),
]
Priority = Annotated[
    str,
    Field(strict=True),
    AfterValidator(_OneOf(words.PRIORITIES)),
    WithJsonSchema({"enum": list(words.PRIORITIES)}),
]
RequestType = Annotated[
    str,
    Field(strict=True),
    AfterValidator(_OneOf(words.REQUEST_TYPES)),
    WithJsonSchema({"enum": list(words.REQUEST_TYPES)}),
]
RequestStatus = Annotated[
    str,
    Field(strict=True),
    AfterValidator(_OneOf(words.REQUEST_STATUSES)),
    WithJsonSchema({"enum": list(words.REQUEST_STATUSES)}),
]
Deferral = Annotated[
    str,
    Field(strict=True),
    AfterValidator(_OneOf(words.DEFERRALS)),
    WithJsonSchema({"enum": list(words.DEFERRALS)}),
]
HookTaskStatus = Annotated[
    str,
    Field(strict=True),
    AfterValidator(_OneOf(words.HOOK_TASK_STATUSES)),
    WithJsonSchema({"enum": list(words.HOOK_TASK_STATUSES)}),
]
Mode = Annotated[
    str,
    Field(strict=True),
    AfterValidator(_OneOf(words.MODES)),
    WithJsonSchema({"enum": list(words.MODES)}),
]


def _kebab(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


class Open(BaseModel):
    """A mapping that keeps the keys no schema names."""

    model_config = ConfigDict(
        extra="allow", alias_generator=_kebab, protected_namespaces=(), frozen=True
    )


class Gate(Open):
    """CompiledGate (R35-R38); as authored, the prompt stands under `on-fail` (P45)."""

    script: Text
    on_fail_prompt: Text | None = None
    on_fail: dict[str, Any] | None = None
    max_retries: Count = 3
    timeout: Annotated[float, Field(gt=0)] = 60


class GateTracking(Open):
    """GateTracking (R39-R43)."""

    attempts: Count | None = None
    status: GateStatus | None = None
    last_output: Text | None = None
    last_exit_code: Annotated[int, Field(strict=True)] | None = None
    error: Text | None = None


class HumanNeeded(Open):
    """What a person has to resolve (R140)."""

    reason: Text
    details: Text | None = None


class Node(Open):
    """What phases, steps and sub-phases share (R96-R111).

    `id` and `status` may be missing in documents other tools left behind: such a node
    is inert.
    """

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
    human_needed: HumanNeeded | None = None
    gate: Gate | None = None
    gate_tracking: GateTracking | None = None


class SubPhase(Node):
    """CompiledPhase."""


class Step(Node):
    """CompiledStep."""

    phases: list[SubPhase] | None = None


class TopPhase(Node):
    """CompiledTopPhase: simple with a prompt, or for-each with steps."""

    steps: list[Step] | None = None
    break_: Flag | None = None


class Pointer(Open):
    """CurrentPointer (R26-R28)."""

    phase: Count
    step: Count | None = None
    sub_phase: Count | None = None


class Stats(Open):
    """SprintStats (R29-R34, R112-R115)."""

    started_at: Moment = None
    completed_at: Moment = None
    total_phases: Count | None = None
    completed_phases: Count | None = None
    total_steps: Count | None = None
    completed_steps: Count | None = None
    elapsed: Text | None = None
    current_iteration: Count | None = None
    max_iterations: Count | None = None


class Decision(BaseModel):
    """OperatorDecision (R129-R132); its keys are camel case in the document."""

    model_config = ConfigDict(extra="allow", frozen=True)

    decision: DecisionWord
    reasoning: Text
    injection: dict[str, Any] | None = None
    deferredUntil: Text | None = None  # noqa: N815
    rejectionReason: Text | None = None  # noqa: N815


class Request(Open):
    """QueuedRequest (R117-R128)."""

    id: Identity
    title: Text
    description: Text | None = None
    priority: Priority
    type: RequestType
    status: RequestStatus
    created_at: Moment = None
    discovered_in: Text | None = None
    decided_at: Moment = None
    decision: Decision | None = None
    rejection_reason: Text | None = None
    deferred_until: Deferral | None = None
    context: dict[str, Any] | None = None


class Ralph(Open):
    """Settings of Ralph mode (R53)."""

    idle_threshold: Count = 3


class Hook(Open):
    """A per-iteration hook (R70)."""

    id: Identity
    workflow: Text | None = None
    prompt: Text | None = None
    parallel: Flag | None = None
    enabled: Flag | None = None


class DynamicStep(Open):
    """A step the agent made while running (R55-R59)."""

    id: Identity
    prompt: Text
    status: PhaseStatus
    added_at: Moment = None
    added_in_iteration: Count | None = None


class HookTask(Open):
    """One execution of a per-iteration hook (R60-R64)."""

    iteration: Count
    hook_id: Identity
    status: HookTaskStatus
    pid: Count | None = None
    transcript: Text | None = None


class RalphExit(Open):
    """Detection of the goal's completion (R65-R68)."""

    detected_at: Moment = None
    iteration: Count | None = None
    final_summary: Text | None = None


class Plan(Open):
    """A compiled plan: a PROGRESS.yaml in which nothing has happened yet."""

    sprint_id: Identity | None = None
    status: SprintStatus | None = None
    mode: Mode | None = None
    goal: Text | None = None
    phases: list[TopPhase] | None = None
    current: Pointer | None = None
    stats: Stats | None = None
    operator_queue: list[Request] | None = None
    last_activity: Moment = None
    ralph: Ralph | None = None
    per_iteration_hooks: list[Hook] | None = None
    dynamic_steps: list[DynamicStep] | None = None
    hook_tasks: list[HookTask] | None = None
    ralph_exit: RalphExit | None = None


class Progress(Plan):
    """PROGRESS.yaml."""

    sprint_id: Identity
    status: SprintStatus
