"""The events of phases and steps: carried out, failed, left out, done again, injected."""

from typing import Any, ClassVar

import msgspec

from ...log.fact import Fact
from ...log.port import DOCUMENT_BYTES_MAX
from .sprint import Source


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


class WorkDone(Fact, frozen=True):
    """A leaf's work is done; its gate is waited for, or the end of a pause."""

    type: ClassVar[str] = "work-done"
    phase: str
    summary: str | None = None


class InjectionPosition(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where in the plan something is wished to come in (R131, P41)."""

    type: str
    """`after-current`, `after`, `before`, `end-of-phase` or `end-of-workflow`."""
    ref: str | None = None
    """The address that it is seen from; without it the pointer's."""


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
