"""The operator queue and Ralph mode in PROGRESS.yaml."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from .fields import (
    Count,
    DecisionWord,
    Deferral,
    Flag,
    HookTaskStatus,
    Identity,
    Model,
    Moment,
    Open,
    PhaseStatus,
    Priority,
    RequestStatus,
    RequestType,
    Text,
)


class OperatorDecision(BaseModel):
    """OperatorDecision (R129-R132); its keys are camel case in the document."""

    model_config = ConfigDict(extra="allow", frozen=True)

    decision: DecisionWord
    reasoning: Text
    injection: dict[str, Any] | None = None
    deferredUntil: Text | None = None  # noqa: N815
    rejectionReason: Text | None = None  # noqa: N815


class QueuedRequest(Open):
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
    decision: OperatorDecision | None = None
    rejection_reason: Text | None = None
    deferred_until: Deferral | None = None
    context: dict[str, Any] | None = None


class NewRequest(Open):
    """A request that is handed in: what nobody can know of it yet is left out."""

    model_config = ConfigDict(extra="forbid")

    id: Identity | None = None
    title: Text
    description: Text | None = None
    priority: Priority
    type: RequestType
    status: Literal["pending"] | None = None
    created_at: Moment = None
    discovered_in: Text | None = None
    context: dict[str, Any] | None = None


class NewRequests(Open):
    """Several requests that are handed in together."""

    requests: list[NewRequest]


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


_BELONGS_TO = {
    "position": "approve",
    "model": "approve",
    "deferred_until": "defer",
    "rejection_reason": "reject",
}


class QueueRule(Open):
    """A rule of `queue decide --auto`: what it decides, of which requests."""

    model_config = ConfigDict(extra="forbid")

    name: Identity
    decision: DecisionWord
    priority: Annotated[list[Priority], BeforeValidator(_listed)] | None = None
    type: Annotated[list[RequestType], BeforeValidator(_listed)] | None = None
    reasoning: Annotated[str, Field(strict=True, min_length=1)] | None = None
    position: Text | None = None
    model: Model | None = None
    deferred_until: Deferral | None = None
    rejection_reason: Text | None = None

    @model_validator(mode="after")
    def _belongs(self) -> Self:
        for field, decision in _BELONGS_TO.items():
            if getattr(self, field) is not None and self.decision != decision:
                raise PydanticCustomError(
                    "belongs",
                    "{field} belongs to {decision}, this rule says {said}",
                    {
                        "field": field.replace("_", "-"),
                        "decision": decision,
                        "said": self.decision,
                    },
                )
        return self


class QueueRules(Open):
    """The rules of `queue decide --auto`; the first that fits decides."""

    model_config = ConfigDict(extra="forbid")

    rules: Annotated[list[QueueRule], Field(min_length=1)]


class Ralph(Open):
    """Settings of Ralph mode (R53)."""

    idle_threshold: Count = 3
    min_iterations: Count | None = None


class RalphHook(Open):
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
