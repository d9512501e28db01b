"""The shape of a PROGRESS.yaml: which type and which words its known fields take.

What is adopted from an edit is held to it; what is handed in is checked against the same
where it is read. Unknown fields may hold anything.
"""

import re
from typing import Annotated, Any

import msgspec

from ...errors import RefusedError
from ..state import words


def _one_of(*allowed: str) -> msgspec.Meta:
    return msgspec.Meta(pattern=f"^({'|'.join(allowed)})$")


Count = Annotated[int, msgspec.Meta(ge=0)]
Identity = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
Model = Annotated[str, _one_of(*words.MODELS)]
PhaseStatus = Annotated[str, _one_of(*words.PHASE_STATUSES)]


class Shape(msgspec.Struct, rename="kebab"):
    """A mapping; what it does not name is not looked at."""


class GateShape(Shape):
    """The check of a phase; its numbers are held to more where a plan is made."""

    script: str
    on_fail_prompt: str | None = None
    on_fail: dict[str, Any] | None = None
    max_retries: Count = 0
    timeout: Annotated[float, msgspec.Meta(gt=0)] | str = 0.0


class GateTrackingShape(Shape):
    """How far a gate is."""

    attempts: Count | None = None
    status: Annotated[str, _one_of(*words.GATE_STATUSES)] | None = None
    last_output: str | None = None
    last_exit_code: int | None = None
    error: str | None = None


class HumanNeededShape(Shape):
    """What a person has to resolve."""

    reason: str
    details: str | None = None


class NodeShape(Shape):
    """What phases, steps and sub-phases share."""

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
    human_needed: HumanNeededShape | None = None
    gate: GateShape | None = None
    gate_tracking: GateTrackingShape | None = None


class StepShape(NodeShape):
    """A step."""

    phases: list[NodeShape] | None = None


class TopPhaseShape(NodeShape):
    """A top phase."""

    steps: list[StepShape] | None = None
    break_: bool | None = msgspec.field(default=None, name="break")


class PointerShape(Shape):
    """Where the sprint is."""

    phase: Count
    step: Count | None = None
    sub_phase: Count | None = None


class StatsShape(Shape):
    """The figures."""

    started_at: str | None = None
    completed_at: str | None = None
    total_phases: Count | None = None
    completed_phases: Count | None = None
    total_steps: Count | None = None
    completed_steps: Count | None = None
    elapsed: str | None = None
    current_iteration: Count | None = None
    max_iterations: Count | None = None


class DecisionShape(msgspec.Struct):
    """What was decided of a request; its keys are camel case."""

    decision: Annotated[str, _one_of(*words.DECISIONS)]
    reasoning: str
    injection: dict[str, Any] | None = None
    deferredUntil: str | None = None  # noqa: N815
    rejectionReason: str | None = None  # noqa: N815


class RequestShape(Shape):
    """A request of the operator queue."""

    id: Identity
    title: str
    priority: Annotated[str, _one_of(*words.PRIORITIES)]
    type: Annotated[str, _one_of(*words.REQUEST_TYPES)]
    status: Annotated[str, _one_of(*words.REQUEST_STATUSES)]
    description: str | None = None
    created_at: str | None = None
    discovered_in: str | None = None
    decided_at: str | None = None
    decision: DecisionShape | None = None
    rejection_reason: str | None = None
    deferred_until: Annotated[str, _one_of(*words.DEFERRALS)] | None = None
    context: dict[str, Any] | None = None


class RalphShape(Shape):
    """Settings of Ralph mode."""

    idle_threshold: Count = 3
    min_iterations: Count | None = None


class HookShape(Shape):
    """What runs after each iteration."""

    id: Identity
    workflow: str | None = None
    prompt: str | None = None
    command: str | None = None
    parallel: bool | None = None
    enabled: bool | None = None


class DynamicStepShape(Shape):
    """A step the agent made while running."""

    id: Identity
    prompt: str
    status: PhaseStatus
    added_at: str | None = None
    added_in_iteration: Count | None = None


class HookTaskShape(Shape):
    """One execution of a hook."""

    iteration: Count
    hook_id: Identity
    status: Annotated[str, _one_of(*words.HOOK_TASK_STATUSES)]
    pid: Count | None = None
    transcript: str | None = None


class RalphExitShape(Shape):
    """Detection of the goal's completion."""

    detected_at: str | None = None
    iteration: Count | None = None
    final_summary: str | None = None


class DocumentShape(Shape):
    """A PROGRESS.yaml, or a plan."""

    sprint_id: Identity | None = None
    status: Annotated[str, _one_of(*words.SPRINT_STATUSES)] | None = None
    mode: Annotated[str, _one_of(*words.MODES)] | None = None
    goal: str | None = None
    phases: list[TopPhaseShape] | None = None
    current: PointerShape | None = None
    stats: StatsShape | None = None
    operator_queue: list[RequestShape] | None = None
    last_activity: str | None = None
    ralph: RalphShape | None = None
    per_iteration_hooks: list[HookShape] | None = None
    dynamic_steps: list[DynamicStepShape] | None = None
    hook_tasks: list[HookTaskShape] | None = None
    ralph_exit: RalphExitShape | None = None


LEVELS: tuple[type[Shape], ...] = (DocumentShape, TopPhaseShape, StepShape, NodeShape)
"""The shape of the sprint and of its nodes, by level."""
_WORDS = re.compile(r"matching regex '\^\((.*)\)\$'")


def check_shape(data: object, *, level: int) -> None:
    """Raise `RefusedError` naming the first known field of a wrong type or word."""
    try:
        msgspec.convert(data, LEVELS[level])
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        where = path.rstrip("`").removeprefix(".")
        problem = _WORDS.sub(
            lambda found: f"one of {found[1].replace('|', ', ')}", problem
        ).replace("Expected", "expected")
        raise RefusedError(f"{where}: {problem}", field=where) from error
