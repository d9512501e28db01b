"""The events of Ralph mode: the goal, its steps, its iterations and their hooks."""

from typing import ClassVar

from ...log.event import AsDecision, Event, Reach, Subject, events_of


class AboutGoal(Event, frozen=True):
    """An event about the goal."""

    subject = Subject("goal")
    reach = Reach.TOP


class GoalSet(AboutGoal, frozen=True):
    """The goal and its settings were set, which puts the sprint into Ralph mode."""

    as_decision = AsDecision("goal", ("goal",))
    goal: str
    idle_threshold: int | None = None
    """The number of iterations without progress before reflection starts."""
    min_iterations: int | None = None
    """The first iteration in which a report that the goal is reached is accepted."""
    max_iterations: int | None = None


class AboutStep(Event, frozen=True):
    """An event about a step towards the goal."""

    stays: ClassVar[tuple[str, ...]] = ("id",)
    subject = Subject("step", ("id",))
    reach = Reach.TOP
    records = "dynamic-steps"
    id: str


class DynamicStepAdded(AboutStep, frozen=True):
    """A step towards the goal was added."""

    subject = Subject("step", ("id",), is_told=True)
    prompt: str
    iteration: int = 0
    """The iteration that added the step; 0 before the first iteration."""


class DynamicStepUpdated(AboutStep, frozen=True):
    """The status or the prompt of a step towards the goal was changed."""

    stays = ("id", "status")
    status: str | None = None
    """`pending`, `in-progress`, `completed` or `blocked`; null if unchanged."""
    prompt: str | None = None
    """The new prompt; null if unchanged."""


class ReflectionStarted(Event, frozen=True):
    """The loop started to reflect after too many iterations without progress."""

    subject = Subject("iteration")
    reach = Reach.TOP
    only_caused = "`iteration-started` causes it after idle iterations"
    iteration: int
    """The iteration in which reflection starts."""
    idle: int
    """The number of iterations since a step was completed or added."""


class IterationFailed(Event, frozen=True):
    """An iteration's run failed; if it may be retried, the iteration continues."""

    stays = ("category", "next_retry_at")
    subject = Subject("iteration", ("number",))
    reach = Reach.TOP
    as_evidence = ("category", "error")
    number: int
    error: str
    category: str = "logic"
    next_retry_at: str | None = None
    is_fallback: bool = False
    """Whether the fallback failed, so the limit of the loop's own agent still applies."""


class GoalClaimed(AboutGoal, frozen=True):
    """It was claimed that the goal is reached; the evidence decides."""

    schema_version = 2
    stays = ("source", "requests")
    only_caused = "`goal complete`, an agent's answer or a condition causes it"
    as_decision = AsDecision("goal", ("reason", "summary"), ("iteration",))
    iteration: int
    summary: str | None = None
    source: str = ""
    """`answer` or `wrapped` for an agent's answer; `agent`, `loop` or `person` for a
    command; or `condition`. Empty if unknown."""
    reason: str | None = None
    """Why the claim could not be accepted at that time, whatever the evidence."""
    requests: tuple[str, ...] = ()
    """The urgent requests that must be decided first."""


class ClaimReviewed(AboutGoal, frozen=True):
    """A second opinion on a claim was obtained (`--review`)."""

    stays = ("claim", "accepts", "exit_code", "output_sha256")
    only_caused = "`iteration decide` obtains it"
    as_evidence = ("accepts", "reason")
    claim: int
    """The iteration that made the claim."""
    accepts: bool
    """Whether the reviewer accepts the claim."""
    reason: str
    """The reviewer's reason."""
    command: str
    """The reviewing command."""
    exit_code: int | None = None
    """The command's exit code."""
    output_sha256: str | None = None
    """The SHA-256 of the reviewer's output, in hexadecimal."""


class ClaimDecided(AboutGoal, frozen=True):
    """A decision on a claim, and its evidence."""

    stays: ClassVar[tuple[str, ...]] = ("claim", "evidence", "digests")
    only_caused = "`iteration decide` decides by the evidence"
    as_evidence = ("reason",)
    claim: int
    """The iteration that made the claim."""
    reason: str
    """The result of the evidence, such as `3 of 25 tests pass`."""
    evidence: tuple[int, ...] = ()
    """The versions of the events on which the decision is based."""
    digests: tuple[str, ...] = ()
    """The SHA-256 of the measuring commands' outputs, in hexadecimal."""


class ClaimAccepted(ClaimDecided, frozen=True):
    """The evidence agrees with a claim."""


class ClaimRefused(ClaimDecided, frozen=True):
    """The evidence contradicts a claim, so the loop continues."""


class GoalCompleted(AboutGoal, frozen=True):
    """The goal was reached, which completes the sprint."""

    stays = ("open_steps", "source")
    as_decision = AsDecision("goal", ("summary",), ("iteration", "open_steps"))
    ends = ("iteration-failed",)
    iteration: int
    """The iteration that reached the goal; 0 if there was none."""
    summary: str | None = None
    open_steps: tuple[str, ...] = ()
    """The ids of the steps that were not completed."""
    source: str = ""
    """The source of the claim, as in `goal-claimed`; empty if unknown."""


class AboutHook(Event, frozen=True):
    """An event about a hook of an iteration."""

    stays: ClassVar[tuple[str, ...]] = ("hook_id",)
    subject = Subject("hook", ("hook_id",))
    reach = Reach.TOP
    records = "hook-tasks"
    iteration: int
    hook_id: str


class HookTaskSpawned(AboutHook, frozen=True):
    """A hook of an iteration is about to run, for the first time or again."""

    stays = ("hook_id", "transcript")
    transcript: str
    pid: int | None = None


class HookTaskRunning(AboutHook, frozen=True):
    """A hook's process is running."""

    pid: int | None = None


class HookTaskCompleted(AboutHook, frozen=True):
    """A hook ended successfully."""


class HookTaskFailed(AboutHook, frozen=True):
    """A hook failed; the loop continues."""

    error: str | None = None


GOAL_EVENTS = events_of(__name__)
