"""Every fact of a sprint: what happened, in the past participle, with its wire tag.

The tag and the field names are the contract; a class may be renamed freely. A new
field needs a default; anything else needs a step in `engine/log/upcast.py`.
"""

from typing import Any, ClassVar

import msgspec

from ..iterations.facts import ITERATION_FACTS
from ..iterations.facts import Usage as Usage
from ..log.fact import Fact, Kind
from ..log.port import DOCUMENT_BYTES_MAX
from .audit_facts import AUDIT_FACTS
from .queue_facts import QUEUE_FACTS
from .ralph_facts import RALPH_FACTS
from .snapshot_facts import SNAPSHOT_FACTS


class Place(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a sprint's PROGRESS.yaml lives: only that work tree writes it."""

    path: str
    """Relative to the work tree's root, with forward slashes."""
    worktree: str = ""
    """Name of the linked git work tree; empty for the main one."""


class Source(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that a plan was made from."""

    path: str
    """Relative to the work tree's root, with forward slashes; absolute outside of it."""
    sha256: str = ""
    """Of its bytes, in hexadecimal; empty when it was not recorded."""


class InjectionPosition(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where in the plan something is wished to come in (R131, P41)."""

    type: str
    """`after-current`, `after`, `before`, `end-of-phase` or `end-of-workflow`."""
    ref: str | None = None
    """The address that it is seen from; without it the pointer's."""


class SprintCompiled(Fact, frozen=True):
    """A whole plan came in, every phase pending."""

    type: ClassVar[str] = "sprint-compiled"
    schema_version: ClassVar[int] = 2
    payload_bytes_max: ClassVar[int] = DOCUMENT_BYTES_MAX
    document: dict[str, Any]
    place: Place | None = None
    sources: tuple[Source, ...] = ()
    """The files it was made from, in the order in which they were read."""


class SprintImported(Fact, frozen=True):
    """Another tool's document came in: whole, or as the JSON Patch to its next version."""

    type: ClassVar[str] = "sprint-imported"
    payload_bytes_max: ClassVar[int] = DOCUMENT_BYTES_MAX
    source: str
    document: dict[str, Any] | None = None
    patch: list[dict[str, Any]] | None = None
    iteration: int = 0
    """The document's own current iteration, so that its number is never given again."""
    place: Place | None = None
    committed_at: str | None = None
    """When git took this version in; the event's time is when it was written."""


class SprintStarted(Fact, frozen=True):
    """Execution began."""

    type: ClassVar[str] = "sprint-started"


class SprintPaused(Fact, frozen=True):
    """A person wished to pause."""

    type: ClassVar[str] = "sprint-paused"
    reason: str | None = None


class BreakpointReached(Fact, frozen=True):
    """A phase with `break: true` completed; the sprint waits for a review."""

    type: ClassVar[str] = "breakpoint-reached"
    phase: str


class SprintBlocked(Fact, frozen=True):
    """The sprint cannot go on."""

    type: ClassVar[str] = "sprint-blocked"
    reason: str


class HumanNeeded(Fact, frozen=True):
    """A leaf cannot go on without a person (R140, P38)."""

    type: ClassVar[str] = "human-needed"
    phase: str
    reason: str
    details: str | None = None
    error: str | None = None


class SprintInterrupted(Fact, frozen=True):
    """The loop that drove the sprint was stopped from outside."""

    type: ClassVar[str] = "sprint-interrupted"
    reason: str | None = None


class SprintResumed(Fact, frozen=True):
    """Execution goes on; after `blocked` and `needs-human` with who and why."""

    type: ClassVar[str] = "sprint-resumed"
    by: str | None = None
    why: str | None = None
    done: str | None = None
    """What was done about it."""


class SprintCompleted(Fact, frozen=True):
    """Every leaf is completed or skipped and the sprint was closed."""

    type: ClassVar[str] = "sprint-completed"
    summary: str | None = None
    abandons_goal: bool = False
    """True when its goal was given up, not reached."""
    reason: str | None = None
    """Why it was given up."""


class SprintReopened(Fact, frozen=True):
    """A completed sprint was opened again."""

    type: ClassVar[str] = "sprint-reopened"
    reason: str | None = None


class ActivitySeen(Fact, frozen=True):
    """The heartbeat of a running loop."""

    type: ClassVar[str] = "activity-seen"


class PhaseStarted(Fact, frozen=True):
    """A leaf began to execute; `phase` is its address."""

    type: ClassVar[str] = "phase-started"
    phase: str
    model: str | None = None


class PhaseCompleted(Fact, frozen=True):
    """A leaf finished successfully."""

    type: ClassVar[str] = "phase-completed"
    phase: str
    summary: str | None = None


class PhaseFailed(Fact, frozen=True):
    """A leaf's execution failed."""

    type: ClassVar[str] = "phase-failed"
    phase: str
    error: str
    category: str = "logic"


class RetryScheduled(Fact, frozen=True):
    """The policy allows another attempt, not before this time."""

    type: ClassVar[str] = "retry-scheduled"
    phase: str
    next_retry_at: str


class PhaseBlocked(Fact, frozen=True):
    """Somebody declared a leaf stuck."""

    type: ClassVar[str] = "phase-blocked"
    phase: str
    reason: str


class PhaseSkipped(Fact, frozen=True):
    """A leaf is left out on purpose."""

    type: ClassVar[str] = "phase-skipped"
    phase: str
    reason: str | None = None


class PhaseRetried(Fact, frozen=True):
    """A failed or blocked leaf waits to be executed again."""

    type: ClassVar[str] = "phase-retried"
    phase: str
    reason: str | None = None


class PhaseReopened(Fact, frozen=True):
    """A completed or skipped leaf is to be done again."""

    type: ClassVar[str] = "phase-reopened"
    phase: str
    reason: str | None = None


class Injection(Fact, frozen=True):
    """What both injections say: what came into the plan, and where."""

    payload_bytes_max: ClassVar[int] = DOCUMENT_BYTES_MAX
    nodes: list[dict[str, Any]]
    """What came in, side by side, with all below, in the shape of PROGRESS.yaml."""
    position: InjectionPosition
    """Where it was wished for."""
    into: str | None = None
    """Resolved: the address of what it came into; empty for the workflow itself."""
    after: str | None = None
    """Resolved: it stands right behind this; with neither this nor `before` at the end."""
    before: str | None = None
    """Resolved: it stands right before this."""
    id_prefix: str | None = None
    """What its ids were made from, with numbers that are never given again."""
    sources: tuple[Source, ...] = ()
    """The files it was made from."""


class PhaseInjected(Injection, frozen=True):
    """Top phases or sub-phases came into the plan while it was carried out (R136)."""

    type: ClassVar[str] = "phase-injected"


class StepInjected(Injection, frozen=True):
    """Steps came into a phase of the plan while it was carried out."""

    type: ClassVar[str] = "step-injected"


class GateStarted(Fact, frozen=True):
    """The script of a phase's gate is about to be run."""

    type: ClassVar[str] = "gate-started"
    phase: str
    attempt: int
    run: str
    """Names this run: only its own result counts."""
    pid: int
    """The process that runs it and will record the result."""
    process_started: str
    """When that process began, as its system tells it."""
    boot_id: str
    """Which start of the machine that was."""
    timeout_ms: int


class GateChecked(Fact, frozen=True):
    """A gate's script ended, or was ended at its time limit."""

    type: ClassVar[str] = "gate-checked"
    phase: str
    attempt: int
    exit_code: int
    """128 and the signal's number when a signal ended it."""
    timed_out: bool = False
    duration_ms: int | None = None
    output: str = ""
    """What it printed; of long output head and tail."""
    output_bytes: int | None = None
    """How long all of the output was."""
    output_sha256: str | None = None
    """sha256 of all of the output's bytes, in hexadecimal."""
    left_behind: int = 0
    """How many processes it left running; they were ended."""
    elsewhere: bool = False
    """True for a result that was handed in: sprintlog did not run the script."""


class GateInterrupted(Fact, frozen=True):
    """A gate's run ended without a result; it costs no retry."""

    type: ClassVar[str] = "gate-interrupted"
    phase: str
    reason: str | None = None


class GateBlocked(Fact, frozen=True):
    """A gate failed as often as it may: its phase is blocked."""

    type: ClassVar[str] = "gate-blocked"
    phase: str
    error: str


class AgentRan(Fact, frozen=True):
    """An agent's command ended, or was ended at its time limit."""

    type: ClassVar[str] = "agent-ran"
    kind: ClassVar[Kind] = Kind.KNOWLEDGE
    phase: str
    """The address of what it worked on; empty for the goal."""
    status: str
    """What its run means: completed, failed or needs-human."""
    exit_code: int | None = None
    """Minus the number of the signal that ended it."""
    timed_out: bool = False
    duration_ms: int | None = None
    is_repair: bool = False
    """True when it was to repair what a gate found."""
    output: str = ""
    """What it printed; of long output head and tail."""
    output_bytes: int = 0
    """How long all of the output was."""
    output_sha256: str | None = None
    """sha256 of all of the output's bytes, in hexadecimal."""
    errors: str = ""
    """What it printed on standard error, in the same way."""
    usage: Usage | None = None
    """Tokens, cost and turns, as far as the agent says."""
    iteration: int | None = None
    """Which iteration it was, in a run for the goal."""


class WorkDone(Fact, frozen=True):
    """A leaf's work is done; its gate is waited for, or the end of a pause."""

    type: ClassVar[str] = "work-done"
    phase: str
    summary: str | None = None


class IterationStarted(Fact, frozen=True):
    """A loop iteration began; numbers are never given twice."""

    type: ClassVar[str] = "iteration-started"
    number: int
    max_iterations: int | None = None
    phase: str | None = None
    """The leaf that it is begun for; all attempts on it belong to the iteration."""
    beyond_limit: bool = False
    """True when it was begun on purpose although no more were allowed."""


class IterationsLimited(Fact, frozen=True):
    """How many iterations the loop allows was said; no iteration begins with it."""

    type: ClassVar[str] = "iterations-limited"
    max_iterations: int
    """0 for no limit."""


class IterationEnded(Fact, frozen=True):
    """A loop iteration ended; the start of the next one ends one that was left open."""

    type: ClassVar[str] = "iteration-ended"
    number: int
    summary: str | None = None


class RolledBack(Fact, frozen=True):
    """Execution facts after `to` no longer count; nothing is deleted."""

    type: ClassVar[str] = "rolled-back"
    kind: ClassVar[Kind] = Kind.CONTROL
    to: int
    """The version of this stream whose state is in force again."""
    reason: str | None = None
    undoes: int | None = None
    """The version of the rollback or decision that this one takes back."""


class EditObserved(Fact, frozen=True):
    """Somebody else changed a state file; this changes nothing but is kept."""

    type: ClassVar[str] = "edit-observed"
    kind: ClassVar[Kind] = Kind.KNOWLEDGE
    path: str
    digest: str
    """sha256 of their bytes, in hexadecimal."""
    kept: str
    """Name of the copy of their bytes in the log's `edits` folder."""
    since: int
    """The version whose file they changed; 0 when it is not known."""
    changes: list[dict[str, Any]] | None = None
    """JSON Patch from our document to theirs; None when theirs cannot be read."""
    problem: str | None = None


class NoteAdded(Fact, frozen=True):
    """A remark for whoever reads the log."""

    type: ClassVar[str] = "note-added"
    kind: ClassVar[Kind] = Kind.KNOWLEDGE
    text: str
    phase: str | None = None


FACTS: tuple[type[Fact], ...] = (
    SprintCompiled,
    SprintImported,
    SprintStarted,
    SprintPaused,
    BreakpointReached,
    SprintBlocked,
    HumanNeeded,
    SprintInterrupted,
    SprintResumed,
    SprintCompleted,
    SprintReopened,
    ActivitySeen,
    PhaseStarted,
    PhaseCompleted,
    PhaseFailed,
    RetryScheduled,
    PhaseBlocked,
    PhaseSkipped,
    PhaseRetried,
    PhaseReopened,
    PhaseInjected,
    StepInjected,
    GateStarted,
    GateChecked,
    GateInterrupted,
    GateBlocked,
    AgentRan,
    WorkDone,
    IterationStarted,
    IterationEnded,
    IterationsLimited,
    RolledBack,
    EditObserved,
    NoteAdded,
    *RALPH_FACTS,
    *SNAPSHOT_FACTS,
    *QUEUE_FACTS,
    *ITERATION_FACTS,
    *AUDIT_FACTS,
)
