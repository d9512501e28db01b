"""SPRINT.yaml and workflows as users write them; the source of their JSON Schema.

Only the structure is defined here; the compiler checks all other rules. Unknown keys are
allowed, and templates can use an item's unknown keys.
"""

from typing import Annotated, Any, ClassVar

import pydantic
from pydantic_core import PydanticCustomError

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.judging.conditions import parse
from sprintlog.engine.sprint.phases.gate import GATE_TIMEOUT_SECONDS_MAX
from sprintlog.engine.sprint.state import words

from .fields import Count, Flag, Identity, Mode, Model, OneOf, Open, Text

Category = Annotated[str, OneOf(words.FAILURE_CATEGORIES)]
Positive = Annotated[int, pydantic.Field(strict=True, ge=1)]
UNLIMITED = "unlimited"


def _with_text(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("empty-prompt", "is empty")
    return text


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("nul", "must not contain a NUL character")
    return text


def _condition(text: str) -> str:
    try:
        parse(text)
    except InvalidInputError as error:
        raise PydanticCustomError(
            "bad-condition", "{why}", {"why": error.fields["problem"]}
        ) from error
    return text


def _or_unlimited(value: Any, check: Any) -> Any:
    return value if value == UNLIMITED else check(value)


Prompt = Annotated[str, pydantic.Field(strict=True), pydantic.AfterValidator(_with_text)]
Iterations = Annotated[
    Count,
    pydantic.WrapValidator(_or_unlimited),
    pydantic.WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 0}, {"const": UNLIMITED}]}
    ),
]


class ItemDefinition(Open):
    """One item of work; templates can use `prompt` and any other key."""

    takes_any: ClassVar[bool] = True

    prompt: Prompt
    id: Identity | None = None
    workflow: Text | None = None
    model: Model | None = None
    depends_on: list[Text] | None = None


class Retry(pydantic.BaseModel):
    """Which failures are retried, how often, and after which delays."""

    model_config = pydantic.ConfigDict(extra="allow", frozen=True)

    maxAttempts: Count | None = None  # noqa: N815
    backoffMs: list[Count] | None = None  # noqa: N815
    retryOn: list[Category] | None = None  # noqa: N815
    limitWaitMs: list[Count] | None = None  # noqa: N815
    maxLimitWaits: Count | None = None  # noqa: N815
    maxFailures: Count | None = None  # noqa: N815
    failureWaitMs: list[Count] | None = None  # noqa: N815


class RalphDefinition(Open):
    """Ralph mode settings."""

    idle_threshold: Positive | None = None
    min_iterations: Count | None = None


class HookDefinition(Open):
    """A hook that runs after each iteration."""

    id: Identity
    workflow: Text | None = None
    prompt: Prompt | None = None
    command: Prompt | None = None
    parallel: Flag | None = None
    enabled: Flag | None = None


class HookSwitch(Open):
    """A sprint's setting that enables or disables a workflow hook."""

    enabled: Flag | None = None


class Config(Open):
    """Settings of other tools, stored unchanged; sprintlog also uses `max-iterations`."""

    takes_any: ClassVar[bool] = True

    max_iterations: Iterations | None = None


class KeptForTools(Open):
    """Fields stored unchanged for other tools."""

    known_beside: ClassVar[tuple[str, ...]] = (
        *("created", "owner", "description", "notes", "goals", "schema-version"),
        *("github", "github-issue"),
    )

    worktree: dict[str, Any] | None = None
    orchestration: dict[str, Any] | None = None
    prompts: dict[str, Any] | None = None
    operator: Any = None
    parallel: Any = None
    config: Config | None = None


class SprintDefinition(KeptForTools):
    """SPRINT.yaml: `steps` in the first generation, `collections` in the second."""

    workflow: Text
    steps: list[ItemDefinition] = pydantic.Field(default_factory=list)
    collections: dict[str, list[ItemDefinition]] = pydantic.Field(default_factory=dict)
    sprint_id: Identity | None = None
    name: Text | None = None
    model: Model | None = None
    mode: Mode | None = None
    goal: Prompt | None = None
    until: Annotated[Text, pydantic.AfterValidator(_condition)] | None = None
    ralph: RalphDefinition = RalphDefinition()
    per_iteration_hooks: dict[str, HookSwitch] = pydantic.Field(default_factory=dict)
    retry: Retry = Retry()
    max_iterations: Iterations | None = None


class OnFail(Open):
    """The reaction to a failed gate."""

    prompt: Prompt | None = None
    max_retries: Count | None = None


class GateDefinition(Open):
    """A check that must pass before its phase is finished."""

    script: Annotated[Prompt, pydantic.AfterValidator(_without_nul)]
    on_fail: OnFail = OnFail()
    on_fail_prompt: Prompt | None = None
    max_retries: Count | None = None
    timeout: (
        Annotated[float, pydantic.Field(strict=True, gt=0, le=GATE_TIMEOUT_SECONDS_MAX)]
        | None
    ) = None


class Phase(Open):
    """A phase with `prompt`, `for-each` (one run per item) or `workflow` (inlined)."""

    id: Identity
    prompt: Prompt | None = None
    for_each: Text | None = None
    collection: Text | None = None
    workflow: Text | None = None
    model: Model | None = None
    break_: Flag | None = None
    gate: GateDefinition | None = None
    parallel: Flag | None = None
    wait_for_parallel: Flag | None = None


class Workflow(KeptForTools):
    """A workflow: an ordered list of phases, or the fields of a Ralph loop."""

    name: Text | None = None
    description: Text | None = None
    mode: Mode | None = None
    model: Model | None = None
    phases: list[Phase] = pydantic.Field(default_factory=list)
    goal_prompt: Prompt | None = None
    reflection_prompt: Prompt | None = None
    per_iteration_hooks: list[HookDefinition] = pydantic.Field(default_factory=list)
    ralph: RalphDefinition = RalphDefinition()
