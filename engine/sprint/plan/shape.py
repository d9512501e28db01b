"""The schema of PROGRESS.yaml: the type and the allowed values of each known field.

Documents that are read and edits that are adopted are checked against the schema. Unknown
fields may have any value.
"""

import re
from typing import Annotated, Any, ClassVar, NamedTuple

import msgspec

from ...errors import RefusedError
from ..phases.gate import GATE_RETRIES, GATE_TIMEOUT_SECONDS
from ..state import words


def one_of(allowed: tuple[str, ...]) -> msgspec.Meta:
    """Return the constraint that a string must be one of the allowed values."""
    pattern = f"^({'|'.join(allowed)})$"
    return msgspec.Meta(pattern=pattern, extra_json_schema={"enum": [*allowed]})


Count = Annotated[int, msgspec.Meta(ge=0)]
Identity = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
Model = Annotated[str, one_of(words.MODELS)]
PhaseStatus = Annotated[str, one_of(words.PHASE_STATUSES)]
SprintStatus = Annotated[str, one_of(words.SPRINT_STATUSES)]
KEPT = ("worktree", "orchestration", "prompts", "operator", "config", "parallel")
"""Fields for other tools, which are left unchanged."""


class Shape(msgspec.Struct, rename="kebab"):
    """A mapping whose known fields are checked."""

    known_beside: ClassVar[tuple[str, ...]] = ()
    """Known fields that accept any value."""


class CompiledGate(Shape):
    """A compiled gate; an authored gate has its prompt under `on-fail` (SPR-101)."""

    script: str
    on_fail_prompt: str | None = None
    on_fail: dict[str, Any] | None = None
    max_retries: Count = GATE_RETRIES
    timeout: Annotated[float, msgspec.Meta(gt=0)] | str = GATE_TIMEOUT_SECONDS


class GateTracking(Shape):
    """The run-time state of a gate."""

    attempts: Count | None = None
    status: Annotated[str, one_of(words.GATE_STATUSES)] | None = None
    last_output: str | None = None
    last_exit_code: int | None = None
    error: str | None = None


class HumanNeededReason(Shape):
    """The problem that a person has to resolve."""

    reason: str
    details: str | None = None


class CompiledNode(Shape):
    """The fields that phases, steps and sub-phases share.

    Other tools' documents may contain nodes without `id` or `status`; such nodes are inert.
    """

    known_beside = (
        *("parallel", "wait-for-parallel", "depends-on", "description", "error-category"),
        *("commit", "name", "workflow"),
    )

    id: Identity | None = None
    status: PhaseStatus | None = None
    prompt: str | None = None
    model: Model | None = None
    started_at: str | None = None
    completed_at: str | None = None
    elapsed: str | None = None
    summary: str | None = None
    error: str | None = None
    retry_count: Count | None = None
    next_retry_at: str | None = None
    injected: bool | None = None
    injected_at: str | None = None
    human_needed: HumanNeededReason | None = None
    gate: CompiledGate | None = None
    gate_tracking: GateTracking | None = None


class SubPhase(CompiledNode):
    """A sub-phase of a step."""


class CompiledStep(CompiledNode):
    """A step of a for-each phase."""

    phases: list[SubPhase] | None = None


class CompiledTopPhase(CompiledNode):
    """A top-level phase: simple with a prompt, or for-each with steps."""

    steps: list[CompiledStep] | None = None
    break_: bool | None = msgspec.field(default=None, name="break")


class CurrentPointer(Shape):
    """The indices of the current phase, step and sub-phase."""

    phase: Count
    step: Count | None = None
    sub_phase: Count | None = None


class SprintStats(Shape):
    """The times, counters and iteration figures of a sprint."""

    started_at: str | None = None
    completed_at: str | None = None
    total_phases: Count | None = None
    completed_phases: Count | None = None
    total_steps: Count | None = None
    completed_steps: Count | None = None
    elapsed: str | None = None
    current_iteration: Count | None = None
    max_iterations: Count | None = None


class OperatorDecision(Shape, rename=None):
    """An operator's decision; its keys are in camel case in the document."""

    decision: Annotated[str, one_of(words.DECISIONS)]
    reasoning: str
    injection: dict[str, Any] | None = None
    deferredUntil: str | None = None  # noqa: N815
    rejectionReason: str | None = None  # noqa: N815


class QueuedRequest(Shape, kw_only=True):
    """An entry in the operator queue."""

    id: Identity
    title: str
    description: str | None = None
    priority: Annotated[str, one_of(words.PRIORITIES)]
    type: Annotated[str, one_of(words.REQUEST_TYPES)]
    status: Annotated[str, one_of(words.REQUEST_STATUSES)]
    created_at: str | None = None
    discovered_in: str | None = None
    decided_at: str | None = None
    decision: OperatorDecision | None = None
    rejection_reason: str | None = None
    deferred_until: Annotated[str, one_of(words.DEFERRALS)] | None = None
    context: dict[str, Any] | None = None


class Ralph(Shape):
    """The settings of Ralph mode."""

    idle_threshold: Count = 3
    min_iterations: Count | None = None


class RalphHook(Shape):
    """A per-iteration hook."""

    id: Identity
    workflow: str | None = None
    prompt: str | None = None
    command: str | None = None
    parallel: bool | None = None
    enabled: bool | None = None


class DynamicStep(Shape):
    """A step added by the agent during the run."""

    id: Identity
    prompt: str
    status: PhaseStatus
    added_at: str | None = None
    added_in_iteration: Count | None = None


class HookTask(Shape):
    """An execution of a per-iteration hook."""

    iteration: Count
    hook_id: Identity
    status: Annotated[str, one_of(words.HOOK_TASK_STATUSES)]
    pid: Count | None = None
    transcript: str | None = None


class RalphExit(Shape):
    """The record that the goal was reached."""

    detected_at: str | None = None
    iteration: Count | None = None
    final_summary: str | None = None


class CompiledPlan(Shape):
    """A compiled plan: a PROGRESS.yaml on which no work has started."""

    known_beside = (
        *KEPT,
        *("retry", "goal-prompt", "reflection-prompt", "parallel-tasks", "step-queue"),
        *("human-needed", "name", "description", "created", "owner"),
    )

    sprint_id: Identity | None = None
    status: SprintStatus | None = None
    mode: Annotated[str, one_of(words.MODES)] | None = None
    goal: str | None = None
    phases: list[CompiledTopPhase] | None = None
    current: CurrentPointer | None = None
    stats: SprintStats | None = None
    operator_queue: list[QueuedRequest] | None = None
    last_activity: str | None = None
    ralph: Ralph | None = None
    per_iteration_hooks: list[RalphHook] | None = None
    dynamic_steps: list[DynamicStep] | None = None
    hook_tasks: list[HookTask] | None = None
    ralph_exit: RalphExit | None = None


class Progress(CompiledPlan, kw_only=True):
    """The contents of a PROGRESS.yaml file."""

    sprint_id: Identity
    status: SprintStatus


class Phases(Shape):
    """A list of top-level phases."""

    phases: list[CompiledTopPhase]


class Steps(Shape):
    """A list of steps."""

    steps: list[CompiledStep]


LEVELS: tuple[type[Shape], ...] = (CompiledPlan, CompiledTopPhase, CompiledStep, SubPhase)
"""The shapes of the sprint and its nodes, by level."""
_LOCATION = re.compile(r"(.*) - at `(?:key` in `)?\$\.?(.*)`", re.DOTALL)
_PARTS = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_WORDS = re.compile(r"Expected `str` matching regex '\^\((.*)\)\$'")
_MISSING = re.compile(r"Object missing required field `(.*)`")


class ShapeProblem(NamedTuple):
    """The first field of a document with an invalid value, and why it is invalid."""

    field: str
    """The path of the field: `phases[0].id`; empty for the document itself."""
    message: str
    value: Any


def find_problem(shape: type[msgspec.Struct], data: object) -> ShapeProblem | None:
    """Return the first problem in a document, or None if the document has the shape."""
    try:
        msgspec.convert(data, shape)
    except msgspec.ValidationError as error:
        located = _LOCATION.fullmatch(str(error))
        message, field = located.groups() if located else (str(error), "")
        value: Any = data
        for index, key in _PARTS.findall(field):
            value = value[int(index) if index else key]
        if missing := _MISSING.fullmatch(message):
            return ShapeProblem(f"{field}.{missing[1]}".lstrip("."), "is missing", None)
        if allowed := _WORDS.fullmatch(message):
            words = allowed[1].replace("|", ", ")
            message = f"{value[:40]!r} is unknown; allowed: {words}"
        return ShapeProblem(field, message.replace("Expected", "expected"), value)
    return None


def check_shape(data: object, *, level: int) -> None:
    """Raise `RefusedError` naming the first field with an invalid value."""
    if (problem := find_problem(LEVELS[level], data)) is not None:
        raise RefusedError(f"{problem.field}: {problem.message}", field=problem.field)
