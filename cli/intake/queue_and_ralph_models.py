"""The operator queue and Ralph mode in PROGRESS.yaml."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from .fields import (
    Count,
    DecisionWord,
    Deferral,
    Flag,
    HookTaskStatus,
    Identity,
    Moment,
    Open,
    PhaseStatus,
    Priority,
    RequestStatus,
    RequestType,
    Text,
)


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
    min_iterations: Count | None = None


class Hook(Open):
    """A per-iteration hook (R70)."""

    id: Identity
    workflow: Text | None = None
    prompt: Text | None = None
    command: Text | None = None
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
