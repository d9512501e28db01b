"""The shapes of what the loops of AIWG leave; what they say besides is passed over."""

from typing import Annotated

from pydantic import ConfigDict, Field

from ..fields import Identity, Open, Text

ITERATIONS_MAX = 10_000
"""No iteration has a higher number: each becomes an event."""
Number = Annotated[int, Field(strict=True, ge=1, le=ITERATIONS_MAX)]
Milliseconds = Annotated[float, Field(strict=True, ge=0, le=10**12)] | None
Texts = list[Text] | None
Begun = Annotated[int, Field(strict=True, ge=0, le=ITERATIONS_MAX)] | None


class _Foreign(Open):
    model_config = ConfigDict(alias_generator=None)


class LoopIteration(_Foreign):
    """An iteration in the state of a loop."""

    number: Number
    status: Text | None = None
    exitCode: Annotated[int, Field(strict=True, ge=-(2**31), lt=2**31)] | None = None  # noqa: N815
    duration: Milliseconds = None
    sessionId: Identity | None = None  # noqa: N815
    toolCallCount: Annotated[int, Field(strict=True, ge=0, lt=10**12)] | None = None  # noqa: N815
    learnings: Texts = None
    filesModified: Texts = None  # noqa: N815
    progress: Text | None = None


class LoopState(_Foreign):
    """A session-state.json, or the state.json of one loop among several."""

    loopId: Identity  # noqa: N815
    objective: Text | None = None
    task: Text | None = None
    completionCriteria: Text | None = None  # noqa: N815
    completion: Text | None = None
    status: Text | None = None
    maxIterations: Annotated[int, Field(strict=True, ge=0, le=10**9)] | None = None  # noqa: N815
    currentIteration: Begun = None  # noqa: N815
    startTime: Text | None = None  # noqa: N815
    lastUpdate: Text | None = None  # noqa: N815
    iterations: list[LoopIteration] | None = None


class AnalyticsIteration(_Foreign):
    """An iteration in the analytics of a loop."""

    iteration_number: Number
    timestamp: Text | None = None
    quality_score: Annotated[float, Field(strict=True, ge=0, le=100)] | None = None
    tokens_used: Annotated[float, Field(strict=True, ge=0, lt=10**15)] | None = None
    token_cost_usd: Annotated[float, Field(strict=True, ge=0, lt=10**9)] | None = None
    execution_time_ms: Milliseconds = None
    verification_status: Text | None = None
    reflections: Texts = None


class Analytics(_Foreign):
    """The analytics of a loop."""

    loop_id: Identity
    iterations: list[AnalyticsIteration]
    task_description: Text | None = None
    start_time: Text | None = None
    selected_iteration: Number | None = None
    selection_reason: Text | None = None


class Measurement(_Foreign):
    """What stands below `iteration_metrics`, without the metrics themselves."""

    iteration: Annotated[int, Field(strict=True, ge=0, le=ITERATIONS_MAX)]
    timestamp: Text | None = None
    quality_score: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None


class MetricsDocument(_Foreign):
    """The document of one iteration."""

    iteration_metrics: Measurement
